package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

// account is an AWS account in one region. It signs and sends requests to AWS itself, so the
// program needs no SDK clients. The CDK makes all changes to the stack. A deploy itself sends only
// read requests, with two exceptions: UpdateTable for an index that CloudFormation does not manage,
// and DeleteChangeSet. The smoke command also creates resources and deletes them.
type account struct {
	id, caller string
	config     aws.Config
	client     *http.Client
}

const cloudFormationVersion = "2010-05-15"

// callTimeout is the timeout for one request to AWS.
const callTimeout = 20 * time.Second

// responseBytesMax is the maximum size of a response. A template is at most 1 MB, and XML encodes
// each quote in it as five bytes.
const responseBytesMax = 8 << 20

// openAccount finds the region and the credentials, and asks AWS which account the credentials
// belong to. The error says what is missing and what to do.
func openAccount(ctx context.Context, region, profile string) (*account, error) {
	var options []func(*config.LoadOptions) error
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
	a := &account{config: c, client: &http.Client{Timeout: callTimeout}}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials: name a profile with --profile, log in (aws sso login), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	var identity struct {
		Account string `xml:"GetCallerIdentityResult>Account"`
		ARN     string `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := a.callQueryAPI(ctx, "sts", "2011-06-15", url.Values{"Action": {"GetCallerIdentity"}}, &identity); err != nil {
		return nil, a.explainCredentials(err)
	}
	a.id, a.caller = identity.Account, identity.ARN
	return a, nil
}

// explainCredentials returns an error that says why AWS does not accept the credentials and what to
// do.
func (a *account) explainCredentials(err error) error {
	var refused *awsError
	if !errors.As(err, &refused) {
		return fmt.Errorf("cannot check the credentials with AWS: check the network and the region %s: %w", a.config.Region, err)
	}
	switch refused.code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return fmt.Errorf("the AWS credentials have expired: log in again (aws sso login), or renew them; and check this machine's clock: %w", err)
	}
	return fmt.Errorf("AWS does not accept the credentials: they are mistyped, deleted, or for a different partition than that of %s: %w",
		a.config.Region, err)
}

type awsError struct {
	code, message string
}

func (r *awsError) Error() string { return r.code + ": " + r.message }

// deployedStack is the state of a CloudFormation stack. Status is empty if the stack does not
// exist.
type deployedStack struct {
	Name       string     `xml:"StackName"`
	Status     string     `xml:"StackStatus"`
	Reason     string     `xml:"StackStatusReason"`
	Parameters []keyValue `xml:"Parameters>member"`
	Outputs    []keyValue `xml:"Outputs>member"`
}

type keyValue struct {
	Parameter string `xml:"ParameterKey"`
	Value     string `xml:"ParameterValue"`
	Output    string `xml:"OutputKey"`
	Result    string `xml:"OutputValue"`
}

// parameter returns the value of a parameter in the deployed stack.
func (s deployedStack) parameter(name string) string {
	for _, p := range s.Parameters {
		if p.Parameter == name {
			return p.Value
		}
	}
	return ""
}

func (s deployedStack) output(name string) string {
	for _, o := range s.Outputs {
		if o.Output == name {
			return o.Result
		}
	}
	return ""
}

// stack requests the state of a stack from CloudFormation.
func (a *account) stack(ctx context.Context, name string) (deployedStack, error) {
	var response struct {
		Stacks []deployedStack `xml:"DescribeStacksResult>Stacks>member"`
	}
	err := a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, url.Values{"Action": {"DescribeStacks"}, "StackName": {name}}, &response)
	var refused *awsError
	if errors.As(err, &refused) && refused.code == "ValidationError" && strings.Contains(refused.message, "does not exist") {
		return deployedStack{Name: name}, nil
	}
	if err != nil {
		return deployedStack{}, fmt.Errorf("read the stack %s: %w", name, err)
	}
	if len(response.Stacks) == 0 {
		return deployedStack{Name: name}, nil
	}
	return response.Stacks[0], nil
}

// template requests the deployed template of a stack.
func (a *account) template(ctx context.Context, stack string) (template, error) {
	text, err := a.templateText(ctx, stack)
	if err != nil {
		return nil, err
	}
	return parseTemplate(text)
}

func (a *account) templateText(ctx context.Context, stack string) ([]byte, error) {
	var response struct {
		Body string `xml:"GetTemplateResult>TemplateBody"`
	}
	form := url.Values{"Action": {"GetTemplate"}, "StackName": {stack}, "TemplateStage": {"Original"}}
	if err := a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, form, &response); err != nil {
		return nil, fmt.Errorf("read the template of the stack %s: %w", stack, err)
	}
	return []byte(response.Body), nil
}

// stackResource requests the physical id of a resource of a stack. The id is empty if the stack
// does not have the resource.
func (a *account) stackResource(ctx context.Context, stack, id string) (physicalID string, err error) {
	var response struct {
		Status string `xml:"DescribeStackResourceResult>StackResourceDetail>ResourceStatus"`
		ID     string `xml:"DescribeStackResourceResult>StackResourceDetail>PhysicalResourceId"`
	}
	form := url.Values{"Action": {"DescribeStackResource"}, "StackName": {stack}, "LogicalResourceId": {id}}
	err = a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, form, &response)
	var refused *awsError
	if errors.As(err, &refused) && refused.code == "ValidationError" && strings.Contains(refused.message, "does not exist") ||
		err == nil && strings.HasPrefix(response.Status, "DELETE_") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the resource %s of the stack %s: %w", id, stack, err)
	}
	return response.ID, nil
}

// creationFailures requests the reasons why resources of a stack could not be created, latest
// first.
func (a *account) creationFailures(ctx context.Context, name string) (reasons []string, err error) {
	var response struct {
		Events []struct {
			Status string `xml:"ResourceStatus"`
			Reason string `xml:"ResourceStatusReason"`
		} `xml:"DescribeStackEventsResult>StackEvents>member"`
	}
	err = a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, url.Values{"Action": {"DescribeStackEvents"}, "StackName": {name}}, &response)
	if err != nil {
		return nil, fmt.Errorf("read the events of the stack %s: %w", name, err)
	}
	for _, e := range response.Events {
		if e.Status == "CREATE_FAILED" {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons, nil
}

// callQueryAPI sends a form to an AWS service and decodes the XML response into out.
func (a *account) callQueryAPI(ctx context.Context, service, version string, form url.Values, out any) error {
	form.Set("Version", version)
	return a.call(ctx, service, "application/x-www-form-urlencoded", "", []byte(form.Encode()),
		func(body []byte) error { return xml.Unmarshal(body, out) })
}

// callJSON sends a request to an AWS service with the JSON protocol in the given version, and
// decodes the response into out. target is the value of the X-Amz-Target header. It names the API,
// its version and the action.
func (a *account) callJSON(ctx context.Context, service, version, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return a.call(ctx, service, "application/x-amz-json-"+version, target, body, func(text []byte) error { return json.Unmarshal(text, out) })
}

func (a *account) call(ctx context.Context, service, contentType, target string, body []byte, decode func([]byte) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint(service), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", contentType)
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	return a.send(ctx, service, r, body, decode)
}

// send signs and sends a request, and decodes the body of a successful response.
func (a *account) send(ctx context.Context, service string, r *http.Request, body []byte, decode func([]byte) error) error {
	credentials, err := a.config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, a.config.Region, time.Now()); err != nil {
		return err
	}
	response, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, responseBytesMax))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return awsErrorOf(response.StatusCode, text)
	}
	return decode(text)
}

// endpoint returns the URL of an AWS service. If AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_<SERVICE> is
// set, it returns that URL, as AWS's own tools do.
func (a *account) endpoint(service string) string {
	for _, name := range []string{"AWS_ENDPOINT_URL_" + strings.ToUpper(service), "AWS_ENDPOINT_URL"} {
		if override := os.Getenv(name); override != "" {
			return strings.TrimSuffix(override, "/") + "/"
		}
	}
	switch { // IAM has one endpoint for all regions of a partition
	case service == "iam" && a.partition() == "aws":
		return "https://iam." + a.domain() + "/"
	case service == "iam" && a.partition() == "aws-us-gov":
		return "https://iam.us-gov." + a.domain() + "/"
	}
	return "https://" + service + "." + a.config.Region + "." + a.domain() + "/"
}

// domain returns the domain name of AWS in the region's partition.
func (a *account) domain() string {
	if strings.HasPrefix(a.config.Region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// awsErrorOf decodes an error response from AWS, which is XML or JSON.
func awsErrorOf(status int, body []byte) error {
	var form struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if xml.Unmarshal(body, &form) == nil && form.Code != "" {
		return &awsError{form.Code, form.Message}
	}
	var object struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &object) == nil && object.Type != "" {
		return &awsError{object.Type[strings.LastIndexByte(object.Type, '#')+1:], object.Message}
	}
	return fmt.Errorf("status %d: %.200s", status, body)
}
