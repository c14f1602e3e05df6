package infra

// A Query is a saved query of CloudWatch Logs Insights over all log groups of the stack.
type Query struct {
	ID   string // the logical id
	Name string // the last part of the query's name, after the name of the stack
	Text string
}

// QueryPlaceholder is the string in a query that the user replaces with an id of a request.
const QueryPlaceholder = "REQUEST_ID"

// queries returns the saved queries. CloudWatch charges for what they read.
//
// The first query finds every log line that contains a given request id. The lines of the gateway
// and of a function have the same four ids, but Lambda's own line about an invocation has only
// lambdaRequestId.
func queries() []Query {
	return []Query{
		{"RequestQuery", "request", "fields @timestamp, @log, @message\n" +
			"| filter @message like \"" + QueryPlaceholder + "\"\n" +
			"| sort @timestamp asc\n" +
			"| limit 1000"},
		{"FailuresQuery", "failures", "fields @timestamp, @log, status, refusal, Operation, error, extendedRequestId, requestId, lambdaRequestId, xrayTraceId\n" +
			"| filter status >= 500 or status like /^5/\n" +
			"| sort @timestamp desc\n" +
			"| limit 1000"},
	}
}

// resource returns the query's definition. It covers the log groups of all functions and of the
// gateway.
func (q Query) resource(functions []Function) Object {
	var groups List
	for _, f := range functions {
		groups = append(groups, Ref(f.LogsID()))
	}
	return resource("AWS::Logs::QueryDefinition", Object{
		{"Name", Sub("${AWS::StackName}/" + q.Name)}, {"QueryString", q.Text}, {"LogGroupNames", append(groups, Ref(gatewayLogsID))},
	})
}
