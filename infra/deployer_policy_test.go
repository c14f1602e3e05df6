package infra_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// runbookPolicy returns the policy in the runbook's code block of the given kind.
func runbookPolicy(t *testing.T, kind string) policy {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json " + kind + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("RUNBOOK.md has no policy of the kind %s", kind)
	}
	replacer := strings.NewReplacer("REGION", "eu-central-1", "ACCOUNT", "111122223333")
	var document map[string]any
	if err := json.Unmarshal([]byte(replacer.Replace(string(block[1]))), &document); err != nil {
		t.Fatalf("the policy %s in RUNBOOK.md: %v", kind, err)
	}
	return parsePolicy(t, "RUNBOOK.md", document)
}

const (
	deployedStackARN = "arn:aws:cloudformation:eu-central-1:111122223333:stack/growth-workspace/1"
	deployedTableARN = "arn:aws:dynamodb:eu-central-1:111122223333:table/growth-workspace-Table-1"
)

// deployerResources maps each request that scripts/deploy may send to the resources that the
// request accesses. GetCallerIdentity is left out because AWS allows everyone to call it.
var deployerResources = map[string][]string{
	"cloudformation:DescribeStacks":        {deployedStackARN, "arn:aws:cloudformation:eu-central-1:111122223333:stack/CDKToolkit/1"},
	"cloudformation:DescribeStackResource": {deployedStackARN},
	"cloudformation:GetTemplate":           {deployedStackARN},
	"cloudformation:DescribeChangeSet":     {deployedStackARN},
	"cloudformation:DeleteChangeSet":       {deployedStackARN},
	"dynamodb:DescribeTable":               {deployedTableARN},
	"lambda:GetAccountSettings":            {"*"},
	"apigateway:GET":                       {"arn:aws:apigateway:eu-central-1::/account"},
}

// cdkRoles lists the roles that the CDK's command line program assumes for scripts/deploy.
func cdkRoles() (out []string) {
	for _, name := range []string{"deploy", "file-publishing", "lookup"} {
		out = append(out, "arn:aws:iam::111122223333:role/cdk-hnb659fds-"+name+"-role-111122223333-eu-central-1")
	}
	return out
}

// clientServices maps the fields of scripts/deploy's account that are clients of the SDK to their
// services.
var clientServices = map[string]string{"stacks": "cloudformation", "tables": "dynamodb", "functions": "lambda", "gateways": "apigateway"}

// sentRequests returns the IAM actions of the requests in the source code of scripts/deploy. It
// leaves out those of the smoke command, which needs the credentials of an operator and an
// administrator. It includes those of smoke.go, the read-only part of the smoke test, because every
// deploy runs it.
func sentRequests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../scripts/deploy/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of scripts/deploy: %v", len(files), err)
	}
	out := map[string]bool{}
	clients := slices.Sorted(maps.Values(clientServices))
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/smoke_") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		find := func(pattern string) [][]string {
			return regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		}
		for _, m := range find(`\.(\w+)\.([A-Z]\w+)\(ctx, &\w+\.`) {
			switch service := clientServices[m[1]]; service {
			case "":
				t.Errorf("%s: this test does not know the client %s", name, m[1])
			case "apigateway":
				out["apigateway:GET"] = true
				if !strings.HasPrefix(m[2], "Get") {
					t.Errorf("%s changes API Gateway: %s", name, m[2])
				}
			default:
				out[service+":"+m[2]] = true
			}
		}
		for _, m := range find(`(\w+)\.New(\w+?)(?:Paginator|Waiter)\(`) {
			out[m[1]+":"+m[2]] = true
		}
		for _, m := range find(`(\w+)\.NewFromConfig\(`) {
			if m[1] != "sts" && !slices.Contains(clients, m[1]) {
				t.Errorf("%s has a client of %s, which this test does not know", name, m[1])
			}
		}
	}
	return out
}

// Ensure the deployer's policy in the runbook allows every request that scripts/deploy sends, and
// allows it to assume the roles of the CDK.
func TestDeployerMayDeploy(t *testing.T) {
	t.Parallel()
	p := runbookPolicy(t, "deployer")
	requests := sentRequests(t)
	if len(requests) < 7 {
		t.Errorf("found only %d kinds of requests in scripts/deploy: %v", len(requests), requests)
	}
	for action := range requests {
		if deployerResources[action] == nil {
			t.Errorf("scripts/deploy needs %s: add it to the deployer's policy in RUNBOOK.md and to deployerResources", action)
		}
		for _, resource := range deployerResources[action] {
			if !p.allows(callAccess{action: action, resource: resource}) {
				t.Errorf("the policy does not allow %s of %s", action, resource)
			}
		}
	}
	for _, role := range cdkRoles() {
		if !p.allows(callAccess{action: "sts:AssumeRole", resource: role}) {
			t.Errorf("the policy does not allow to assume %s", role)
		}
	}
}

// Ensure the deployer's policy allows nothing else: no other action on the same resources, and no
// action on any other resource.
func TestDeployerMayDoNothingElse(t *testing.T) {
	t.Parallel()
	p := runbookPolicy(t, "deployer")
	others := []string{
		"*", deployedStackARN, deployedTableARN, foreignARN, "arn:aws:cloudformation:eu-central-1:111122223333:stack/another/1",
		"arn:aws:lambda:eu-central-1:111122223333:function:another", "arn:aws:iam::111122223333:role/Administrator",
		"arn:aws:iam::111122223333:role/cdk-hnb659fds-cfn-exec-role-111122223333-eu-central-1", "arn:aws:apigateway:eu-central-1::/restapis",
		"arn:aws:cloudformation:us-east-1:111122223333:stack/growth-workspace/1", "arn:aws:s3:::bucket/key",
	}
	resources := append(others, cdkRoles()...)
	actions := []string{
		"sts:AssumeRole", "iam:PassRole", "iam:CreateRole", "iam:PutRolePolicy", "s3:GetObject", "s3:PutObject", "cloudformation:CreateStack",
		"cloudformation:UpdateStack", "cloudformation:DeleteStack", "cloudformation:CreateChangeSet", "cloudformation:ExecuteChangeSet",
		"cloudformation:SetStackPolicy", "lambda:UpdateFunctionCode", "lambda:InvokeFunction", "lambda:GetFunction", "apigateway:PATCH",
		"apigateway:DELETE", "logs:FilterLogEvents", "kms:Decrypt",
	}
	for action, actionResources := range deployerResources {
		resources, actions = append(resources, actionResources...), append(actions, action)
	}
	for _, action := range dynamoActions {
		actions = append(actions, "dynamodb:"+action)
	}
	for _, action := range actions {
		want := slices.Clone(deployerResources[action])
		if action == "sts:AssumeRole" {
			want = cdkRoles()
		}
		for _, resource := range resources {
			allowed := slices.Contains(want, resource) || slices.Contains(want, "*")
			if got := p.allows(callAccess{action: action, resource: resource}); got != allowed {
				t.Errorf("%s of %s is allowed: %t, want %t", action, resource, got, allowed)
			}
		}
	}
}

// Ensure the operator's policy allows the operator's commands every action on records. It must
// allow no action on the table itself or on other tables.
func TestOperatorPolicy(t *testing.T) {
	t.Parallel()
	p := runbookPolicy(t, "operator")
	recordActions := strings.Fields("BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query Scan UpdateItem")
	for _, action := range dynamoActions {
		for resource, isOwn := range map[string]bool{deployedTableARN: true, deployedTableARN + "/index/gsi1": true, foreignARN: false, "*": false} {
			if got, want := p.allows(callAccess{action: "dynamodb:" + action, resource: resource}), isOwn && slices.Contains(recordActions, action); got != want {
				t.Errorf("%s of %s is allowed: %t, want %t", action, resource, got, want)
			}
		}
	}
}

// serviceNames maps the second part of a resource type to the name of the service in the runbook.
var serviceNames = map[string]string{
	"ApiGateway": "API Gateway", "CloudWatch": "CloudWatch", "CodeDeploy": "CodeDeploy", "DynamoDB": "DynamoDB", "IAM": "IAM", "Lambda": "Lambda",
	"Logs": "CloudWatch Logs", "Route53": "Route 53", "SNS": "SNS", "SQS": "SQS", "WAFv2": "WAF",
}

// Ensure the runbook names exactly the services whose resources are in the stack.
func TestRunbookNamesServices(t *testing.T) {
	t.Parallel()
	template := infra.JSON(infra.New().CloudFormation(func(infra.Function) infra.Code { return infra.Code{} })).(map[string]any)
	found := map[string]bool{}
	for id, r := range template["Resources"].(map[string]any) {
		service := strings.Split(r.(map[string]any)["Type"].(string), "::")[1]
		name, known := serviceNames[service]
		if !known {
			t.Errorf("%s is a resource of %s: add it to serviceNames and to RUNBOOK.md", id, service)
		}
		found[name] = true
	}
	text, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "of these services:\n" + strings.Join(slices.Sorted(maps.Keys(found)), ", ") + "."
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), strings.Join(strings.Fields(want), " ")) {
		t.Errorf("RUNBOOK.md should say: %s", want)
	}
}
