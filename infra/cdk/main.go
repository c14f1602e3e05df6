// Command cdk is the CDK app. It synthesises a stack with the construct of package infra/workspace,
// and is run by the CDK's command line program:
//
//	scripts/build && cd infra/cdk && npx aws-cdk@2.1148.1 deploy
//
// The app reads two context values: stack is the name of the stack (default growth-workspace), and
// dist is the folder with the output of scripts/build (default dist in the repository's root). All
// other settings are parameters of the stack, as in template.yaml: --parameters AlarmEmail=…
//
// The stack has exactly the resources and logical ids of template.yaml; a test compares them. The
// CDK uploads the functions' code, and cdk-nag checks the resources.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"growthworkspace/infra"
	"growthworkspace/infra/workspace"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	newStack(app, contextOr(app, "stack", "growth-workspace"), contextOr(app, "dist", "../../dist"))
	applyNag(app)
	app.Synth(nil)
}

// newStack returns a stack with the settings as its parameters. `dist` is the folder that contains
// the output of scripts/build.
func newStack(app awscdk.App, name, dist string) awscdk.Stack {
	stack := awscdk.NewStack(app, &name, &awscdk.StackProps{
		StackName: &name, Description: jsii.String(infra.Description), AnalyticsReporting: jsii.Bool(false),
	})
	workspace.NewWorkspace(stack, jsii.String("Workspace"), &workspace.Props{Code: &dist, Parameters: jsii.Bool(true)})
	return stack
}

// applyNag applies the AwsSolutions rules of cdk-nag. Any finding makes the synthesis fail.
func applyNag(app awscdk.App) {
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
}

// contextOr returns the context value with the given name, or the fallback if that value is missing
// or empty.
func contextOr(app awscdk.App, name, fallback string) string {
	if text, ok := app.Node().TryGetContext(&name).(string); ok && text != "" {
		return text
	}
	return fallback
}
