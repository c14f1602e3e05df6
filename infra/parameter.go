package infra

import (
	"strconv"
	"strings"
)

// Parameter is what an operator may choose. All have a default that works.
type Parameter struct {
	Name        string
	Type        string // String or Number
	Default     any
	Allowed     []string // empty: anything
	Pattern     string
	Minimum     int // of a number, when not zero
	Description string
}

// Names of parameters that are referred to.
const (
	ParamArchitecture  = "Architecture"
	ParamTable         = "ExistingTableName"
	ParamEndpoint      = "DynamoDBEndpoint"
	ParamRetention     = "LogRetentionDays"
	ParamConcurrency   = "ReservedConcurrency"
	ParamThrottleRate  = "ThrottleRate"
	ParamThrottleBurst = "ThrottleBurst"
	ParamGatewayLogs   = "GatewayLogsRole"
	ParamMetrics       = "Metrics"
	ParamAlarmEmail    = "AlarmEmail"
)

// unreserved says that no copies are reserved.
const unreserved = -1

func parameters() []Parameter {
	out := []Parameter{
		{Name: ParamArchitecture, Type: "String", Default: "arm64", Allowed: []string{"arm64", "x86_64"},
			Description: "What the functions run on; the build must be for the same"},
		{Name: ParamTable, Type: "String", Default: "", Pattern: `^([a-zA-Z0-9_.-]{3,255})?$`,
			Description: "A table that exists, such as one that was restored, to use in place of a new one; empty makes one"},
		{Name: ParamEndpoint, Type: "String", Default: "",
			Description: "The URL of an engine that speaks the protocol of DynamoDB, for local runs; empty for DynamoDB itself"},
		{Name: ParamRetention, Type: "Number", Default: "30", Allowed: strings.Fields("1 3 5 7 14 30 60 90 120 150 180 365 400 545 731"),
			Description: "How many days logs are kept"},
		{Name: ParamConcurrency, Type: "Number", Default: unreserved, Minimum: unreserved,
			Description: "How many copies of each function may run at once, taken from what the account has; -1 reserves nothing, 0 stops the service"},
		{Name: ParamThrottleRate, Type: "Number", Default: 500, Minimum: 1,
			Description: "Requests per second that the gateway lets through, of all callers together; each key has its own quota besides"},
		{Name: ParamThrottleBurst, Type: "Number", Default: 1000, Minimum: 1,
			Description: "Requests that the gateway lets through at once"},
		{Name: ParamGatewayLogs, Type: "String", Default: "create", Allowed: []string{"create", "existing"},
			Description: "The role with which API Gateway writes logs is one per account and region; existing leaves the one that is set alone"},
		{Name: ParamMetrics, Type: "String", Default: "operations", Allowed: []string{"operations", "service", "off"},
			Description: "What the log lines count, which CloudWatch bills by metric: calls of each operation, of the service as a whole, or nothing, which leaves two alarms without data"},
		{Name: ParamAlarmEmail, Type: "String", Default: "", Pattern: `^([^@ ]+@[^@ ]+)?$`,
			Description: "Who is told of alarms; AWS first asks this address to confirm"},
	}
	return append(out, thresholds()...)
}

// Condition is what a template decides by its parameters.
type Condition struct {
	Name  string
	Value Object
}

const (
	IfNewTable    = "NewTable"
	IfReserved    = "HasReservedConcurrency"
	IfGatewayLogs = "CreatesGatewayLogsRole"
	IfEmail       = "HasAlarmEmail"
)

// Conditions returns the conditions of the stack.
func Conditions() []Condition {
	return []Condition{
		{IfNewTable, equals(ParamTable, "")},
		{IfReserved, not(equals(ParamConcurrency, strconv.Itoa(unreserved)))},
		{IfGatewayLogs, equals(ParamGatewayLogs, "create")},
		{IfEmail, not(equals(ParamAlarmEmail, ""))},
	}
}

func not(expression Object) Object { return Object{{"Fn::Not", List{expression}}} }

func equals(parameter, value string) Object {
	return Object{{"Fn::Equals", List{Ref(parameter), value}}}
}
