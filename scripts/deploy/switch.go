package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"growthworkspace/infra"
)

// A switch to a different table consists of three updates of the stack. Within an update,
// CloudFormation changes the roles and functions one by one, so the service must also work while an
// update is half complete:
//
//  1. SecondTableName names the new table. The roles may use both tables, and the functions refuse
//     writes with 503.
//  2. ExistingTableName names the new table, and SecondTableName the old one. The functions read
//     from the new table, and the alarms and the feed of changes also use it. The roles may still
//     use both tables.
//  3. SecondTableName is empty. The functions accept writes, and the roles lose access to the old
//     table.
//
// So no call is denied, and no write that is accepted after update 1 goes to the old table. If a
// switch stops, running the same command again continues it, because the parameters of the stack
// show how far it got. Until then the service reads from one of the tables or from both, and
// refuses writes.

// update is one update of the stack in the step deployStack.
type update struct {
	what       string // a description; empty for an update that is not part of a switch
	parameters settings
}

// updates returns the updates that deploy the new version with the chosen parameters.
func (d *deployer) updates(s deployedStack) ([]update, error) {
	old, second := s.output("TableName"), s.parameter(infra.ParamSecondTable)
	table, chosen := d.parameters.lookup(infra.ParamTable)
	switch {
	case !s.exists() || s.neverDeployed() || old == "":
		return []update{{"", d.parameters}}, nil
	case second != "" && !chosen && !d.keepsTable:
		return nil, fmt.Errorf(`the stack %[1]s is in the middle of a switch from one table to another, and refuses writes.
It uses %[2]s, and may also use %[3]s. To finish the switch, choose one of them:
  go run ./scripts/deploy%[4]s --stack %[1]s --table %[2]s
  go run ./scripts/deploy%[4]s --stack %[1]s --table %[3]s`, d.stack, old, second, d.awsFlags())
	case !chosen || table == old:
		if second == "" {
			return []update{{"", d.parameters}}, nil
		}
		return []update{{"accept writes", d.parameters.with(infra.ParamSecondTable, "")}}, nil
	}
	var out []update
	if second != table {
		oldTableParameters := d.parameters.without(infra.ParamTable, infra.ParamTableStream, infra.ParamAdopted)
		out = append(out, update{"refuse writes, and allow the use of both tables", oldTableParameters.with(infra.ParamSecondTable, table)})
	}
	newTableParameters := d.parameters.with(infra.ParamSecondTable, old).with(infra.ParamAdopted, "no")
	last := "accept writes"
	if d.value(s, infra.ParamWrites) == "off" {
		last = "still refuse writes, because Writes is off"
	}
	return append(out,
		update{"read from " + table, newTableParameters},
		update{last + ", and allow the use of " + table + " only", newTableParameters.with(infra.ParamSecondTable, "")}), nil
}

// requestTimeMax is the maximum time that a request can still run if it started before an update.
const requestTimeMax = infra.TimeoutSeconds * time.Second

// runUpdates runs the updates of the step deployStack.
func (d *deployer) runUpdates(ctx context.Context, p plan, s step) error {
	for n, u := range p.updates {
		if n > 0 && d.pause(ctx, requestTimeMax) != nil {
			return errors.New("interrupted between two updates of the switch: the service refuses writes; run this again")
		}
		if u.what != "" {
			fmt.Fprintf(d.out, "table     update %d of %d: %s\n", n+1, len(p.updates), u.what)
		}
		d.parameters = u.parameters
		if err := d.updateStack(ctx, p, s); err != nil {
			if u.what != "" {
				err = fmt.Errorf("%w\nThe switch of the table is not complete. While the parameter %s is set, the service refuses writes; run this again", err, infra.ParamSecondTable)
			}
			return err
		}
	}
	return nil
}

// checkSwitch returns an error if a switch, or a change that turns writes off or on, could not be
// completed. Until a switch is complete, the functions of the new version use the deployed table.
// So the deployed table must have the indexes that they need.
func (d *deployer) checkSwitch(ctx context.Context, s deployedStack, p plan) error {
	refusesWrites := len(p.updates) > 1 || s.parameter(infra.ParamSecondTable) != "" || s.parameter(infra.ParamWrites) == "off" || d.value(s, infra.ParamWrites) == "off"
	if refusesWrites && d.value(s, infra.ParamRollout) == infra.RolloutCanary {
		return fmt.Errorf("the service refuses writes with 503, so the alarm ServerErrors would roll a canary back: add --param %[1]s=%s, and deploy with --param %[1]s=%s when the service accepts writes again",
			infra.ParamRollout, infra.RolloutAllAtOnce, infra.RolloutCanary)
	}
	if len(p.updates) < 2 {
		return nil
	}
	old, err := d.account.table(ctx, s.output("TableName"))
	if err != nil {
		return err
	}
	if !old.exists() {
		return fmt.Errorf("the table %s of the stack does not exist", s.output("TableName"))
	}
	for _, i := range p.evolution.deployedIndexes {
		if !containsIndex(p.wantedIndexes, i.name) {
			return fmt.Errorf("this version removes the index %s: deploy it first without --table, then switch to the other table", i.name)
		}
	}
	if lacking := describeMissing(p.wantedIndexes)(old); lacking != "" {
		return fmt.Errorf("this version needs an index that the table %s lacks (%s): deploy it first without --table, then switch to the other table", old.name, lacking)
	}
	return nil
}
