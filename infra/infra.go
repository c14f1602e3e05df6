// Package infra is what the service needs in an AWS account, as one model made from the declared operations: functions,
// routes, permissions, the table, logs, alarms and a dashboard. Two things are made from it, and both deploy the same
// stack: template.yaml for SAM (Template), and the CDK app in infra/cdk. Nothing here calls AWS or knows CDK.
//
// function.go says what runs, route.go where a request goes, grant.go who may touch what of the table, table.go and
// api.go describe the two things that the functions stand between, alarm.go and dashboard.go what an operator sees.
// In all of it, a name is the logical id of a resource or a parameter, the same in either stack.
package infra

import (
	"slices"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
)

// Description is what the stack is called in lists of stacks.
const Description = "Company Growth Workspace API"

// Model is the stack.
type Model struct {
	Parameters       []Parameter
	Functions        []Function
	GatewayResponses []GatewayResponse
	Alarms           []Alarm
	Outputs          []Output
}

// New returns the model of the service as it is declared.
func New() Model {
	m := Model{
		Parameters: parameters(), Functions: areaFunctions(), GatewayResponses: gatewayResponses(), Outputs: outputs(),
	}
	m.Alarms = alarms(m.Functions)
	return m
}

// areaFunctions returns a function for each area, the one of all tools and the one of the document.
func areaFunctions() []Function {
	var out []Function
	var all []Grant
	for _, area := range functions.All() {
		operations := area.Operations(nil)
		grants := grantsOf(area.Name, operations)
		all = union(all, grantsOf(area.Name, tools(operations)))
		out = append(out, newFunction(area.Name, grants, areaRoutes(area.Name)))
	}
	return append(out,
		newFunction("mcp", all, mcpRoutes()),
		newFunction("openapi", nil, openapiRoutes()))
}

// tools are the operations that may be called as tools.
func tools(operations []api.Operation) []api.Operation {
	return slices.DeleteFunc(slices.Clone(operations), func(op api.Operation) bool { return op.NotTool })
}
