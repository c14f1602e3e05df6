package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"growthworkspace/infra"
)

// plan contains the steps of a deploy and the state from which they were planned.
type plan struct {
	evolution
	steps          []step
	deployed, next template // deployed is nil for a new stack
	releasesTable  bool     // whether the operator chose a table other than the stack's own
}

// plan compares the deployed version and the table with the new version.
func (d *deployer) plan(ctx context.Context, s deployedStack, next template) (p plan, err error) {
	p.next, p.awsFlags = next, d.awsFlags()
	if p.wantedIndexes, err = next.indexes(); err != nil {
		return p, err
	}
	managedTable := "" // the name of the table that the stack manages
	if s.isUpgradable() {
		if p.deployed, err = d.account.template(ctx, d.stack); err != nil {
			return p, err
		}
		if p.deployedIndexes, err = p.deployed.indexes(); err != nil {
			return p, err
		}
		if managedTable, err = d.account.stackResource(ctx, d.stack, infra.TableID); err != nil {
			return p, err
		}
	}
	chosen := d.value(s, infra.ParamTable)
	p.managed = chosen == "" || chosen == managedTable
	p.releasesTable = managedTable != "" && !p.managed
	if name := valueOr(chosen, managedTable); name != "" {
		if p.table, err = d.account.table(ctx, name); err != nil {
			return p, err
		}
		if !p.table.exists() {
			return p, fmt.Errorf("the table %s of the stack %s does not exist", name, d.stack)
		}
	}
	if p.steps, err = p.evolution.steps(); err != nil {
		return p, err
	}
	if changed := d.changedThroughput(s); len(changed) > 0 && len(p.steps) > 1 {
		return p, fmt.Errorf("DynamoDB makes one kind of change to a table at a time, and this version changes its indexes: first deploy without %s", changed[0].name)
	}
	return p, nil
}

// print lists the steps if there is more than one. It also prints notes on the table's indexes.
func (p plan) print(d *deployer) {
	if len(p.steps) > 1 {
		fmt.Fprintf(d.out, "\nThe indexes of the table %s change, so there are %d steps:\n", p.table.name, len(p.steps))
		for n, s := range p.steps {
			fmt.Fprintf(d.out, "  %d. %s\n", n+1, s)
		}
	}
	if slices.ContainsFunc(p.steps, func(s step) bool { return s.kind == addIndex }) {
		fmt.Fprintln(d.out, "DynamoDB fills a new index while the table is in use: this takes minutes to hours, and costs a write for each record in it.")
	}
	for _, name := range p.foreignIndexes() {
		fmt.Fprintf(d.out, "note      the index %s of the table %s belongs to neither version\n", name, p.table.name)
	}
}

// template returns the template that a step deploys.
func (p plan) template(s step) (template, error) {
	switch {
	case s.kind == addIndex:
		return p.deployed.withIndexes(s.indexes)
	case len(s.indexes) == len(p.wantedIndexes):
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
	t, err := p.template(s)
	if err != nil {
		return err
	}
	check := func(c changeSet) error { return p.checkStep(c, s, t) }
	if s.kind == deployStack {
		if p.table.exists() {
			if err := d.waitForTable(ctx, p.table.name, describeMissing(p.wantedIndexes)); err != nil {
				return err
			}
		}
		before, err := d.readCurrentVersion(ctx)
		if err != nil {
			return err
		}
		if err := d.deployTemplate(ctx, t, check, d.parameters.flags(d.stack)...); err != nil {
			return err
		}
		return d.checkRollout(ctx, before)
	}
	if err := d.waitForTable(ctx, p.table.name, tableState.pendingChanges); err != nil {
		return err
	}
	if err := d.deployTemplate(ctx, t, check); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return d.waitForTable(ctx, p.table.name, func(t tableState) string {
		if s.kind == addIndex {
			if reason := describeMissing([]index{s.index})(t); reason != "" {
				return reason // the response may be older than the update
			}
		}
		return t.pendingChanges()
	})
}

// checkStep returns an error if the change set of a step must not be executed.
func (p plan) checkStep(c changeSet, s step, t template) error {
	if p.deployed == nil {
		return nil // everything is new
	}
	if s.kind != deployStack {
		if err := c.checkOnlyTableChanges(); err != nil {
			return err
		}
	}
	return c.check(p.deployed, t, p.releasesTable && s.kind == deployStack)
}

// deployTemplate creates a change set from a template and executes it, unless check returns an
// error.
func (d *deployer) deployTemplate(ctx context.Context, t template, check func(changeSet) error, flags ...string) error {
	c, err := d.prepareChangeSet(ctx, t, flags...)
	if err != nil {
		return err
	}
	if c.isEmpty {
		fmt.Fprintln(d.out, "stack     (no changes)")
		return d.account.deleteChangeSet(ctx, d.stack)
	}
	if err := check(c); err != nil {
		if e := d.account.deleteChangeSet(ctx, d.stack); e != nil {
			return fmt.Errorf("%w\n%w", err, e)
		}
		return err
	}
	d.announce("updating the stack")
	if err := d.runOnAssembly(ctx, "deploy", "--require-approval", "never", "--method", "execute-change-set", "--change-set-name", changeSetName); err != nil {
		return d.deployError(err)
	}
	return nil
}

// prepareChangeSet uploads a template and the files that it refers to, and creates a change set for
// it.
func (d *deployer) prepareChangeSet(ctx context.Context, t template, flags ...string) (changeSet, error) {
	if err := d.replaceTemplate(t); err != nil {
		return changeSet{}, err
	}
	d.announce("creating a change set")
	args := []string{"--require-approval", "never", "--method", "prepare-change-set", "--change-set-name", changeSetName}
	// The CDK reports a change set like a deploy that is complete, so show its output only after an
	// error.
	shown, hidden := d.errOut, &bytes.Buffer{}
	d.errOut = hidden
	err := d.runOnAssembly(ctx, "deploy", append(args, flags...)...)
	if d.errOut = shown; err != nil {
		return changeSet{}, d.deployError(fmt.Errorf("%s%w", hidden, err))
	}
	return d.account.changeSet(ctx, d.stack)
}

// showChanges shows what a deploy would change, and returns an error if the deploy would be refused.
// It creates a change set and deletes it again.
func (d *deployer) showChanges(ctx context.Context, p plan, prepared bool) error {
	if p.deployed == nil || !prepared {
		fmt.Fprintln(d.out, "\nThere is no change set: everything is new, or the account is not prepared for the CDK.")
		return nil
	}
	s := p.steps[slices.IndexFunc(p.steps, func(s step) bool { return s.kind == deployStack })]
	t, err := p.template(s)
	if err != nil {
		return err
	}
	c, err := d.prepareChangeSet(ctx, t, d.parameters.flags(d.stack)...)
	if err != nil {
		return err
	}
	if err := d.account.deleteChangeSet(ctx, d.stack); err != nil {
		return err
	}
	if err := d.runOnAssembly(ctx, "diff", "--method", "template"); err != nil {
		return err
	}
	return p.checkStep(c, s, t)
}
