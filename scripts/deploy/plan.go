package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/infra"
)

// plan contains the steps of a deploy and the state from which they were planned.
type plan struct {
	evolution
	steps          []step
	deployed, next template // deployed is nil for a new stack
	updates        []update // the updates in the step deployStack: more than one if the stack switches to a different table
	releasesTable  bool     // whether the operator chose a table other than the stack's own
}

// plan compares the deployed version and the table with the new version.
func (d *deployer) plan(ctx context.Context, s deployedStack, next template) (p plan, err error) {
	p.next = next
	if p.wantedIndexes, err = next.indexes(); err != nil {
		return p, err
	}
	managedTable := "" // the name of the table that the stack manages
	if s.exists() && !s.neverDeployed() {
		if p.deployed, err = d.account.template(ctx, d.stack); err != nil {
			return p, err
		}
		if p.evolution.deployedIndexes, err = p.deployed.indexes(); err != nil {
			return p, err
		}
		if managedTable, err = d.account.stackResource(ctx, d.stack, infra.TableID); err != nil {
			return p, err
		}
	}
	chosen, ok := d.parameters.lookup(infra.ParamTable)
	if !ok {
		chosen = s.parameter(infra.ParamTable)
	}
	name := valueOr(chosen, managedTable)
	p.managed = chosen == "" || chosen == managedTable
	p.releasesTable = managedTable != "" && !p.managed
	if name != "" {
		if p.table, err = d.account.table(ctx, name); err != nil {
			return p, err
		}
		if !p.table.exists() {
			return p, fmt.Errorf("the table %s of the stack %s does not exist", name, d.stack)
		}
	}
	if p.updates, err = d.updates(s); err != nil {
		return p, err
	}
	p.steps, err = p.evolution.steps()
	return p, err
}

// print lists the steps if there is more than one. It also prints notes on the table's indexes.
func (p plan) print(d *deployer) {
	if len(p.steps) > 1 {
		fmt.Fprintf(d.out, "\nThe indexes of the table %s change, so there are %d steps:\n", p.table.name, len(p.steps))
		for n, s := range p.steps {
			fmt.Fprintf(d.out, "  %d. %s\n", n+1, s)
		}
	}
	if slices.ContainsFunc(p.steps, func(s step) bool { return len(s.indexAdded()) > 0 }) {
		fmt.Fprintln(d.out, "DynamoDB fills a new index while the table is in use: this takes minutes to hours, and costs a write for each record in it.")
	}
	for _, name := range p.foreignIndexes() {
		fmt.Fprintf(d.out, `note      the index %[1]s of the table %[2]s belongs to neither version. If a rolled-back update left it behind, remove it:
          aws dynamodb update-table%[3]s --table-name %[2]s --global-secondary-index-updates '[{"Delete":{"IndexName":"%[1]s"}}]'
`, name, p.table.name, d.awsFlags())
	}
}

// template returns the template that a step deploys.
func (p plan) template(s step) (template, error) {
	if s.kind == addIndex {
		return p.deployed.withIndexes(s.indexes)
	}
	if len(s.indexes) == len(p.wantedIndexes) {
		return p.next, nil
	}
	return p.next.withIndexes(s.indexes)
}

// run performs the steps of a plan.
func (d *deployer) run(ctx context.Context, p plan) error {
	for n, s := range p.steps {
		if len(p.steps) > 1 {
			fmt.Fprintf(d.out, "\nstep %d    %s\n", n+1, s)
		}
		if err := d.runStep(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

func (d *deployer) runStep(ctx context.Context, p plan, s step) error {
	table := p.table.name
	if s.kind == deployStack {
		if table != "" {
			if err := d.waitForTable(ctx, table, describeMissing(p.wantedIndexes)); err != nil {
				return err
			}
		}
		before, err := d.readCurrentVersion(ctx)
		if err != nil {
			return err
		}
		if err := d.runUpdates(ctx, p, s); err != nil {
			return err
		}
		return d.checkRollout(ctx, before)
	}
	if s.kind == deleteTableIndex {
		return d.removeTableIndex(ctx, table, s.index.name)
	}
	if err := d.waitForTable(ctx, table, tableState.pendingChanges); err != nil {
		return err
	}
	var err error
	switch s.kind {
	case createTableIndex:
		err = d.account.createIndex(ctx, table, s.index)
	default:
		err = d.updateStack(ctx, p, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return d.waitForTable(ctx, table, func(t tableState) string {
		if reason := describeMissing(s.indexAdded())(t); reason != "" {
			return reason // the response may be older than the update
		}
		return t.pendingChanges()
	})
}

// removeTableIndex removes an index of the table with UpdateTable. DynamoDB can delete an index
// while it is backfilling it, but not before the backfilling has started.
func (d *deployer) removeTableIndex(ctx context.Context, table, name string) error {
	err := d.waitForTable(ctx, table, func(t tableState) string {
		i, ok := t.index(name)
		if ok && i.status == "CREATING" && i.backfilling {
			return ""
		}
		return t.pendingChanges()
	})
	if err != nil {
		return err
	}
	t, err := d.account.table(ctx, table)
	if err != nil {
		return err
	}
	if _, ok := t.index(name); ok {
		if err := d.account.deleteIndex(ctx, table, name); err != nil {
			return fmt.Errorf("remove the index %s of the table %s: %w", name, table, err)
		}
	}
	return d.waitForTable(ctx, table, tableState.pendingChanges)
}

// updateStack deploys the template of a step.
func (d *deployer) updateStack(ctx context.Context, p plan, s step) error {
	t, err := p.template(s)
	if err != nil {
		return err
	}
	return d.deployTemplate(ctx, t, func(c changeSet) error { return c.checkStep(p, s, t) }, d.flags(s)...)
}

// flags returns the CDK's flags for a step. Only the step that deploys the new version changes
// parameters.
func (d *deployer) flags(s step) []string {
	if s.kind != deployStack {
		return nil
	}
	return d.parameters.flags(d.stack)
}

// API Gateway creates a few resources a second for a whole account, and a new stack has more than a
// hundred. CloudFormation retries a throttled request, but not forever.
const (
	createAttempts = 3
	createPause    = time.Minute
)

// deployTemplate creates a change set from a template and executes it, unless check returns an
// error. If the creation of the stack failed because AWS throttled it, deployTemplate tries again.
// The CDK then first deletes what is left of the stack.
func (d *deployer) deployTemplate(ctx context.Context, t template, check func(changeSet) error, flags ...string) error {
	for n := 1; ; n++ {
		err := d.executeTemplate(ctx, t, check, flags...)
		if err == nil || n == createAttempts || ctx.Err() != nil || !d.creationThrottled(ctx) {
			return err
		}
		fmt.Fprintf(d.out, "retry     in a minute, because AWS throttled the creation of the stack\n")
		if d.pause(ctx, createPause) != nil {
			return err
		}
	}
}

// creationThrottled reports whether the first deploy of the stack failed and was rolled back
// because AWS throttled the creation of a resource. It returns false if that is unknown.
func (d *deployer) creationThrottled(ctx context.Context) bool {
	s, err := d.account.stack(ctx, d.stack)
	if err != nil || !s.neverDeployed() {
		return false
	}
	reasons, err := d.account.creationFailures(ctx, d.stack)
	return err == nil && slices.ContainsFunc(reasons, isThrottling)
}

// isThrottling reports whether the reason for a failed resource is that AWS throttled its creation.
func isThrottling(reason string) bool {
	for _, text := range []string{"TooManyRequests", "Too Many Requests", "Throttling", "Rate exceeded"} {
		if strings.Contains(reason, text) {
			return true
		}
	}
	return false
}

func (d *deployer) executeTemplate(ctx context.Context, t template, check func(changeSet) error, flags ...string) error {
	c, err := d.prepareChangeSet(ctx, t, flags...)
	if err != nil {
		return err
	}
	if c.isEmpty() {
		fmt.Fprintln(d.out, "stack     (no changes)")
		return d.account.deleteChangeSet(ctx, d.stack)
	}
	if err := check(c); err != nil {
		if e := d.account.deleteChangeSet(ctx, d.stack); e != nil {
			return fmt.Errorf("%w\n%w", err, e)
		}
		return err
	}
	fmt.Fprintf(d.out, "changes   %s\n", c.summary())
	d.announce("updating the stack")
	if err := d.runCDK(ctx, "deploy", d.stack, "--require-approval", "never", "--method", "execute-change-set", "--change-set-name", changeSetName); err != nil {
		return d.deployError(err)
	}
	return nil
}

// checkStep returns an error if the change set of a step must not be executed.
func (c changeSet) checkStep(p plan, s step, t template) error {
	if p.deployed == nil {
		return nil // everything is new
	}
	if s.kind != deployStack {
		if err := c.checkOnlyTableChanges("Modify"); err != nil {
			return err
		}
	}
	return c.check(p.deployed, t, p.releasesTable && s.kind == deployStack)
}

// prepareChangeSet uploads a template and the files that it refers to, and creates a change set for
// it.
func (d *deployer) prepareChangeSet(ctx context.Context, t template, flags ...string) (changeSet, error) {
	if err := d.replaceTemplate(t); err != nil {
		return changeSet{}, err
	}
	d.announce("creating a change set")
	args := []string{"deploy", d.stack, "--require-approval", "never", "--method", "prepare-change-set", "--change-set-name", changeSetName}
	if err := d.runCDK(ctx, append(args, flags...)...); err != nil {
		return changeSet{}, d.deployError(err)
	}
	return d.account.changeSet(ctx, d.stack)
}

// printPlanned shows what a deploy would change, without changing anything. It creates a change set
// and deletes it again.
func (d *deployer) printPlanned(ctx context.Context, s deployedStack) error {
	toolkit, err := d.account.stack(ctx, "CDKToolkit")
	if err != nil {
		return err
	}
	d.printIntent(s, toolkit.exists())
	if err := d.prepare(ctx); err != nil {
		return err
	}
	next, err := d.synthesiseTemplate(ctx)
	if err != nil {
		return err
	}
	p, err := d.plan(ctx, s, next)
	if err != nil {
		return err
	}
	p.print(d)
	if p.deployed == nil || !toolkit.exists() {
		fmt.Fprintln(d.out, "\nThere is no change set: everything is new, or the account is not prepared for the CDK.")
		return nil
	}
	n := slices.IndexFunc(p.steps, func(s step) bool { return s.kind == deployStack })
	t, err := p.template(p.steps[n])
	if err != nil {
		return err
	}
	c, err := d.prepareChangeSet(ctx, t, d.flags(p.steps[n])...)
	if err != nil {
		return err
	}
	if err := d.account.deleteChangeSet(ctx, d.stack); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "\nChanges of resources:")
	if c.isEmpty() {
		fmt.Fprintln(d.out, "(no changes)")
	}
	c.print(d.out, true)
	printPolicyChanges(d.out, p.deployed, p.next)
	return c.checkStep(p, p.steps[n], t)
}
