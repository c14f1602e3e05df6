package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// account is an AWS account in one region. The CDK makes all changes to the stack. A deploy itself
// only reads, except that it deletes change sets that it does not execute. The smoke command also
// creates resources and deletes them.
type account struct {
	id, caller string
	config     aws.Config
	stacks     *cloudformation.Client
	tables     *dynamodb.Client
	functions  *lambda.Client
	gateways   *apigateway.Client
}

// callTimeout is the timeout for one attempt of a request to AWS.
const callTimeout = 20 * time.Second

// openAccount finds the region and the credentials, and asks AWS which account the credentials
// belong to. The error says what is missing and what to do.
func openAccount(ctx context.Context, region, profile string) (*account, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(callTimeout)),
		config.WithLogger(logging.Nop{}), // the errors below say what is wrong
	}
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("cannot read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, errors.New("no AWS region: give --region, set AWS_REGION, or set a region in your profile (aws configure)")
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, missingCredentials(err)
	}
	identity, err := sts.NewFromConfig(c).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, explainCredentials(err, c.Region)
	}
	return &account{
		id: aws.ToString(identity.Account), caller: aws.ToString(identity.Arn), config: c,
		stacks: cloudformation.NewFromConfig(c), tables: dynamodb.NewFromConfig(c),
		functions: lambda.NewFromConfig(c), gateways: apigateway.NewFromConfig(c),
	}, nil
}

// missingCredentials says how to give credentials. It leaves out the SDK's own error if that only
// says that this machine is not an EC2 instance.
func missingCredentials(err error) error {
	const advice = "no AWS credentials: name a profile with --profile, log in (aws sso login), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	if strings.Contains(err.Error(), "EC2 IMDS") {
		return errors.New(advice)
	}
	return fmt.Errorf(advice+": %w", err)
}

// explainCredentials returns an error that says why AWS does not accept the credentials and what to
// do.
func explainCredentials(err error, region string) error {
	switch errorCode(err) {
	case "":
		return fmt.Errorf("cannot check the credentials with AWS: check the network and the region %s: %w", region, err)
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return fmt.Errorf("the AWS credentials have expired: log in again (aws sso login), or renew them; and check this machine's clock: %w", err)
	}
	return fmt.Errorf("AWS does not accept the credentials: they are mistyped, deleted, or for a different partition than that of %s: %w", region, err)
}

// errorCode returns the code of an error response from AWS, or an empty string for any other error.
func errorCode(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

// isMissing reports whether the error says that a stack or its resource does not exist.
// CloudFormation has no error code of its own for that.
func isMissing(err error) bool {
	return errorCode(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist")
}

// deployedStack is the state of a CloudFormation stack. StackStatus is empty if the stack does not
// exist.
type deployedStack struct{ types.Stack }

func (s deployedStack) name() string { return aws.ToString(s.StackName) }

// parameter returns the value of a parameter in the deployed stack.
func (s deployedStack) parameter(name string) string {
	for _, p := range s.Parameters {
		if aws.ToString(p.ParameterKey) == name {
			return aws.ToString(p.ParameterValue)
		}
	}
	return ""
}

func (s deployedStack) output(name string) string {
	for _, o := range s.Outputs {
		if aws.ToString(o.OutputKey) == name {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}

// stack requests the state of a stack from CloudFormation.
func (a *account) stack(ctx context.Context, name string) (deployedStack, error) {
	response, err := a.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	switch {
	case isMissing(err), err == nil && len(response.Stacks) == 0:
		return deployedStack{types.Stack{StackName: &name}}, nil
	case err != nil:
		return deployedStack{}, fmt.Errorf("read the stack %s: %w", name, err)
	}
	return deployedStack{response.Stacks[0]}, nil
}

// template requests the deployed template of a stack.
func (a *account) template(ctx context.Context, stack string) (template, error) {
	response, err := a.stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &stack, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		return nil, fmt.Errorf("read the template of the stack %s: %w", stack, err)
	}
	t, err := parseTemplate([]byte(aws.ToString(response.TemplateBody)))
	if err != nil {
		return nil, fmt.Errorf("the CDK has not deployed the stack %s, so upgrade it with the tool that created it: its template: %w", stack, err)
	}
	return t, nil
}

// stackResource requests the physical id of a resource of a stack. The id is empty if the stack
// does not have the resource.
func (a *account) stackResource(ctx context.Context, stack, id string) (physicalID string, err error) {
	response, err := a.stacks.DescribeStackResource(ctx, &cloudformation.DescribeStackResourceInput{StackName: &stack, LogicalResourceId: &id})
	switch {
	case isMissing(err), err == nil && strings.HasPrefix(string(response.StackResourceDetail.ResourceStatus), "DELETE_"):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the resource %s of the stack %s: %w", id, stack, err)
	}
	return aws.ToString(response.StackResourceDetail.PhysicalResourceId), nil
}

// endpointOverride returns the URL of an emulated account, or an empty string for AWS itself.
func endpointOverride() string { return strings.TrimSuffix(os.Getenv("AWS_ENDPOINT_URL"), "/") }
