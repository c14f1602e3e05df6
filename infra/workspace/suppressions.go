package workspace

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"growthworkspace/infra"
)

// suppressFalseFindings suppresses false findings of the CDK's template validation, which combines
// one branch of a condition with a parameter value that selects the other branch.
func suppressFalseFindings(s awscdk.Stack) {
	awscdk.Validations_Of(s).Acknowledge(
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F3031"), Reason: jsii.String("Without the ARN of a stream, the stack has no event source mapping of an existing table.")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F3033"), Reason: jsii.String("With an empty table name the stack creates a table, and the metric's dimension is that table's name.")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F3034"), Reason: jsii.String("A reservation of -1, and a rate or a throughput of 0, mean none, and the property or the resource is left out.")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::W1001"), Reason: jsii.String("The name of the stack's own table is used only if the stack has one.")},
	)
}

// suppressWithReasons suppresses each rule that the stack does not follow, with a reason.
func suppressWithReasons(included cloudformationinclude.CfnInclude, m infra.Model) {
	suppress := func(id, rule, reason string) {
		cdknag.NagSuppressions_AddResourceSuppressions(included.GetResource(&id),
			&[]*cdknag.NagPackSuppression{{Id: &rule, Reason: &reason}}, jsii.Bool(false))
	}
	suppress(infra.APIID, "AwsSolutions-APIG2", "The functions validate every request strictly against the published schema; a validator in the gateway would respond with different messages.")
	suppress(infra.StageID, "AwsSolutions-APIG3", "A firewall costs more per month than a small service, so it is a parameter, RatePerAddress, and off by default.")
	suppress(infra.StageID, "AwsSolutions-APIG6", "The access log has every request, with errors behind the gateway; the execution log would add only headers and what the functions already log.")
	suppress(infra.AccountRoleID, "AwsSolutions-IAM4", "API Gateway's documentation requires this policy for an account's logs.")
	suppress(infra.DeploymentsRoleID, "AwsSolutions-IAM4", "CodeDeploy's documentation gives this policy for Lambda functions, and SAM creates the same role.")
	suppress(infra.ParkedQueueID, "AwsSolutions-SQS3", "This queue is itself where records end that could not be read; an operator empties it.")
	for _, f := range m.Functions {
		for _, r := range f.Routes {
			suppress(f.MethodID(r), "AwsSolutions-APIG4", "The functions authenticate every request by its secret key in one conditional write, so a revoked key is refused at once; an authoriser would cache keys and cost a second call. The OpenAPI document is public.")
			suppress(f.MethodID(r), "AwsSolutions-COG4", "Callers are programs with a secret key, not people who sign in.")
		}
	}
}
