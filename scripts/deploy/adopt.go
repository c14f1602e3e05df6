package main

import (
	"context"
	"fmt"
	"slices"

	"growthworkspace/infra"
)

// Adoption turns the existing table that a stack uses into a resource of the stack, so that later
// changes to indexes, time to live and backups apply to it. It consists of two updates:
//
//  1. Add the table to the deployed template, and deploy it with ImportExistingResources.
//     CloudFormation imports a table only if its name is a literal in the template, its
//     DeletionPolicy is Retain, and it belongs to no stack. The resource in the template has the
//     table's actual settings, so the import does not change them.
//  2. Deploy the new version with AdoptedTable=yes. Its template takes the table's
//     name from the parameter ExistingTableName, which already contains that name. CloudFormation
//     changes the settings that differ from the definition.
//
// If the second update fails, the next deploy repeats it, because it finds that the table is a
// resource of the stack.

// adopt adopts the table that the deployed stack uses. It does nothing if the stack created the
// table, or if the adoption is already complete.
func (d *deployer) adopt(ctx context.Context, next template) error {
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	table := s.parameter(infra.ParamTable)
	managedTable, err := d.account.stackResource(ctx, d.stack, infra.TableID)
	if err != nil {
		return err
	}
	switch {
	case table == "" || managedTable == table && s.parameter(infra.ParamAdopted) == "yes":
		fmt.Fprintf(d.out, "adopted   the table %s is a resource of the stack\n", valueOr(table, managedTable))
		return nil
	case managedTable == "":
		fmt.Fprintf(d.out, "adopt     update 1 of 2: import the table %s\n", table)
		if err := d.importTable(ctx, table); err != nil {
			return fmt.Errorf("%w\nThe table %s is used as before, but the stack does not manage it; run this again with --adopt", err, table)
		}
	}
	fmt.Fprintf(d.out, "adopt     update 2 of 2: change what differs from the definition\n")
	d.parameters = settings{{infra.ParamAdopted, "yes"}}
	d.holdDeployedThroughput(s)
	p, err := d.plan(ctx, s, next)
	if err != nil {
		return err
	}
	if err := d.run(ctx, p); err != nil {
		return fmt.Errorf("%w\nThe table %s is a resource of the stack, but the last update of the adoption failed; run this again", err, table)
	}
	return nil
}

// holdDeployedThroughput moves the throughput of the deployed stack to d.throughput. The table does
// not have this throughput yet, and a separate update sets it.
func (d *deployer) holdDeployedThroughput(s deployedStack) {
	for _, name := range infra.ThroughputParameters {
		value := s.parameter(name)
		if value == "" || value == "0" {
			continue
		}
		d.parameters = d.parameters.with(name, "0")
		if _, ok := d.throughput.lookup(name); !ok {
			d.throughput = d.throughput.with(name, value)
		}
	}
}

// importTable imports the existing table into the stack as the resource infra.TableID, and changes
// nothing else.
func (d *deployer) importTable(ctx context.Context, name string) error {
	definition, err := d.account.tableDefinition(ctx, name)
	if err != nil {
		return err
	}
	if definition.BillingMode != "PAY_PER_REQUEST" {
		return fmt.Errorf("the table %[1]s has provisioned capacity: aws dynamodb update-table%[2]s --table-name %[1]s --billing-mode PAY_PER_REQUEST", name, d.awsFlags())
	}
	t, err := d.account.template(ctx, d.stack)
	if err != nil {
		return err
	}
	resources, ok := t["Resources"].(map[string]any)
	if !ok {
		return fmt.Errorf("the template of the stack %s has no resources", d.stack)
	}
	resources[infra.TableID] = map[string]any{
		"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": definition,
	}
	return d.deployTemplate(ctx, t, changeSet.checkImport, "--import-existing-resources")
}

// checkImport returns an error unless the change set imports the table and changes nothing else.
func (c changeSet) checkImport() error {
	if !slices.ContainsFunc(c.Changes, func(r resourceChange) bool { return r.ID == infra.TableID && r.Action == "Import" }) {
		return fmt.Errorf("the change set does not import the table, and nothing was changed: %s", valueOr(c.Reason, c.summary()))
	}
	return c.checkOnlyTableChanges("Import")
}
