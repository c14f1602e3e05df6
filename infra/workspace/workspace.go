// Package workspace provides the service as a construct for AWS CDK apps:
//
//	workspace.NewWorkspace(stack, jsii.String("Workspace"), &workspace.Props{
//		Code:     jsii.String("growth-workspace-lambda-v1.0.0"), // the unpacked zips of a release
//		Settings: workspace.Settings{AlarmEmail: jsii.String("ops@example.com")},
//	})
//
// The construct includes the CloudFormation template of package infra, so it has exactly the
// resources and logical ids of template.yaml. A stack can contain only one workspace.
//
// settings.go contains the settings. suppressions.go lists the cdk-nag rules that the construct
// does not follow, with reasons.
package workspace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// Props are the properties of a workspace.
type Props struct {
	// Code is the folder with the zip file of each function: the unpacked zips of a release, or the
	// output of scripts/build. Required.
	Code *string

	Settings

	// If Parameters is true, each setting that Settings leaves out becomes a parameter of the
	// stack, whose value is chosen at each deployment. Otherwise such a setting has its default.
	Parameters *bool
}

// Workspace is the service in a stack.
type Workspace interface {
	constructs.Construct

	// BaseURL is the URL of the service.
	BaseURL() *string
	// TableName is the name of the table: the workspace's own table, or the existing table that the
	// settings name.
	TableName() *string
	// Table is the table, which the app can use for grants and metrics.
	Table() awsdynamodb.ITable
	// API is the REST API.
	API() awsapigateway.IRestApi
	// Function is the alias of the function that serves an area: company, plan, feedback, metrics,
	// optimise, broadcast, context or changes. It also accepts mcp, openapi and recorder, and
	// panics for any other name.
	Function(area string) awslambda.IFunction
	// AlarmTopic is the topic that the alarms publish to.
	AlarmTopic() awssns.ITopic
}

type workspace struct {
	constructs.Construct
	included  cloudformationinclude.CfnInclude
	table     awsdynamodb.ITable
	api       awsapigateway.IRestApi
	functions map[string]awslambda.IFunction
	topic     awssns.ITopic
}

// NewWorkspace adds the service to a stack. Like other constructs, it panics if a property is
// invalid: a folder without the zip files, or a value that a setting does not allow.
func NewWorkspace(scope constructs.Construct, id *string, props *Props) Workspace {
	if props == nil || props.Code == nil {
		panic("workspace: Props.Code is required: the folder with the zip file of each function")
	}
	m := infra.New()
	w := &workspace{functions: map[string]awslambda.IFunction{}}
	constructs.NewConstruct_Override(w, scope, id)
	// The CDK uploads the zip files unchanged, so their digests equal the CodeSha256 of the
	// functions.
	code := map[string]awss3assets.Asset{}
	for _, f := range m.Functions {
		path := filepath.Join(*props.Code, f.Name+".zip")
		if _, err := os.Stat(path); err != nil {
			panic("workspace: Props.Code needs the zip file of each function: " + err.Error())
		}
		code[f.ID()] = awss3assets.NewAsset(w, jsii.String(f.ID()+"Code"), &awss3assets.AssetProps{Path: &path})
	}
	w.included = include(w, m.CloudFormation(func(f infra.Function) infra.Code {
		return infra.Code{Bucket: *code[f.ID()].S3BucketName(), Key: *code[f.ID()].S3ObjectKey()}
	}), props.values(m.Parameters))
	for _, f := range m.Functions {
		// CfnInclude drops an update policy whose value is a condition.
		w.included.GetResource(jsii.String(f.AliasID())).AddOverride(jsii.String("UpdatePolicy"), infra.JSON(f.UpdatePolicy()))
		w.functions[f.Name] = awslambda.Function_FromFunctionArn(w, jsii.String(f.ID()+"Alias"), w.included.GetResource(jsii.String(f.AliasID())).Ref())
	}
	for id, asset := range code {
		asset.AddResourceMetadata(w.included.GetResource(&id), jsii.String("Code")) // so that `sam local` can run the synthesised template
	}
	w.table = awsdynamodb.Table_FromTableAttributes(w, jsii.String(infra.TableID), &awsdynamodb.TableAttributes{
		TableName: w.TableName(), GrantIndexPermissions: jsii.Bool(true),
	})
	api := w.included.GetResource(jsii.String(infra.APIID))
	w.api = awsapigateway.RestApi_FromRestApiAttributes(w, jsii.String(infra.APIID), &awsapigateway.RestApiAttributes{
		RestApiId: api.Ref(), RootResourceId: awscdk.Token_AsString(api.GetAtt(jsii.String("RootResourceId"), awscdk.ResolutionTypeHint_STRING), nil),
	})
	w.topic = awssns.Topic_FromTopicArn(w, jsii.String(infra.AlarmTopicID), w.included.GetResource(jsii.String(infra.AlarmTopicID)).Ref())
	suppressWithReasons(w.included, m)
	suppressFalseFindings(awscdk.Stack_Of(w))
	return w
}

// values returns the values of the settings that replace the template's parameters.
func (p Props) values(parameters []infra.Parameter) map[string]any {
	values := p.chosen()
	for _, parameter := range parameters {
		value, ok := values[parameter.Name]
		switch {
		case !ok && p.Parameters != nil && *p.Parameters:
			continue
		case !ok:
			value = parameter.Default
		case *awscdk.Token_IsUnresolved(value):
			panic("workspace: " + parameter.Name + " must be known when the template is synthesised; it is a token")
		}
		text := fmt.Sprint(value)
		if number, ok := value.(float64); ok {
			text = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if err := parameter.Check(text); err != nil {
			panic("workspace: " + err.Error())
		}
		values[parameter.Name] = text // a template stores the value of a parameter as a string, even if it is a number
	}
	return values
}

// include creates a construct of the right type for each resource of a template, because cdk-nag
// checks only typed constructs. The values replace the template's parameters.
func include(scope constructs.Construct, template infra.Object, values map[string]any) cloudformationinclude.CfnInclude {
	folder, err := os.MkdirTemp("", "template")
	if err != nil {
		panic("workspace: " + err.Error())
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "template.json")
	text, err := json.Marshal(infra.JSON(template))
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		panic("workspace: write the template to include: " + err.Error())
	}
	return cloudformationinclude.NewCfnInclude(scope, jsii.String("Template"), &cloudformationinclude.CfnIncludeProps{TemplateFile: &path, Parameters: &values})
}

func (w *workspace) output(name string) *string {
	return awscdk.Token_AsString(w.included.GetOutput(&name).Value(), nil)
}

func (w *workspace) BaseURL() *string            { return w.output("BaseUrl") }
func (w *workspace) TableName() *string          { return w.output("TableName") }
func (w *workspace) Table() awsdynamodb.ITable   { return w.table }
func (w *workspace) API() awsapigateway.IRestApi { return w.api }
func (w *workspace) AlarmTopic() awssns.ITopic   { return w.topic }
func (w *workspace) Function(area string) awslambda.IFunction {
	f, ok := w.functions[area]
	if !ok {
		panic("workspace: there is no function " + area)
	}
	return f
}
