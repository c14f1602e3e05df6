package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// newStack returns the stack of a model. dist is the folder with the output of scripts/build.
func newStack(scope constructs.Construct, name, dist string, m infra.Model) awscdk.Stack {
	stack := awscdk.NewStack(scope, &name, &awscdk.StackProps{
		StackName: &name, Description: jsii.String(infra.Description), AnalyticsReporting: jsii.Bool(false),
	})
	// The CDK uploads the zip files from scripts/build unchanged, so their digests are the
	// CodeSha256 of the functions.
	code := map[string]awss3assets.Asset{}
	for _, f := range m.Functions {
		code[f.ID()] = awss3assets.NewAsset(stack, jsii.String(f.ID()+"Code"), &awss3assets.AssetProps{Path: jsii.String(filepath.Join(dist, f.Name+".zip"))})
	}
	included := include(stack, m.CloudFormation(func(f infra.Function) infra.Code {
		return infra.Code{Bucket: *code[f.ID()].S3BucketName(), Key: *code[f.ID()].S3ObjectKey()}
	}))
	for _, f := range m.Functions {
		// CfnInclude drops an update policy that is a condition.
		included.GetResource(jsii.String(f.AliasID())).AddOverride(jsii.String("UpdatePolicy"), infra.JSON(f.UpdatePolicy()))
	}
	for id, asset := range code {
		asset.AddResourceMetadata(included.GetResource(&id), jsii.String("Code")) // so that `sam local` can run the synthesised template
	}
	suppressWithReasons(included, m)
	suppressFalseFindings(stack)
	return stack
}

// include creates a construct of the right type for each resource of a template, because cdk-nag
// checks only such constructs.
func include(stack awscdk.Stack, template infra.Object) cloudformationinclude.CfnInclude {
	folder, err := os.MkdirTemp("", "template")
	if err != nil {
		panic("cdk: " + err.Error())
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "template.json")
	text, err := json.Marshal(infra.JSON(template))
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		panic("cdk: write the template to include: " + err.Error())
	}
	return cloudformationinclude.NewCfnInclude(stack, jsii.String("Template"), &cloudformationinclude.CfnIncludeProps{TemplateFile: &path})
}
