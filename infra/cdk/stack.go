package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// stack makes the resources of a model, each under its logical id.
type stack struct {
	scope awscdk.Stack
	model infra.Model
	dist  string
}

// newStack makes the stack of a model in scope. dist is where scripts/build has put the functions.
func newStack(scope constructs.Construct, name, dist string, m infra.Model) awscdk.Stack {
	s := stack{awscdk.NewStack(scope, &name, &awscdk.StackProps{
		StackName: &name, Description: jsii.String(infra.Description), AnalyticsReporting: jsii.Bool(false),
	}), m, dist}
	s.parameters()
	s.table()
	for _, f := range m.Functions {
		s.function(f)
	}
	s.gateway()
	s.observability()
	for _, o := range m.Outputs {
		awscdk.NewCfnOutput(s.scope, &o.Name, &awscdk.CfnOutputProps{Description: &o.Description, Value: text(o.Value)})
	}
	s.explain()
	acknowledge(s.scope)
	return s.scope
}

func (s stack) parameters() {
	for _, p := range s.model.Parameters {
		props := &awscdk.CfnParameterProps{Type: &p.Type, Default: p.Default, Description: &p.Description}
		if len(p.Allowed) > 0 {
			props.AllowedValues = jsii.Strings(p.Allowed...)
		}
		if p.Pattern != "" {
			props.AllowedPattern = &p.Pattern
		}
		if p.Minimum != 0 {
			props.MinValue = jsii.Number(p.Minimum)
		}
		awscdk.NewCfnParameter(s.scope, &p.Name, props)
	}
	for _, c := range infra.Conditions() {
		awscdk.NewCfnCondition(s.scope, &c.Name, &awscdk.CfnConditionProps{Expression: whether(c.Value)})
	}
}
