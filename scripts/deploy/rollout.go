package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/infra"
)

// An update of the stack moves all requests to the new version. Then the checks in smoke.go run. If
// a check fails, the stack is updated back to its earlier template and parameters. CloudFormation
// then publishes the earlier code again and moves the aliases, so the stack's template describes the
// version that runs. With Rollout=canary, CodeDeploy itself moves the aliases back on an alarm.

// earlierVersion is the state of the stack before an update.
type earlierVersion struct {
	stack    deployedStack
	template template
}

// readCurrentVersion reads the state of the stack before an update. It returns nil if no version is
// deployed.
func (d *deployer) readCurrentVersion(ctx context.Context) (*earlierVersion, error) {
	stack, err := d.account.stack(ctx, d.stack)
	if err != nil || !stack.isUpgradable() {
		return nil, err
	}
	t, err := d.account.template(ctx, d.stack)
	return &earlierVersion{stack, t}, err
}

// checkRollout runs the checks after an update of the stack. If a check fails, it reverts the stack
// to the earlier version and returns an error.
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
	if d.from == "" { // otherwise the clone may have other sources
		if s.document, err = os.ReadFile(filepath.Join(d.root, "functions", "openapi", "openapi.json")); err != nil {
			return err
		}
	}
	fmt.Fprintln(d.out)
	failure := d.runChecks(ctx, s)
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
	failure = fmt.Errorf("the new version is deployed and does not work: %w", failure)
	deployed, err := d.account.template(ctx, d.stack)
	if err != nil {
		return fmt.Errorf("%w\nIt is still running: %w", failure, err)
	}
	if reason := before.rollbackBlocker(currentStack, deployed); reason != "" {
		return fmt.Errorf("%w\nIt is still running: %s", failure, reason)
	}
	fmt.Fprintf(d.out, "failed    %s\nrollback  to the earlier version: its template and its parameters\n", failure)
	check := func(c changeSet) error { return c.check(deployed, before.template, false) }
	if err := d.deployTemplate(ctx, before.template, check, before.parameters().flags(d.stack)...); err != nil {
		return fmt.Errorf("%w\nand the rollback failed: %w", failure, err)
	}
	text := "The stack is back at the earlier version"
	if before.stack.parameter(infra.ParamConcurrency) == "0" {
		text += fmt.Sprintf(", which is stopped, as before (%s=0)", infra.ParamConcurrency)
	} else {
		s, err := d.newSmoke(ctx) // without the document of the new version
		if err == nil {
			err = d.runChecks(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%w\n%s, which does not work either: %w", failure, text, err)
		}
		text += ", which works. Nothing of the new version is left"
	}
	if other := before.stack.parameter(infra.ParamSecondTable); other != "" {
		text += fmt.Sprintf(".\nThe switch of the table is not complete, so the service refuses writes, as before: the parameter %s is %s", infra.ParamSecondTable, other)
	}
	if before.hasCanary() {
		text += fmt.Sprintf(".\nThe rollback set the parameter %[1]s to %[2]s, so that it took effect at once. Pass --param %[1]s=%[3]s to the next deploy", infra.ParamRollout, infra.RolloutAllAtOnce, infra.RolloutCanary)
	}
	return fmt.Errorf("%w\n%s", failure, text)
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

func (v *earlierVersion) hasCanary() bool {
	return v.stack.parameter(infra.ParamRollout) == infra.RolloutCanary
}

// parameters returns the parameters of the earlier version, but without a canary. With a canary,
// most requests would still go to the version that does not work until the canary ends.
func (v *earlierVersion) parameters() (out settings) {
	for _, p := range v.stack.Parameters {
		if name := aws.ToString(p.ParameterKey); name != "BootstrapVersion" { // the CDK's own parameter; its value names a Systems Manager parameter
			out = append(out, setting{name, aws.ToString(p.ParameterValue)})
		}
	}
	if v.hasCanary() {
		out = out.with(infra.ParamRollout, infra.RolloutAllAtOnce)
	}
	return out
}
