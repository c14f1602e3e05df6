// Command cdk is the CDK app: it synthesises the stack of package infra for the CDK's command line.
//
//	scripts/build && cd infra/cdk && npx aws-cdk@2.1148.1 deploy
//
// The app has two context values: stack is the name of the stack (default growth-workspace), and
// dist is the folder of the built functions (default dist in the repository's root). All other
// settings are parameters of the stack, as in template.yaml: --parameters AlarmEmail=…
//
// The stack includes the model's CloudFormation template, so it has exactly the resources and
// logical ids of template.yaml; a test compares them. The CDK uploads the code of the functions,
// and cdk-nag checks the resources.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	newStack(app, contextOr(app, "stack", "growth-workspace"), contextOr(app, "dist", "../../dist"), infra.New())
	applyNag(app)
	app.Synth(nil)
}

// contextOr returns the context value with the given name, or fallback if that value is missing or
// empty.
func contextOr(app awscdk.App, name, fallback string) string {
	if text, ok := app.Node().TryGetContext(&name).(string); ok && text != "" {
		return text
	}
	return fallback
}
