package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// text returns a value of the model for a property that is a text.
func text(value any) *string {
	if s, ok := value.(string); ok {
		return &s
	}
	return awscdk.Token_AsString(infra.JSON(value), nil)
}

// textsOf returns names and values of the model for a property that maps texts.
func textsOf(values infra.Object) map[string]*string {
	out := make(map[string]*string, len(values))
	for _, v := range values {
		out[v.Name] = text(v.Value)
	}
	return out
}

// number returns a reference of the model for a property that is a number.
func number(value infra.Object) *float64 { return awscdk.Token_AsNumber(infra.JSON(value)) }

// whether returns the expression of a condition.
func whether(expression infra.Object) awscdk.ICfnConditionExpression {
	arguments := expression[0].Value.(infra.List)
	if expression[0].Name == "Fn::Not" {
		return awscdk.Fn_ConditionNot(whether(arguments[0].(infra.Object)))
	}
	return awscdk.Fn_ConditionEquals(infra.JSON(arguments[0]), infra.JSON(arguments[1]))
}

// only makes a resource depend on a condition of the stack.
func (s stack) only(resource awscdk.CfnResource, condition string) {
	resource.CfnOptions().SetCondition(s.scope.Node().FindChild(&condition).(awscdk.CfnCondition))
}

// keep has a resource outlive the stack, or not.
func keep(resource awscdk.CfnResource, policy awscdk.RemovalPolicy) {
	resource.ApplyRemovalPolicy(policy, &awscdk.RemovalPolicyOptions{ApplyToUpdateReplacePolicy: jsii.Bool(true)})
}
