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

// account is an AWS account in one region. The three questions that are asked of it are signed here, in place of three
// clients of the SDK; everything that changes something is the CDK's.
type account struct {
	id, caller string
	config     aws.Config
	client     *http.Client
}

// callTimeout is for one question.
const callTimeout = 20 * time.Second

// open finds region and credentials, and asks AWS whose they are. The error says what is missing and what to do.
func open(ctx context.Context, region, profile string) (*account, error) {
	var options []func(*config.LoadOptions) error
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("AWS's configuration cannot be read: %w", err)
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
	if err := a.query(ctx, "sts", "2011-06-15", url.Values{"Action": {"GetCallerIdentity"}}, &identity); err != nil {
		return nil, a.explain(err)
	}
	a.id, a.caller = identity.Account, identity.ARN
	return a, nil
}

// explain says what to do about credentials that AWS does not take.
func (a *account) explain(err error) error {
	var refused *refusal
	if !errors.As(err, &refused) {
		return fmt.Errorf("AWS cannot be asked whose the credentials are: check the network and the region %s: %w", a.config.Region, err)
	}
	switch refused.code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return fmt.Errorf("the AWS credentials have expired: log in again (aws sso login), or renew them; and check this machine's clock: %w", err)
	}
	return fmt.Errorf("AWS does not take the credentials: they are mistyped, deleted, or of another partition than %s: %w", a.config.Region, err)
}

// refusal is an answer of AWS that is an error.
type refusal struct {
	code, message string
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

// stack is what there is of a stack; its status is empty where there is none.
type stack struct {
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

// parameter returns the value that a parameter was deployed with.
func (s stack) parameter(name string) string {
	for _, p := range s.Parameters {
		if p.Parameter == name {
			return p.Value
		}
	}
	return ""
}

func (s stack) output(name string) string {
	for _, o := range s.Outputs {
		if o.Output == name {
			return o.Result
		}
	}
	return ""
}

// stack asks CloudFormation for a stack.
func (a *account) stack(ctx context.Context, name string) (stack, error) {
	var answer struct {
		Stacks []stack `xml:"DescribeStacksResult>Stacks>member"`
	}
	err := a.query(ctx, "cloudformation", "2010-05-15", url.Values{"Action": {"DescribeStacks"}, "StackName": {name}}, &answer)
	var refused *refusal
	if errors.As(err, &refused) && refused.code == "ValidationError" && strings.Contains(refused.message, "does not exist") {
		return stack{Name: name}, nil
	}
	if err != nil {
		return stack{}, fmt.Errorf("ask for the stack %s: %w", name, err)
	}
	if len(answer.Stacks) == 0 {
		return stack{Name: name}, nil
	}
	return answer.Stacks[0], nil
}

// usable tells whether a table is one that the service can stand on.
func (a *account) usable(ctx context.Context, table string) error {
	var answer struct {
		Table struct {
			TableStatus string
			KeySchema   []struct{ AttributeName string }
		}
	}
	err := a.call(ctx, "dynamodb", "application/x-amz-json-1.0", "DynamoDB_20120810.DescribeTable", fmt.Appendf(nil, `{"TableName":%q}`, table),
		func(body []byte) error { return json.Unmarshal(body, &answer) })
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.code == "ResourceNotFoundException":
		return fmt.Errorf("there is no table %s in %s: --table takes one that exists, in the same account and region", table, a.config.Region)
	case err != nil:
		return fmt.Errorf("ask for the table %s: %w", table, err)
	case answer.Table.TableStatus != "ACTIVE":
		return fmt.Errorf("the table %s is %s: wait until it is ACTIVE (aws dynamodb wait table-exists --table-name %s)", table, answer.Table.TableStatus, table)
	}
	if keys := answer.Table.KeySchema; len(keys) != 2 || keys[0].AttributeName != "pk" || keys[1].AttributeName != "sk" {
		return fmt.Errorf("the table %s is not one of this service: its keys are not pk and sk", table)
	}
	return nil
}

// query asks a service that speaks forms and XML.
func (a *account) query(ctx context.Context, service, version string, form url.Values, answer any) error {
	form.Set("Version", version)
	return a.call(ctx, service, "application/x-www-form-urlencoded", "", []byte(form.Encode()),
		func(body []byte) error { return xml.Unmarshal(body, answer) })
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
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return refused(response.StatusCode, text)
	}
	return decode(text)
}

// endpoint is where a service is; the variables are those that AWS's own tools know.
func (a *account) endpoint(service string) string {
	for _, name := range []string{"AWS_ENDPOINT_URL_" + strings.ToUpper(service), "AWS_ENDPOINT_URL"} {
		if at := os.Getenv(name); at != "" {
			return strings.TrimSuffix(at, "/") + "/"
		}
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(a.config.Region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return "https://" + service + "." + a.config.Region + "." + domain + "/"
}

// refused reads an error in either of the two forms.
func refused(status int, body []byte) error {
	var form struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if xml.Unmarshal(body, &form) == nil && form.Code != "" {
		return &refusal{form.Code, form.Message}
	}
	var object struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &object) == nil && object.Type != "" {
		return &refusal{object.Type[strings.LastIndexByte(object.Type, '#')+1:], object.Message}
	}
	return fmt.Errorf("status %d: %.200s", status, body)
}
