package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"

	"growthworkspace/functions/openapi"
	"growthworkspace/infra"
)

// An update of the stack moves all requests to the new version. Then the read-only checks in
// smoke.go run. If a check fails, the stack is updated back to its earlier template and parameters.
// CloudFormation then publishes the earlier code again and moves the aliases, so the stack's
// template describes the version that runs. Moving the aliases without CloudFormation would restore
// the earlier version a minute or two sooner, but the next update of the stack would not know about
// it.

// earlierVersion is the state of the stack before an update.
type earlierVersion struct {
	stack    deployedStack
	template template
	document []byte // the OpenAPI document that the earlier version served; nil if unknown
}

// readCurrentVersion reads the state of the stack before an update. It returns nil if no version is
// deployed.
func (d *deployer) readCurrentVersion(ctx context.Context) (*earlierVersion, error) {
	stack, err := d.account.stack(ctx, d.stack)
	if err != nil || !stack.exists() || stack.neverDeployed() {
		return nil, err
	}
	before := &earlierVersion{stack: stack}
	if before.template, err = d.account.template(ctx, d.stack); err != nil {
		return nil, err
	}
	s, err := d.newSmoke(ctx)
	if err != nil {
		return nil, err
	}
	if got, err := s.request(ctx, http.MethodGet, openapi.DocumentPath, ""); err == nil && got.status == http.StatusOK {
		before.document = got.body
	}
	return before, nil
}

// checkRollout runs the read-only checks after an update of the stack. If a check fails, it reverts
// the stack to the earlier version and returns an error.
func (d *deployer) checkRollout(ctx context.Context, before *earlierVersion) error {
	currentStack, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if currentStack.parameter(infra.ParamConcurrency) == "0" {
		fmt.Fprintln(d.out, "checked   nothing: the service is stopped (ReservedConcurrency=0)")
		return nil
	}
	s, err := d.newSmoke(ctx)
	if err != nil {
		return err
	}
	s.dist = filepath.Join(d.root, "dist")
	if s.document, err = os.ReadFile(filepath.Join(d.root, "functions", "openapi", "openapi.json")); err != nil {
		return err
	}
	fmt.Fprintln(d.out)
	failure := d.runChecks(ctx, s, readOnlyChecks())
	switch {
	case failure == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted: the new version is deployed, and not all checks have run")
	case errors.Is(failure, errUnreachable):
		return fmt.Errorf("the new version is deployed, but could not be checked: %w\nIf it responds elsewhere, there is nothing to do; otherwise deploy the earlier version", failure)
	}
	return d.rollBack(ctx, before, currentStack, failure)
}

// rollBack reverts the stack to the earlier version. It always returns an error, which says what
// failed and which version is running now.
func (d *deployer) rollBack(ctx context.Context, before *earlierVersion, currentStack deployedStack, failure error) error {
	deployed, err := d.account.template(ctx, d.stack)
	if err != nil {
		return fmt.Errorf("the new version is deployed and does not work: %w\nIt is still running: %w", failure, err)
	}
	if reason := before.rollbackBlocker(currentStack, deployed); reason != "" {
		return fmt.Errorf("the new version is deployed and does not work: %w\nIt is still running: %s", failure, reason)
	}
	fmt.Fprintf(d.out, "failed    %s\nrollback  to the earlier version: its template and its parameters\n", failure)
	check := func(c changeSet) error { return c.check(deployed, before.template, false) }
	if err := d.deployTemplate(ctx, before.template, check, before.parameters().flags(d.stack)...); err != nil {
		return fmt.Errorf("the new version does not work: %w\nand the rollback failed: %w", failure, err)
	}
	if before.stack.parameter(infra.ParamConcurrency) == "0" {
		return fmt.Errorf("the new version does not work: %w\nThe stack is back at the earlier version, which is stopped, as before (%s=0)", failure, infra.ParamConcurrency)
	}
	s, err := d.newSmoke(ctx)
	if err == nil {
		s.document = before.document
		err = d.runChecks(ctx, s, before.checks())
	}
	if err != nil {
		return fmt.Errorf("the new version does not work: %w\nThe stack is back at the earlier version, which does not work either: %w", failure, err)
	}
	text := "The stack is back at the earlier version, which works. Nothing of the new version is left"
	if other := before.stack.parameter(infra.ParamSecondTable); other != "" {
		text += fmt.Sprintf(".\nThe switch of the table is not complete, so the service refuses writes, as before: the parameter %s is %s", infra.ParamSecondTable, other)
	}
	if value, changed := before.rolloutChange(); changed {
		text += fmt.Sprintf(".\nThe rollback set the parameter %[1]s to %[2]s, so that it took effect at once. Pass --param %[1]s=%[3]s to the next deploy", infra.ParamRollout, infra.RolloutAllAtOnce, value)
	}
	return fmt.Errorf("the new version does not work: %w\n%s", failure, text)
}

// rollbackBlocker returns the reason why the stack cannot be reverted without a decision by the
// operator, or an empty string.
func (v *earlierVersion) rollbackBlocker(currentStack deployedStack, deployed template) string {
	if v == nil {
		return "there is no earlier version to roll back to. Fix the cause, and deploy again"
	}
	switch {
	case reflect.DeepEqual(v.stack.Parameters, currentStack.Parameters) && reflect.DeepEqual(v.template, deployed):
		return "the update has changed nothing, so the earlier version is the same"
	case v.stack.output("TableName") != currentStack.output("TableName"):
		return "the update has also changed the table that the service uses, from " + v.stack.output("TableName") + " to " + currentStack.output("TableName") +
			". Decide which table has the right records, then deploy the earlier version with --table"
	}
	earlier, err := v.template.indexes()
	if err != nil {
		return err.Error()
	}
	current, err := deployed.indexes()
	if err != nil {
		return err.Error()
	}
	for _, i := range current {
		if !containsIndex(earlier, i.name) {
			return "the earlier version does not have the index " + i.name + ", so a rollback would remove it. Fix the new version, or deploy the earlier one"
		}
	}
	return ""
}

// parameters returns the parameters of the earlier version, but without a canary. With a canary,
// most requests would still go to the version that does not work until the canary ends.
func (v *earlierVersion) parameters() (out settings) {
	for _, p := range v.stack.Parameters {
		if p.Parameter == "BootstrapVersion" { // the CDK's own parameter; its value names a Systems Manager parameter
			continue
		}
		value := p.Value
		if _, changed := v.rolloutChange(); changed && p.Parameter == infra.ParamRollout {
			value = infra.RolloutAllAtOnce
		}
		out = append(out, setting{p.Parameter, value})
	}
	return out
}

// rolloutChange returns the earlier value of the Rollout parameter, and reports whether reverting
// the stack changes it.
func (v *earlierVersion) rolloutChange() (value string, changed bool) {
	value = v.stack.parameter(infra.ParamRollout)
	return value, value == infra.RolloutCanary
}

// checks returns the read-only checks that the earlier version can pass. A version without aliases
// would fail the check of the aliases.
func (v *earlierVersion) checks() []smokeCheck {
	checks := readOnlyChecks()
	if v.template.resource(infra.New().Functions[0].AliasID()) == nil {
		return checks[1:]
	}
	return checks
}
