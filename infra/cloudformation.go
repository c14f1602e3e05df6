package infra

import (
	"slices"
	"strings"
)

// Code is the location of a function's zip file in S3. A different file has a different key.
type Code struct{ Bucket, Key string }

// CloudFormation returns the stack as a template without SAM's types, for the CDK to include.
// Instead, it contains the resources that SAM creates from them: the functions and the parts of the
// REST API. The function `code` returns the location of a function's zip file.
func (m Model) CloudFormation(code func(Function) Code) Object {
	return Object{
		{"Parameters", m.parameterSection()},
		{"Conditions", append(conditions(), Field{ifCanary, equalsCondition(ParamRollout, RolloutCanary)})},
		{"Resources", slices.Concat(m.lambdaResources(code), m.canaryResources(), m.gatewayResources(), m.PlainResources())},
		{"Outputs", m.outputSection()},
	}
}

// StageID is the logical id that SAM gives to the stage.
const StageID = APIID + StageName + "Stage"

func (m Model) lambdaResources(code func(Function) Code) (out Object) {
	for _, f := range m.Functions {
		zipFile := code(f)
		location := Object{{"Code", Object{{"S3Bucket", zipFile.Bucket}, {"S3Key", zipFile.Key}}}}
		out = append(out, Field{f.ID(), resource("AWS::Lambda::Function", slices.Concat(location, functionGlobals(), f.samProperties()))})
		out = append(out, f.versionResources(zipFile)...)
		if f.ReadsStream() {
			continue
		}
		out = append(out, Field{f.ID() + "Permission", resource("AWS::Lambda::Permission", Object{
			{"Action", "lambda:InvokeFunction"}, {"FunctionName", Ref(f.AliasID())}, {"Principal", "apigateway.amazonaws.com"},
			{"SourceArn", Sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${" + APIID + "}/*")},
		})})
	}
	return out
}

// gatewayResources returns the REST API, a deployment of it, and the stage.
func (m Model) gatewayResources() Object {
	api := m.apiResources()
	var parts List
	for _, r := range api[1:] { // without the API itself, because the deployment refers to it anyway
		if kind := r.Value.(Object)[0].Value; kind != "AWS::ApiGateway::Resource" { // not the paths, because methods already refer to them
			parts = append(parts, r.Name)
		}
	}
	// A deployment is a snapshot of the API that never changes, so a changed API needs a new
	// deployment with a different id.
	id := deploymentID(api)
	deployment := resource("AWS::ApiGateway::Deployment", Object{{"RestApiId", Ref(APIID)}})
	return append(api,
		Field{id, append(deployment, Field{"DependsOn", parts})},
		Field{StageID, resource("AWS::ApiGateway::Stage", append(stageSettings(),
			Field{"RestApiId", Ref(APIID)}, Field{"DeploymentId", Ref(id)}))})
}

// apiResources returns the REST API, its paths, methods and responses.
func (m Model) apiResources() Object {
	api := resource("AWS::ApiGateway::RestApi", append(Object{
		{"Name", Ref("AWS::StackName")}, {"BinaryMediaTypes", List{BinaryTypes}}, {"MinimumCompressionSize", CompressionBytesMin},
		{"EndpointConfiguration", Object{{"Types", List{"REGIONAL"}}, {"IpAddressType", addressType}}},
	}, securityProperties()...))
	out := Object{{APIID, api}}
	created := map[string]bool{}
	for _, f := range m.Functions {
		for _, r := range f.Routes {
			out = append(out, pathResources(created, r.Path)...)
			out = append(out, Field{f.MethodID(r), f.method(r)})
		}
	}
	for _, r := range m.GatewayResponses {
		out = append(out, Field{r.ID(), r.resource()})
	}
	return out
}

// MethodID returns the logical id of a route's method.
func (f Function) MethodID(r Route) string { return f.ID() + r.ID + "Method" }

func (f Function) method(r Route) Object {
	return resource("AWS::ApiGateway::Method", Object{
		{"RestApiId", Ref(APIID)}, {"ResourceId", pathReference(r.Path)}, {"HttpMethod", "ANY"}, {"AuthorizationType", "NONE"},
		{"Integration", Object{
			{"Type", "AWS_PROXY"}, {"IntegrationHttpMethod", "POST"},
			{"Uri", Sub("arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${" + f.AliasID() + "}/invocations")},
		}},
	})
}

// pathResources returns the resources of a path and its parents, skipping any already in `created`.
// It records the new ones in `created`.
func pathResources(created map[string]bool, path string) Object {
	if path == "/" || created[path] {
		return nil
	}
	created[path] = true
	parent, segment := splitPath(path)
	return append(pathResources(created, parent), Field{pathID(path), resource("AWS::ApiGateway::Resource", Object{
		{"RestApiId", Ref(APIID)}, {"ParentId", pathReference(parent)}, {"PathPart", segment},
	})})
}

func splitPath(path string) (parent, segment string) {
	cut := strings.LastIndexByte(path, '/')
	return path[:max(cut, 1)], path[cut+1:]
}

func pathReference(path string) Object {
	if path == "/" {
		return Attribute(APIID, "RootResourceId")
	}
	return Ref(pathID(path))
}

// pathID returns the logical id of a path's resource.
func pathID(path string) string {
	out := "Path"
	for word := range strings.FieldsFuncSeq(path, func(c rune) bool { return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') }) {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

func (r GatewayResponse) resource() Object {
	headers := Object{}
	for _, h := range r.headers() {
		headers = append(headers, Field{"gatewayresponse.header." + h.Name, h.Value})
	}
	return resource("AWS::ApiGateway::GatewayResponse", Object{
		{"RestApiId", Ref(APIID)}, {"ResponseType", r.Type}, {"StatusCode", r.Status()},
		{"ResponseParameters", headers}, {"ResponseTemplates", Object{{"application/json", r.Body()}}},
	})
}

// deploymentID returns an id that contains a digest of every property of the API's resources, so it
// changes when any of them changes.
func deploymentID(api Object) string { return "Deployment" + digest(api) }
