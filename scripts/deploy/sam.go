package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"growthworkspace/infra"
)

// samOptions are the flags of the plan command.
type samOptions struct{ from, to, out string }

const planHelpText = `usage: go run ./scripts/deploy plan [flags]

Writes the templates with which SAM upgrades a stack whose table gets or loses
indexes, and prints the commands, in order. CloudFormation changes one index in
an update, and functions must not run without an index that they query. Run it
after scripts/sam build. It reads the account and changes nothing.

Flags:
`

func parsePlanFlags(args []string, errOut io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("deploy plan", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // discard the message, because run prints the error
	o.sam = &samOptions{}
	o.addStackFlags(flags)
	flags.StringVar(&o.sam.from, "from", "", "the deployed template as a `file`, instead of the account's stack and table")
	flags.StringVar(&o.sam.to, "to", filepath.Join(".aws-sam", "build", "template.yaml"), "the `file` of the new template")
	flags.StringVar(&o.sam.out, "out", "", "the `folder` for the templates (default: that of the new template, to which its paths are relative)")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, planHelpText)
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		return o, errHelp
	case err != nil:
		return o, err
	}
	if err := o.checkArguments(flags); err != nil {
		return o, err
	}
	if o.sam.out == "" {
		o.sam.out = filepath.Dir(o.sam.to)
	}
	return o, nil
}

// writePlan writes the template of each step and prints the commands that deploy them.
func (d *deployer) writePlan(ctx context.Context) error {
	next, err := os.ReadFile(d.sam.to)
	if err != nil {
		return fmt.Errorf("read the new template: run scripts/sam build first, or name it with --to: %w", err)
	}
	p, deployed, err := d.samPlan(ctx, next)
	if err != nil {
		return err
	}
	if len(p.steps) == 1 {
		fmt.Fprintln(d.out, "The indexes of the table do not change. Deploy as usual:\n\n  scripts/sam cli deploy --config-file infra/samconfig.toml --stack-name "+d.stack+d.awsFlags())
		return nil
	}
	p.print(d)
	fmt.Fprintln(d.out)
	for n, s := range p.steps {
		text := next
		switch s.kind {
		case createTableIndex, deleteTableIndex:
			d.printUpdateTable(p.table.name, s)
			continue
		case addIndex:
			text = deployed
		}
		t, err := p.template(s)
		if err == nil {
			text, err = replaceIndexes(text, t)
		}
		if err != nil {
			return err
		}
		name := filepath.Join(d.sam.out, fmt.Sprintf("step-%d-%s.yaml", n+1, s.name()))
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "scripts/sam cli deploy%s --stack-name %s --template-file %s --resolve-s3 --capabilities CAPABILITY_IAM\n", d.awsFlags(), d.stack, name)
		if s.kind != deployStack {
			d.printWait(p.table.name)
		}
	}
	return nil
}

// samPlan plans the steps from the deployed template, which it reads from the file that --from
// names, or from the account. It also returns the text of this template.
func (d *deployer) samPlan(ctx context.Context, next []byte) (p plan, deployed []byte, err error) {
	to, err := parseTemplate(next)
	if err != nil {
		return p, nil, err
	}
	if d.sam.from == "" {
		s, err := d.account.stack(ctx, d.stack)
		if err != nil {
			return p, nil, err
		}
		if !s.exists() {
			return p, nil, fmt.Errorf("there is no stack %s in %s: deploy as usual, with scripts/sam cli deploy", d.stack, d.account.config.Region)
		}
		if err := checkDeployable(s, d.awsFlags()); err != nil {
			return p, nil, err
		}
		if deployed, err = d.account.templateText(ctx, d.stack); err != nil {
			return p, nil, err
		}
		p, err = d.plan(ctx, s, to)
		if err == nil && !p.deployed.usesSAM() {
			err = fmt.Errorf("the stack %s was not deployed with SAM: run go run ./scripts/deploy, which makes the steps itself", d.stack)
		}
		return p, deployed, err
	}
	if deployed, err = os.ReadFile(d.sam.from); err != nil {
		return p, nil, err
	}
	p.next, p.managed = to, true
	if p.deployed, err = parseTemplate(deployed); err != nil {
		return p, nil, err
	}
	if p.evolution.deployedIndexes, err = p.deployed.indexes(); err != nil {
		return p, nil, err
	}
	if p.wantedIndexes, err = to.indexes(); err != nil {
		return p, nil, err
	}
	p.table = tableState{name: "TABLE", status: "ACTIVE"}
	for _, i := range p.evolution.deployedIndexes {
		p.table.indexes = append(p.table.indexes, tableIndex{i.indexKeys, "ACTIVE", false})
	}
	p.steps, err = p.evolution.steps()
	return p, deployed, err
}

// printUpdateTable prints the AWS CLI command for a step that CloudFormation does not perform.
func (d *deployer) printUpdateTable(table string, s step) {
	change, attributes := map[string]any{"Delete": map[string]any{"IndexName": s.index.name}}, ""
	if s.kind == createTableIndex {
		change, attributes = map[string]any{"Create": s.index.core()}, " --attribute-definitions '"+compactJSON(s.index.attributes)+"'"
	}
	fmt.Fprintf(d.out, "aws dynamodb update-table%s --table-name %s%s --global-secondary-index-updates '%s'\n", d.awsFlags(), table, attributes, compactJSON([]any{change}))
	d.printWait(table)
}

// awsFlags returns the region and the profile of this run as flags for the AWS CLI and the SAM CLI.
func (d *deployer) awsFlags() (flags string) {
	if d.account != nil {
		flags = " --region " + d.account.config.Region
	}
	if d.profile != "" {
		flags += " --profile " + quoteForShell(d.profile)
	}
	return flags
}

// printWait prints a command that waits until DynamoDB has changed the table and its indexes. The
// command keeps waiting after a failed call. For a table without indexes, the AWS CLI prints
// "None".
func (d *deployer) printWait(table string) {
	fmt.Fprintf(d.out, `until busy=$(aws dynamodb describe-table%s --table-name %s --query "Table.GlobalSecondaryIndexes[?IndexStatus!='ACTIVE'].IndexName" --output text) && [ -z "${busy#None}" ]; do sleep 15; done
`, d.awsFlags(), table)
}

// replaceIndexes returns the text of a template with the indexes of another template. Everything
// else stays unchanged and in the same order, because SAM's digest of the API depends on the order
// of the functions.
func replaceIndexes(text []byte, source template) (out []byte, err error) {
	properties, _ := source.resource(infra.TableID)["Properties"].(map[string]any)
	out = text
	for _, name := range []string{"AttributeDefinitions", "GlobalSecondaryIndexes"} {
		if out, err = infra.SetInTemplate(out, properties[name], "Resources", infra.TableID, "Properties", name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
