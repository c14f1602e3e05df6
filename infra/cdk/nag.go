package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"growthworkspace/infra"
)

// check applies the AwsSolutions rules of cdk-nag: a finding fails the synthesis.
func check(app awscdk.App) {
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
}

// acknowledge silences what the CDK's validation of the template gets wrong: it takes one branch of a condition together
// with a value that leads to the other branch.
func acknowledge(s awscdk.Stack) {
	awscdk.Validations_Of(s).Acknowledge(
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F3033"), Reason: jsii.String("With an empty table name the stack creates a table, and the metric's dimension is that table's name.")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F3034"), Reason: jsii.String("A reservation of -1 means none, and the property is left out.")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::W1001"), Reason: jsii.String("The name of the stack's own table is used where the stack has one.")},
	)
}

// explain gives a reason for each rule that the stack does not follow.
func explain(included cloudformationinclude.CfnInclude, m infra.Model) {
	except := func(id, rule, reason string) {
		cdknag.NagSuppressions_AddResourceSuppressions(included.GetResource(&id),
			&[]*cdknag.NagPackSuppression{{Id: &rule, Reason: &reason}}, jsii.Bool(false))
	}
	except(infra.APIID, "AwsSolutions-APIG2", "The functions validate every request, strictly and against the published schema; a second validator in the gateway would answer in other words.")
	except(infra.StageID, "AwsSolutions-APIG3", "A firewall costs more a month than a small service; an operator who has one attaches it to the stage.")
	except(infra.StageID, "AwsSolutions-APIG6", "The access log has every request, with what went wrong behind the gateway; the execution log would add headers and nothing that the functions do not log.")
	except(infra.AccountRoleID, "AwsSolutions-IAM4", "API Gateway accepts no narrower role for an account's logs: its documentation names this policy.")
	for _, f := range m.Functions {
		for _, r := range f.Routes {
			except(f.MethodID(r), "AwsSolutions-APIG4", "The pipeline authenticates every call by its secret key in one conditional write, so that a revoked key is dead at once; an authoriser would cache it and cost a second call. The OpenAPI document is public.")
			except(f.MethodID(r), "AwsSolutions-COG4", "Callers are programs that hold a secret key, not people who sign in.")
		}
	}
}
