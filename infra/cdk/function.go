package main

import (
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// function makes a function with its role and its logs.
func (s stack) function(f infra.Function) {
	awsiam.NewCfnRole(s.scope, jsii.String(f.RoleID()), &awsiam.CfnRoleProps{
		AssumeRolePolicyDocument: infra.JSON(infra.AssumedBy("lambda.amazonaws.com")),
		Policies: []any{&awsiam.CfnRole_PolicyProperty{
			PolicyName: jsii.String(infra.PolicyName), PolicyDocument: infra.JSON(f.Policy()),
		}},
	})
	s.logGroup(f.LogsID())

	// The zip of scripts/build, as it is: its digest is the CodeSha256 of what runs.
	code := awss3assets.NewAsset(s.scope, jsii.String(f.ID()+"Code"), &awss3assets.AssetProps{Path: jsii.String(filepath.Join(s.dist, f.Name+".zip"))})
	function := awslambda.NewCfnFunction(s.scope, jsii.String(f.ID()), &awslambda.CfnFunctionProps{
		Code: &awslambda.CfnFunction_CodeProperty{S3Bucket: code.S3BucketName(), S3Key: code.S3ObjectKey()},
		Role: text(infra.Attribute(f.RoleID(), "Arn")), Runtime: jsii.String(infra.Runtime), Handler: jsii.String("bootstrap"),
		Architectures: &[]*string{text(infra.Ref(infra.ParamArchitecture))},
		MemorySize:    jsii.Number(infra.MemoryMB), Timeout: jsii.Number(infra.TimeoutSecond),
		ReservedConcurrentExecutions: number(infra.ReservedConcurrency()),
		Environment:                  &awslambda.CfnFunction_EnvironmentProperty{Variables: textsOf(f.Environment())},
		LoggingConfig: &awslambda.CfnFunction_LoggingConfigProperty{
			LogFormat: jsii.String("JSON"), LogGroup: text(infra.Ref(f.LogsID())),
		},
	})
	code.AddResourceMetadata(function, jsii.String("Code")) // for sam local on the synthesised template
	awslambda.NewCfnPermission(s.scope, jsii.String(f.ID()+"Permission"), &awslambda.CfnPermissionProps{
		Action: jsii.String("lambda:InvokeFunction"), FunctionName: text(infra.Ref(f.ID())), Principal: jsii.String("apigateway.amazonaws.com"),
		SourceArn: text(infra.Sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${" + infra.APIID + "}/*")),
	})
}

func (s stack) logGroup(id string) {
	group := awslogs.NewCfnLogGroup(s.scope, &id, &awslogs.CfnLogGroupProps{RetentionInDays: number(infra.Ref(infra.ParamRetention))})
	keep(group, awscdk.RemovalPolicy_DESTROY)
}
