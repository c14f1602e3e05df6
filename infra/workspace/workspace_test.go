package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/infra"
)

type document = map[string]any

// synthOutput holds the results of a single synthesis, which all tests share because it takes
// seconds.
var synthOutput struct {
	cdk, sam document // the stack's template, and template.yaml as CloudFormation reads it
	findings []any    // the findings of cdk-nag
}

func TestMain(m *testing.M) {
	dist, err := os.MkdirTemp("", "dist")
	if err != nil {
		panic(err)
	}
	code := func() int {
		defer jsii.Close()
		defer os.RemoveAll(dist)
		synthesise(dist)
		return m.Run()
	}()
	os.Exit(code)
}

func synthesise(dist string) {
	model := infra.New()
	for _, f := range model.Functions {
		if err := os.WriteFile(filepath.Join(dist, f.Name+".zip"), []byte(f.Name), 0o644); err != nil {
			panic(err)
		}
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(filepath.Join(dist, "out"))})
	stack := awscdk.NewStack(app, jsii.String("test"), &awscdk.StackProps{Description: jsii.String(infra.Description), AnalyticsReporting: jsii.Bool(false)})
	NewWorkspace(stack, jsii.String("Workspace"), &Props{Code: &dist, Parameters: jsii.Bool(true)})
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	template := assertions.Template_FromStack(stack, nil)
	synthOutput.cdk = asJSON(*template.ToJSON())
	annotations := assertions.Annotations_FromStack(stack)
	anything := assertions.Match_AnyValue()
	for _, found := range []any{annotations.FindError(jsii.String("*"), anything), annotations.FindWarning(jsii.String("*"), anything)} {
		synthOutput.findings = append(synthOutput.findings, asJSON(map[string]any{"found": found})["found"].([]any)...)
	}

	synthOutput.sam = readTemplate(dist)
}

// readTemplate reads template.yaml with the CDK's parser. For SAM's resource types, the CDK drops
// properties that it does not know. So readTemplate first renames these types to unknown ones,
// whose properties the CDK keeps. It also adds the stage and the aliases, which SAM generates and
// other resources refer to.
func readTemplate(folder string) document {
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(folder, "template.yaml")
	text = bytes.ReplaceAll(text, []byte("Type: "+samType), []byte("Type: "+unknownType))
	section := "\nResources:\n  " + infra.StageID + ":\n    Type: " + unknownType + "::Stage\n"
	for _, f := range infra.New().Functions {
		section += "  " + f.AliasID() + ":\n    Type: " + unknownType + "::Alias\n"
	}
	text = bytes.Replace(text, []byte("\nResources:\n"), []byte(section), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		panic(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(filepath.Join(folder, "sam"))})
	stack := awscdk.NewStack(app, jsii.String("sam"), &awscdk.StackProps{AnalyticsReporting: jsii.Bool(false)})
	suppressFalseFindings(stack)
	cloudformationinclude.NewCfnInclude(stack, jsii.String("Template"), &cloudformationinclude.CfnIncludeProps{TemplateFile: &path})
	return attributesAsLists(asJSON(*assertions.Template_FromStack(stack, nil).ToJSON())).(document)
}

const (
	samType     = "AWS::Serverless::"
	unknownType = "Custom::Serverless"
)

// attributesAsLists rewrites references to attributes in the list form, which the CDK uses.
func attributesAsLists(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = attributesAsLists(v[i])
		}
	case document:
		for name := range v {
			v[name] = attributesAsLists(v[name])
		}
		if text, ok := v["Fn::GetAtt"].(string); ok {
			id, attribute, _ := strings.Cut(text, ".")
			v["Fn::GetAtt"] = []any{id, attribute}
		}
	}
	return value
}

func asJSON(value any) (out document) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// Ensure cdk-nag has no findings except those that suppressions.go suppresses with a reason.
func TestNag(t *testing.T) {
	for _, finding := range synthOutput.findings {
		t.Error("cdk-nag finds:", finding)
	}
}

// Ensure both stacks have the same parameters, conditions and outputs, and identical roles, table,
// logs, alarms and dashboard. Only the API and the functions have different types in SAM.
func TestSameAsTemplate(t *testing.T) {
	for _, section := range []string{"Parameters", "Conditions", "Outputs"} {
		have, want := maps.Clone(sectionOf(synthOutput.cdk, section)), maps.Clone(sectionOf(synthOutput.sam, section))
		for _, own := range []string{"BootstrapVersion", "IsCanary"} { // only the CDK has these; SAM has a mapping instead of the condition
			delete(have, own)
			delete(want, own)
		}
		if diff := cmp.Diff(want, have); diff != "" || len(want) == 0 {
			t.Errorf("%s (-template.yaml +CDK):\n%s", section, diff)
		}
	}
	have, want := resources(synthOutput.cdk), resources(synthOutput.sam)
	plain := infra.JSON(infra.New().PlainResources()).(document)
	for id, resource := range want {
		if strings.HasPrefix(resource["Type"].(string), unknownType) {
			continue
		}
		if diff := cmp.Diff(resource, have[id]); diff != "" {
			t.Errorf("%s (-template.yaml +CDK):\n%s", id, diff)
		}
		if diff := cmp.Diff(plain[id], any(resource)); diff != "" {
			t.Errorf("%s (-model +template.yaml):\n%s", id, diff)
		}
		delete(plain, id)
	}
	if len(plain) > 0 {
		t.Errorf("template.yaml lacks %v", plain)
	}
}

// Ensure the functions of both stacks have the same code, settings, role and environment.
func TestFunctions(t *testing.T) {
	have, want := resources(synthOutput.cdk), resources(synthOutput.sam)
	globals := sectionOf(synthOutput.sam, "Globals")["Function"].(document)
	for _, f := range infra.New().Functions {
		sam := maps.Clone(globals)
		maps.Copy(sam, want[f.ID()]["Properties"].(document))
		if sam["CodeUri"] != f.Source()+"/" {
			t.Errorf("%s is built from %v", f.Name, sam["CodeUri"])
		}
		// CodeUri is compared above, Events by TestRoutes, and the others by TestRollout.
		for _, name := range []string{
			"CodeUri", "Events", "AutoPublishAlias", "AutoPublishAliasAllProperties", "VersionDeletionPolicy", "VersionDescription", "DeploymentPreference",
		} {
			delete(sam, name)
		}
		cdk := maps.Clone(have[f.ID()]["Properties"].(document))
		if code := cdk["Code"].(document); code["S3Bucket"] == nil || code["S3Key"] == nil {
			t.Errorf("%s has no code", f.Name)
		}
		delete(cdk, "Code")
		if diff := cmp.Diff(sam, cdk); diff != "" {
			t.Errorf("%s (-template.yaml +CDK):\n%s", f.ID(), diff)
		}
	}
}

// Ensure both templates publish each function and move its alias in the same way. The test compares
// the properties from which SAM generates a version, an alias and a canary with the CDK's
// resources. scripts/check/external/deploy compares the CDK's resources with
// those that SAM generates.
func TestRollout(t *testing.T) {
	have, want := resources(synthOutput.cdk), resources(synthOutput.sam)
	preference := sectionOf(synthOutput.sam, "Globals")["Function"].(document)["DeploymentPreference"].(document)
	var alarms []any
	for _, alarm := range preference["Alarms"].([]any) {
		alarms = append(alarms, document{"Name": alarm})
	}
	mapping := document{"Rollouts": document{"all-at-once": document{"Canary": "false"}, "canary": document{"Canary": "true"}}}
	if diff := cmp.Diff(mapping, sectionOf(synthOutput.sam, "Mappings")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(any(document{"Fn::FindInMap": []any{"Rollouts", document{"Ref": "Rollout"}, "Canary"}}), preference["Enabled"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(any(document{"Fn::Equals": []any{document{"Ref": "Rollout"}, "canary"}}), sectionOf(synthOutput.cdk, "Conditions")["IsCanary"]); diff != "" {
		t.Error(diff)
	}
	for _, f := range infra.New().Functions {
		alias := have[f.AliasID()]
		properties := alias["Properties"].(document)
		versionID := properties["FunctionVersion"].(document)["Fn::GetAtt"].([]any)[0].(string)
		version, group := have[versionID], have[f.ID()+"DeploymentGroup"]
		if properties["Name"] != "live" || properties["FunctionName"].(document)["Ref"] != f.ID() || !strings.HasPrefix(versionID, f.ID()+"Version") {
			t.Errorf("the alias of %s: %v", f.ID(), properties)
		}
		wantPolicy := document{"CodeDeployLambdaAliasUpdate": document{"Fn::If": []any{"IsCanary", document{
			"ApplicationName": document{"Ref": "ServerlessDeploymentApplication"}, "DeploymentGroupName": document{"Ref": f.ID() + "DeploymentGroup"},
		}, document{"Ref": "AWS::NoValue"}}}}
		if diff := cmp.Diff(any(wantPolicy), alias["UpdatePolicy"]); diff != "" {
			t.Errorf("%s (-want +CDK):\n%s", f.ID(), diff)
		}
		sam := want[f.ID()]["Properties"].(document)
		wantVersion := document{"Type": "AWS::Lambda::Version", "DeletionPolicy": "Delete",
			"Properties": document{"FunctionName": document{"Ref": f.ID()}, "Description": sam["VersionDescription"]}}
		if diff := cmp.Diff(wantVersion, version); diff != "" {
			t.Errorf("%s (-template.yaml +CDK):\n%s", versionID, diff)
		}
		if diff := cmp.Diff(any(document{"Enabled": true, "Alarms": alarms}), group["Properties"].(document)["AlarmConfiguration"]); diff != "" {
			t.Errorf("%s (-template.yaml +CDK):\n%s", f.ID(), diff)
		}
		if got := group["Properties"].(document)["DeploymentConfigName"]; got != "CodeDeployDefault.Lambda"+preference["Type"].(string) {
			t.Errorf("%s has the deployment configuration %v", f.ID(), got)
		}
	}
	for id, r := range have {
		if strings.HasPrefix(r["Type"].(string), "AWS::CodeDeploy::") && r["Condition"] != "IsCanary" {
			t.Errorf("%s exists without a canary", id)
		}
	}
}

// Ensure both APIs have exactly the routes of the model.
func TestRoutes(t *testing.T) {
	want := map[string]string{}
	for _, f := range infra.New().Functions {
		for _, r := range f.Routes {
			want["ANY "+r.Path] = f.ID()
		}
	}
	if diff := cmp.Diff(want, samRoutes()); diff != "" {
		t.Errorf("template.yaml (-model +template):\n%s", diff)
	}
	if diff := cmp.Diff(want, cdkRoutes(t)); diff != "" {
		t.Errorf("CDK (-model +stack):\n%s", diff)
	}
}

func samRoutes() map[string]string {
	out := map[string]string{}
	for id, r := range resources(synthOutput.sam) {
		properties, _ := r["Properties"].(document)
		events, _ := properties["Events"].(document)
		for _, e := range events {
			p := e.(document)["Properties"].(document)
			out[p["Method"].(string)+" "+p["Path"].(string)] = id
		}
	}
	return out
}

// cdkRoutes returns the path and the function of each method. The function must permit the gateway
// to invoke it.
func cdkRoutes(t *testing.T) map[string]string {
	t.Helper()
	all := resources(synthOutput.cdk)
	out := map[string]string{}
	for id, r := range all {
		if r["Type"] != "AWS::ApiGateway::Method" {
			continue
		}
		p := r["Properties"].(document)
		integration := p["Integration"].(document)
		uri := integration["Uri"].(document)["Fn::Sub"].(string)
		_, function, _ := strings.Cut(uri, "functions/${")
		function, isAlias := strings.CutSuffix(strings.TrimSuffix(function, "}/invocations"), "Aliaslive")
		out[p["HttpMethod"].(string)+" "+pathOf(all, p["ResourceId"].(document))] = function
		permission := all[function+"Permission"]
		if permission == nil || !isAlias || permission["Properties"].(document)["FunctionName"].(document)["Ref"] != function+"Aliaslive" {
			t.Errorf("the gateway may not invoke the alias of %s", function)
		}
		if integration["Type"] != "AWS_PROXY" || integration["IntegrationHttpMethod"] != "POST" || p["AuthorizationType"] != "NONE" {
			t.Errorf("%s: want a proxy integration without an authorizer: %v", id, p)
		}
	}
	return out
}

func pathOf(all map[string]document, reference document) string {
	id, ok := reference["Ref"].(string)
	if !ok {
		return "/" // the API's root
	}
	p := all[id]["Properties"].(document)
	return strings.TrimSuffix(pathOf(all, p["ParentId"].(document)), "/") + "/" + p["PathPart"].(string)
}

// Ensure both APIs have the same error responses, and that their stages have the same settings.
func TestGateway(t *testing.T) {
	all := resources(synthOutput.cdk)
	sam := maps.Clone(resources(synthOutput.sam)[infra.APIID]["Properties"].(document))
	responses := sam["GatewayResponses"].(document)
	count := 0
	for id, r := range all {
		if r["Type"] != "AWS::ApiGateway::GatewayResponse" {
			continue
		}
		count++
		p := r["Properties"].(document)
		headers := document{}
		for name, value := range p["ResponseParameters"].(document) {
			headers[strings.TrimPrefix(name, "gatewayresponse.header.")] = value
		}
		status, _ := strconv.Atoi(p["StatusCode"].(string))
		have := document{"StatusCode": float64(status), "ResponseParameters": document{"Headers": headers}, "ResponseTemplates": p["ResponseTemplates"]}
		if diff := cmp.Diff(responses[p["ResponseType"].(string)], any(have)); diff != "" {
			t.Errorf("%s (-template.yaml +CDK):\n%s", id, diff)
		}
	}
	if count != len(responses) || count == 0 {
		t.Errorf("%d responses, want %d", count, len(responses))
	}
	api, stage := all[infra.APIID]["Properties"].(document), all[infra.StageID]["Properties"].(document)
	have := document{
		"Name": api["Name"], "MinimumCompressionSize": api["MinimumCompressionSize"], "StageName": stage["StageName"],
		"BinaryMediaTypes": []any{strings.ReplaceAll(api["BinaryMediaTypes"].([]any)[0].(string), "/", "~1")},
		"EndpointConfiguration": document{
			"Type":          api["EndpointConfiguration"].(document)["Types"].([]any)[0],
			"IpAddressType": api["EndpointConfiguration"].(document)["IpAddressType"],
		},
		"SecurityPolicy": api["SecurityPolicy"], "EndpointAccessMode": api["EndpointAccessMode"],
		"MethodSettings": stage["MethodSettings"], "AccessLogSetting": stage["AccessLogSetting"], "Variables": stage["Variables"],
	}
	delete(sam, "GatewayResponses")
	delete(sam, "OpenApiVersion") // only SAM has it
	if diff := cmp.Diff(sam, have); diff != "" {
		t.Errorf("(-template.yaml +CDK):\n%s", diff)
	}
}

// Ensure a changed API gets a new deployment, because a stage otherwise keeps serving its old one.
func TestDeploymentFollowsTheAPI(t *testing.T) {
	changed := infra.New()
	changed.GatewayResponses[0].Message += "."
	id, dependencies := findDeployment(synthOutput.cdk)
	if same := deploymentID(infra.New()); id == "" || same != id {
		t.Errorf("%s and %s for the same API", id, same)
	}
	if other := deploymentID(changed); other == id {
		t.Errorf("%s for another API", other)
	}
	if !strings.Contains(dependencies, "CompanyFunctionRestMethod") || !strings.Contains(dependencies, "RefusalThrottled") {
		t.Errorf("%s waits for %s", id, dependencies)
	}
}

func deploymentID(m infra.Model) string {
	id, _ := findDeployment(infra.JSON(m.CloudFormation(func(infra.Function) infra.Code { return infra.Code{} })).(document))
	return id
}

func findDeployment(template document) (id, dependencies string) {
	for id, r := range resources(template) {
		if r["Type"] == "AWS::ApiGateway::Deployment" {
			return id, fmt.Sprint(r["DependsOn"])
		}
	}
	return "", ""
}

func sectionOf(template document, name string) document {
	out, _ := template[name].(document)
	return out
}

// resources returns the resources of a template, without the CDK's metadata.
func resources(template document) map[string]document {
	out := map[string]document{}
	for id, r := range sectionOf(template, "Resources") {
		resource := maps.Clone(r.(document))
		delete(resource, "Metadata")
		out[id] = resource
	}
	return out
}
