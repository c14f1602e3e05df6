// Package infra is a model of the service's resources in an AWS account: functions, routes,
// permissions, the table, logs, alarms and a dashboard. The model is derived from the declared
// operations. It generates two templates of the same stack: template.yaml for SAM
// ([Model.Template]), and the template that the CDK app in infra/cdk includes
// ([Model.CloudFormation]). The package does not call AWS and does not import the CDK.
//
// function.go defines the functions, route.go their paths, and grant.go their permissions on the
// table. table.go defines the table, stream.go the consumer of the table's stream, api.go the
// gateway, edge.go TLS and address types, domain.go the custom domain, and firewall.go the rate
// limit per address. alarm.go and dashboard.go define the monitoring, and parameter.go the settings
// that the operator can choose. resource.go defines the resources that are the same in both
// templates; template.go and cloudformation.go define those that differ. The logical ids of
// resources and parameters are the same in both templates.
package infra

import (
	"slices"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
)

// Description is the description of the stack.
const Description = "Company Growth Workspace API"

// Model is the model of the stack.
type Model struct {
	Parameters       []Parameter
	Functions        []Function
	GatewayResponses []GatewayResponse
	Alarms           []Alarm
	Outputs          []Output
}

// New returns the model of the service.
func New() Model {
	m := Model{
		Parameters: parameters(), Functions: areaFunctions(), GatewayResponses: gatewayResponses(), Outputs: outputs(),
	}
	m.Alarms = alarms(m.Functions)
	for _, a := range m.Alarms {
		if !slices.ContainsFunc(m.Parameters, func(p Parameter) bool { return p.Name == a.Threshold.Name }) {
			m.Parameters = append(m.Parameters, a.Threshold)
		}
	}
	return m
}

// areaFunctions returns a function for each area, one for all tools, one for the OpenAPI document,
// and the one that records changes.
func areaFunctions() []Function {
	var out []Function
	var all []Grant
	for _, area := range functions.All() {
		operations := area.Operations(nil)
		grants := grantsOf(area.Name, operations)
		all = mergeGrants(all, grantsOf(area.Name, toolOperations(operations)))
		out = append(out, Function{area.Name, grants, areaRoutes(area.Name)})
	}
	return append(out,
		Function{"mcp", all, []Route{{"Tools", mcpserver.Path}}},
		Function{"openapi", nil, openapiRoutes()},
		Function{RecorderName, recorderGrants(), nil})
}

// toolOperations returns the operations that are MCP tools.
func toolOperations(operations []api.Operation) []api.Operation {
	return slices.DeleteFunc(slices.Clone(operations), func(op api.Operation) bool { return op.NotTool })
}
