package infra

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a setting that the operator can choose. Every parameter has a usable default.
type Parameter struct {
	Name        string
	Type        string // String or Number
	Default     any
	Allowed     []string // the allowed values; empty means any
	Pattern     string   // scripts/deploy checks every pattern, but CloudFormation checks only those of String parameters
	Minimum     int      // the minimum of a number; 0 means none
	Description string
}

// Check returns an error unless the value is valid for the parameter. CloudFormation would also
// reject an invalid value, but only after everything was built and uploaded.
func (p Parameter) Check(value string) error {
	if len(p.Allowed) > 0 && !slices.Contains(p.Allowed, value) {
		return fmt.Errorf("%s must be one of %s", p.Name, strings.Join(p.Allowed, ", "))
	}
	if p.Pattern != "" && !regexp.MustCompile(p.Pattern).MatchString(value) {
		return fmt.Errorf("%s must match %s", p.Name, p.Pattern)
	}
	if p.Type == "Number" {
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%s must be a number", p.Name)
		}
		if p.Minimum != 0 && number < float64(p.Minimum) {
			return fmt.Errorf("%s must be at least %d", p.Name, p.Minimum)
		}
	}
	return nil
}

// The names of the parameters, except those of thresholds.
const (
	ParamArchitecture  = "Architecture"
	ParamTable         = "ExistingTableName"
	ParamTableStream   = "TableStreamArn"
	ParamAdopted       = "AdoptedTable"
	ParamSecondTable   = "SecondTableName"
	ParamWrites        = "Writes"
	ParamEndpoint      = "DynamoDBEndpoint"
	ParamRetention     = "LogRetentionDays"
	ParamSystemLog     = "SystemLogLevel"
	ParamConcurrency   = "ReservedConcurrency"
	ParamThrottleRate  = "ThrottleRate"
	ParamThrottleBurst = "ThrottleBurst"
	ParamGatewayLogs   = "GatewayLogsRole"
	ParamRollout       = "Rollout"
	ParamMetrics       = "Metrics"
	ParamAlarmEmail    = "AlarmEmail"
)

// unreservedConcurrency is the value of ParamConcurrency for which no concurrency is reserved.
const unreservedConcurrency = -1

func parameters() []Parameter {
	return slices.Concat([]Parameter{
		{Name: ParamArchitecture, Type: "String", Default: "arm64", Allowed: []string{"arm64", "x86_64"},
			Description: "The processor of the functions; the build must be for the same one"},
		{Name: ParamTable, Type: "String", Default: "", Pattern: `^([a-zA-Z0-9_.-]{3,255})?$`,
			Description: "An existing table, such as a restored one, to use instead of a new one; empty creates one"},
		{Name: ParamTableStream, Type: "String", Default: "", Pattern: `^(arn:[a-z0-9-]+:dynamodb:.+/stream/.+)?$`,
			Description: "The ARN of the existing table's stream, with new and old images, from which the feed of changes is made; empty: an existing table has no feed"},
		{Name: ParamAdopted, Type: "String", Default: "no", Allowed: []string{"no", "yes"},
			Description: "Whether the existing table is a resource of the stack, so that the stack also changes its settings; set it after the import of the table"},
		{Name: ParamSecondTable, Type: "String", Default: "", Pattern: `^([a-zA-Z0-9_.-]{3,255})?$`,
			Description: "The other table while the stack switches from one to another; until it is empty again, writes are refused; set it before --table of scripts/deploy"},
		{Name: ParamWrites, Type: "String", Default: "on", Allowed: []string{"on", "off"},
			Description: "off refuses all writes with 503, such as before a restore; reads continue"},
		{Name: ParamEndpoint, Type: "String", Default: "",
			Description: "The URL of an engine that speaks DynamoDB's protocol, for local runs; empty for DynamoDB itself"},
		{Name: ParamRetention, Type: "Number", Default: "30", Allowed: strings.Fields("1 3 5 7 14 30 60 90 120 150 180 365 400 545 731"),
			Description: "How many days logs are stored"},
		{Name: ParamSystemLog, Type: "String", Default: "INFO", Allowed: []string{"DEBUG", "INFO", "WARN"},
			Description: "Lambda's own log lines: INFO has two for each request, WARN only those of crashes and timeouts"},
		{Name: ParamConcurrency, Type: "Number", Default: unreservedConcurrency, Minimum: unreservedConcurrency,
			Description: "How many instances of each function may run at once, reserved from the account's concurrency; -1 reserves nothing, 0 stops the service"},
		{Name: ParamThrottleRate, Type: "Number", Default: 500, Minimum: 1,
			Description: "Requests per second that the gateway admits for each of its paths, from all callers together; an area has two paths or more, and each key also has its own quota"},
		{Name: ParamThrottleBurst, Type: "Number", Default: 1000, Minimum: 1,
			Description: "Requests that the gateway admits for each of its paths in a burst"},
		{Name: ParamGatewayLogs, Type: "String", Default: "create", Allowed: []string{"create", "existing"},
			Description: "API Gateway writes logs with one role per account and region: create one, or keep the existing one"},
		{Name: ParamRollout, Type: "String", Default: RolloutAllAtOnce, Allowed: []string{RolloutAllAtOnce, RolloutCanary},
			Description: "How requests move to a new version of the functions: all-at-once, or canary: 10 % for 15 minutes, then the rest, or none if an alarm goes off"},
		{Name: ParamMetrics, Type: "String", Default: "operations", Allowed: []string{"operations", "service", "off"},
			Description: "The metrics in the logs, which CloudWatch bills: operations (by operation), service (totals only), or off, which leaves two alarms without data"},
		{Name: ParamAlarmEmail, Type: "String", Default: "", Pattern: `^([^@ ]+@[^@ ]+)?$`,
			Description: "The e-mail address for alarms; AWS sends it a mail to confirm"},
	}, edgeParameters(), throughputParameters())
}

const (
	ifNewTable            = "NewTable"
	ifOwnTable            = "OwnsTable"
	ifSecondTable         = "HasSecondTable"
	ifReadOnly            = "RefusesWrites"
	ifStream              = "HasStream"
	ifConcurrencyReserved = "HasReservedConcurrency"
	ifGatewayLogs         = "CreatesGatewayLogsRole"
	ifAlarmEmail          = "HasAlarmEmail"
)

func conditions() Object {
	return slices.Concat(Object{
		{ifNewTable, equalsCondition(ParamTable, "")},
		{ifOwnTable, orCondition(equalsCondition(ParamTable, ""), equalsCondition(ParamAdopted, "yes"))},
		{ifSecondTable, notCondition(equalsCondition(ParamSecondTable, ""))},
		{ifReadOnly, orCondition(equalsCondition(ParamWrites, "off"), notCondition(equalsCondition(ParamSecondTable, "")))},
		{ifStream, orCondition(Object{{"Condition", ifOwnTable}}, notCondition(equalsCondition(ParamTableStream, "")))},
		{ifConcurrencyReserved, notCondition(equalsCondition(ParamConcurrency, strconv.Itoa(unreservedConcurrency)))},
		{ifGatewayLogs, equalsCondition(ParamGatewayLogs, "create")},
		{ifAlarmEmail, notCondition(equalsCondition(ParamAlarmEmail, ""))},
	}, edgeConditions(), throughputConditions())
}

func orCondition(a, b Object) Object { return Object{{"Fn::Or", List{a, b}}} }

func notCondition(expression Object) Object { return Object{{"Fn::Not", List{expression}}} }

func equalsCondition(parameter, value string) Object {
	return Object{{"Fn::Equals", List{Ref(parameter), value}}}
}
