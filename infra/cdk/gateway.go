package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// gateway makes the REST API: its routes, what it answers by itself, and its stage.
func (s stack) gateway() {
	s.logGroup(infra.GatewayLogsID)
	s.account()
	api := awsapigateway.NewCfnRestApi(s.scope, jsii.String(infra.APIID), &awsapigateway.CfnRestApiProps{
		Name: text(infra.Ref("AWS::StackName")), BinaryMediaTypes: jsii.Strings(infra.BinaryTypes),
		MinimumCompressionSize: jsii.Number(infra.CompressionBytesMin),
		EndpointConfiguration:  &awsapigateway.CfnRestApi_EndpointConfigurationProperty{Types: jsii.Strings("REGIONAL")},
	})
	parts := append(s.routes(api), s.refusals(api)...)

	// A deployment is a picture of the API at its moment, and never changes: what has changed needs another one.
	deployment := awsapigateway.NewCfnDeployment(s.scope, jsii.String("Deployment"+s.digest()), &awsapigateway.CfnDeploymentProps{RestApiId: api.Ref()})
	for _, part := range parts {
		deployment.AddResourceDependency(part, nil)
	}
	awsapigateway.NewCfnStage(s.scope, jsii.String(infra.APIID+infra.StageName+"Stage"), &awsapigateway.CfnStageProps{
		RestApiId: api.Ref(), DeploymentId: deployment.Ref(), StageName: jsii.String(infra.StageName),
		MethodSettings: []any{&awsapigateway.CfnStage_MethodSettingProperty{
			ResourcePath: jsii.String("/*"), HttpMethod: jsii.String("*"),
			ThrottlingRateLimit: number(infra.Ref(infra.ParamThrottleRate)), ThrottlingBurstLimit: number(infra.Ref(infra.ParamThrottleBurst)),
		}},
		AccessLogSetting: &awsapigateway.CfnStage_AccessLogSettingProperty{
			DestinationArn: text(infra.Attribute(infra.GatewayLogsID, "Arn")), Format: jsii.String(infra.AccessLog()),
		},
		Variables: textsOf(infra.StageVariables()),
	})
}

// account gives API Gateway the role with which it writes logs.
func (s stack) account() {
	role := awsiam.NewCfnRole(s.scope, jsii.String(infra.AccountRoleID), &awsiam.CfnRoleProps{
		AssumeRolePolicyDocument: infra.JSON(infra.AssumedBy("apigateway.amazonaws.com")),
		ManagedPolicyArns:        &[]any{text(infra.GatewayLogsPolicy())},
	})
	account := awsapigateway.NewCfnAccount(s.scope, jsii.String(infra.AccountID), &awsapigateway.CfnAccountProps{
		CloudWatchRoleArn: text(infra.Attribute(infra.AccountRoleID, "Arn")),
	})
	for _, resource := range []awscdk.CfnResource{role, account} {
		s.only(resource, infra.IfGatewayLogs)
		keep(resource, awscdk.RemovalPolicy_RETAIN)
	}
}

// routes makes a method for each route, and a resource for each segment of its path.
func (s stack) routes(api awsapigateway.CfnRestApi) (methods []awscdk.CfnResource) {
	resources := map[string]*string{"/": api.AttrRootResourceId()}
	for _, f := range s.model.Functions {
		for _, r := range f.Routes {
			id := s.resource(api, resources, r.Path)
			methods = append(methods, awsapigateway.NewCfnMethod(s.scope, jsii.String(f.ID()+r.ID+"Method"), &awsapigateway.CfnMethodProps{
				RestApiId: api.Ref(), ResourceId: id, HttpMethod: jsii.String("ANY"), AuthorizationType: jsii.String("NONE"),
				Integration: &awsapigateway.CfnMethod_IntegrationProperty{
					Type: jsii.String("AWS_PROXY"), IntegrationHttpMethod: jsii.String("POST"), Uri: text(infra.Sub(
						"arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${" + f.ID() + ".Arn}/invocations")),
				},
			}))
		}
	}
	return methods
}

// resource returns the id of the resource of a path, which it makes with those above it where they are not yet made.
func (s stack) resource(api awsapigateway.CfnRestApi, known map[string]*string, path string) *string {
	if id := known[path]; id != nil {
		return id
	}
	cut := strings.LastIndexByte(path, '/')
	above, segment := path[:max(cut, 1)], path[cut+1:]
	parent := s.resource(api, known, above)
	resource := awsapigateway.NewCfnResource(s.scope, jsii.String("Path"+pathID(path)), &awsapigateway.CfnResourceProps{
		RestApiId: api.Ref(), ParentId: parent, PathPart: &segment,
	})
	known[path] = resource.Ref()
	return known[path]
}

// pathID spells a path as a logical id.
func pathID(path string) string {
	var out strings.Builder
	for segment := range strings.FieldsFuncSeq(path, func(c rune) bool { return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') }) {
		out.WriteString(strings.ToUpper(segment[:1]) + segment[1:])
	}
	return out.String()
}

// refusals makes what the gateway answers by itself.
func (s stack) refusals(api awsapigateway.CfnRestApi) (out []awscdk.CfnResource) {
	for _, r := range s.model.GatewayResponses {
		headers := map[string]string{}
		for name, value := range r.Headers() {
			headers["gatewayresponse.header."+name] = value
		}
		out = append(out, awsapigateway.NewCfnGatewayResponse(s.scope, jsii.String(r.ID()), &awsapigateway.CfnGatewayResponseProps{
			RestApiId: api.Ref(), ResponseType: jsii.String(r.Type), StatusCode: jsii.String(r.Status()),
			ResponseParameters: headers, ResponseTemplates: map[string]string{"application/json": r.Body()},
		}))
	}
	return out
}

// digest changes with everything that a deployment is a picture of.
func (s stack) digest() string {
	picture, err := json.Marshal([]any{s.model.Functions, s.model.GatewayResponses, infra.BinaryTypes, infra.CompressionBytesMin})
	if err != nil {
		panic("cdk: a model of texts and numbers does not encode: " + err.Error())
	}
	sum := sha256.Sum256(picture)
	return hex.EncodeToString(sum[:5])
}
