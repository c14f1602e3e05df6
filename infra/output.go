package infra

// Output is a value that is shown to the operator when the stack is deployed.
type Output struct {
	Name        string
	Description string
	Value       Object
	Condition   string // the condition under which the stack has the output; if empty, always
}

func outputs() []Output {
	command := "AWS_REGION=${AWS::Region} go run ./scripts/workspace company create --table ${Name} --name Acme --issue-key"
	return []Output{
		{Name: "BaseUrl", Description: "The URL of the service", Value: baseURL()},
		{Name: "GatewayUrl", Description: "The URL of the service at the gateway's own domain, which also works without a DNS record of yours", Value: Sub(BaseURL)},
		{
			Name: "DomainTarget", Description: "The name that the DNS record of the custom domain points to",
			Value: Attribute(domainID, "RegionalDomainName"), Condition: ifDomainCreated,
		},
		{Name: "TableName", Description: "The table, for the command line: --table", Value: tableName()},
		{Name: "AlarmTopicArn", Description: "The SNS topic of the alarms", Value: Ref(AlarmTopicID)},
		{Name: "ParkedChangesUrl", Description: "The SQS queue of the records that the feed of changes could not read", Value: Ref(ParkedQueueID)},
		{
			Name: "FirstKeyCommand", Description: "Creates a company and its first key",
			Value: Object{{"Fn::Sub", List{command, Object{{"Name", tableName()}}}}},
		},
	}
}
