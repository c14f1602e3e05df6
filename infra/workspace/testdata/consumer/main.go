// Command consumer is an example of another team's app, in its own module. It adds the service to a
// stack and lets one of the app's roles read the table.
package main

import (
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra/workspace"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("consumer"), nil)
	w := workspace.NewWorkspace(stack, jsii.String("Workspace"), &workspace.Props{
		Code:     &os.Args[1],
		Settings: workspace.Settings{AlarmEmail: jsii.String("ops@example.com"), ThrottleRate: jsii.Number(750)},
	})
	reader := awsiam.NewRole(stack, jsii.String("Reader"), &awsiam.RoleProps{AssumedBy: awsiam.NewAccountRootPrincipal()})
	w.Table().GrantReadData(reader)
	w.Function("plan").GrantInvoke(reader)
	w.AlarmTopic().AddSubscription(awssnssubscriptions.NewUrlSubscription(jsii.String("https://example.com/alarms"), nil))
	awscdk.NewCfnOutput(stack, jsii.String("Url"), &awscdk.CfnOutputProps{Value: w.BaseURL()})
	awscdk.NewCfnOutput(stack, jsii.String("ApiId"), &awscdk.CfnOutputProps{Value: w.API().RestApiId()})
	app.Synth(nil)
}
