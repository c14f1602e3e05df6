package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/shared/table"
)

// iamVersion and stsVersion are the API versions of IAM and STS.
const (
	iamVersion = "2010-05-08"
	stsVersion = "2011-06-15"
)

// After a role is created, it takes some seconds until the role can be assumed and its policy takes
// effect.
const (
	roleAttempts = 30
	rolePause    = 2 * time.Second
)

// probeRole is a short-lived role with the policy of a function's role.
type probeRole struct {
	function infra.Function
	name     string
	account  *account // with the role's credentials
}

// checkRoleAllowed tries one call in each area that a function serves. The operations of the
// function make the same call.
func checkRoleAllowed(ctx context.Context, a *acceptance) error {
	return a.eachRole(ctx, func(r probeRole) error {
		for _, g := range r.function.Grants {
			if !slices.Contains(g.Actions, "GetItem") || len(g.TransactionAreas) > 0 {
				continue
			}
			if err := a.retry(ctx, func() error { return a.getItem(ctx, r.account, g.Area) }); err != nil {
				return fmt.Errorf("the role of %s may not read its area %s: %w", r.function.Name, g.Area, err)
			}
		}
		return nil
	})
}

// checkRoleDenied tries calls that no function needs. It fails if AWS allows any of them.
func checkRoleDenied(ctx context.Context, a *acceptance) error {
	return a.eachRole(ctx, func(r probeRole) error {
		ownArea := r.function.Grants[0].Area
		if err := a.retry(ctx, func() error { return a.getItem(ctx, r.account, ownArea) }); err != nil { // until the policy takes effect
			return fmt.Errorf("the role of %s: %w", r.function.Name, err)
		}
		denied := map[string]func() error{
			"Scan": func() error {
				return r.account.callDynamoDB(ctx, "Scan", map[string]any{"TableName": a.table, "Limit": 1}, &struct{}{})
			},
			"PartiQL": func() error {
				return r.account.callDynamoDB(ctx, "ExecuteStatement", map[string]any{"Statement": fmt.Sprintf(`SELECT * FROM %q WHERE pk = 'none'`, a.table)}, &struct{}{})
			},
		}
		for _, i := range table.Indexes() {
			if !slices.Contains(table.CompanyIndexes(), i) {
				denied["a query of "+i.Name()] = func() error {
					return r.account.callDynamoDB(ctx, "Query", map[string]any{
						"TableName": a.table, "IndexName": i.Name(), "KeyConditionExpression": i.PK() + " = :pk",
						"ExpressionAttributeValues": map[string]any{":pk": map[string]string{"S": "none"}},
					}, &struct{}{})
				}
			}
		}
		for _, area := range functions.All() {
			if !slices.ContainsFunc(r.function.Grants, func(g infra.Grant) bool { return g.Area == area.Name }) {
				denied["reading the area "+area.Name] = func() error { return a.getItem(ctx, r.account, area.Name) }
			}
		}
		for what, call := range denied {
			var refused *awsError
			if err := call(); !errors.As(err, &refused) || refused.code != "AccessDeniedException" {
				return fmt.Errorf("the role of %s may do what it should not, %s: %v", r.function.Name, what, err)
			}
		}
		return nil
	})
}

// getItem tries to read a record that does not exist in the company's partition of an area.
func (a *acceptance) getItem(ctx context.Context, roleAccount *account, area string) error {
	return roleAccount.callDynamoDB(ctx, "GetItem", map[string]any{
		"TableName": a.table, "Key": map[string]any{"pk": map[string]string{"S": table.Partition(a.company, area)}, "sk": map[string]string{"S": "none"}},
	}, &struct{}{})
}

// eachRole creates a role for each function that uses the table, and calls run with each role. It
// deletes the roles even if something fails.
func (a *acceptance) eachRole(ctx context.Context, run func(probeRole) error) (err error) {
	var roles []probeRole
	defer func() {
		for _, r := range roles {
			err = errors.Join(err, a.deleteRole(context.WithoutCancel(ctx), r.name))
		}
	}()
	for _, f := range infra.New().Functions {
		if !f.UsesTable() || f.ReadsStream() {
			continue
		}
		r := probeRole{function: f, name: "smoke-" + f.Name + "-" + strings.ToLower(rand.Text()[:12])}
		roles = append(roles, r)
		if err := a.createRole(ctx, r); err != nil {
			return err
		}
	}
	for _, r := range roles {
		if err := a.retry(ctx, func() (err error) { r.account, err = a.assume(ctx, r.name); return err }); err != nil {
			return err
		}
		if err := run(r); err != nil {
			return err
		}
	}
	return nil
}

// createRole creates a role that this account may assume. The role has the inline policies of the
// function's role.
func (a *acceptance) createRole(ctx context.Context, r probeRole) error {
	from, err := a.account.stackResource(ctx, a.d.stack, r.function.RoleID())
	if err != nil {
		return err
	}
	trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:%s:iam::%s:root"},"Action":"sts:AssumeRole"}]}`,
		a.account.partition(), a.account.id)
	if err := a.account.callIAM(ctx, nil, "CreateRole", "RoleName", r.name, "AssumeRolePolicyDocument", trust, "MaxSessionDuration", "3600"); err != nil {
		return err
	}
	var policies struct {
		Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
	}
	if err := a.account.callIAM(ctx, &policies, "ListRolePolicies", "RoleName", from); err != nil {
		return err
	}
	for _, name := range policies.Names {
		var policy struct {
			Document string `xml:"GetRolePolicyResult>PolicyDocument"`
		}
		if err := a.account.callIAM(ctx, &policy, "GetRolePolicy", "RoleName", from, "PolicyName", name); err != nil {
			return err
		}
		document, err := url.QueryUnescape(policy.Document)
		if err != nil {
			return fmt.Errorf("the policy %s of %s: %w", name, from, err)
		}
		if err := a.account.callIAM(ctx, nil, "PutRolePolicy", "RoleName", r.name, "PolicyName", name, "PolicyDocument", document); err != nil {
			return err
		}
	}
	return nil
}

// deleteRole deletes a role and its policies. It is not an error if the role does not exist.
func (a *acceptance) deleteRole(ctx context.Context, name string) error {
	var policies struct {
		Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
	}
	err := a.account.callIAM(ctx, &policies, "ListRolePolicies", "RoleName", name)
	for _, policy := range policies.Names {
		err = errors.Join(err, a.account.callIAM(ctx, nil, "DeleteRolePolicy", "RoleName", name, "PolicyName", policy))
	}
	if err == nil {
		err = a.account.callIAM(ctx, nil, "DeleteRole", "RoleName", name)
	}
	var refused *awsError
	if err != nil && !(errors.As(err, &refused) && refused.code == "NoSuchEntity") {
		return fmt.Errorf("the role %s of the checks is still there: %w", name, err)
	}
	return nil
}

// callIAM calls IAM, which has one endpoint for all regions of a partition. pairs alternates
// between the names and the values of the request's parameters.
func (a *account) callIAM(ctx context.Context, out any, action string, pairs ...string) error {
	form := url.Values{"Action": {action}}
	for n := 0; n < len(pairs); n += 2 {
		form.Set(pairs[n], pairs[n+1])
	}
	if out == nil {
		out = &struct{}{}
	}
	global := *a
	if !a.isEmulated() {
		global.config.Region = map[string]string{"aws": "us-east-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"}[a.partition()]
	}
	if err := global.callQueryAPI(ctx, "iam", iamVersion, form, out); err != nil {
		return fmt.Errorf("iam %s: %w", action, err)
	}
	return nil
}

// partition returns the partition of the account's region, such as "aws".
func (a *account) partition() string {
	switch {
	case strings.HasPrefix(a.config.Region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(a.config.Region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// assume returns a copy of the account that uses the credentials of the role.
func (a *acceptance) assume(ctx context.Context, role string) (*account, error) {
	var response struct {
		Credentials struct{ AccessKeyId, SecretAccessKey, SessionToken string } `xml:"AssumeRoleResult>Credentials"`
	}
	err := a.account.callQueryAPI(ctx, "sts", stsVersion, url.Values{
		"Action": {"AssumeRole"}, "RoleArn": {fmt.Sprintf("arn:%s:iam::%s:role/%s", a.account.partition(), a.account.id, role)}, "RoleSessionName": {"smoke"},
	}, &response)
	if err != nil {
		return nil, fmt.Errorf("assume the role %s: %w", role, err)
	}
	roleAccount, c := *a.account, response.Credentials
	roleAccount.config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: c.AccessKeyId, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, nil
	})
	return &roleAccount, nil
}

// retry calls a function until it succeeds, because IAM takes some seconds to propagate a change.
func (a *acceptance) retry(ctx context.Context, run func() error) error {
	for n := 1; ; n++ {
		err := run()
		if err == nil || n == roleAttempts || ctx.Err() != nil {
			return err
		}
		if err := a.d.pause(ctx, rolePause); err != nil {
			return err
		}
	}
}
