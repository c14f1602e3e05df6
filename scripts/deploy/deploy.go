package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"growthworkspace/infra"
	"growthworkspace/scripts/workspace/terminal"
)

// completeParameters sets the parameters that the flags leave unset: the architecture of the
// deployed functions, and the stream of an existing table. It also checks that table. A table and
// its stream must change together, so the deployed value of the stream is ignored.
func (d *deployer) completeParameters(ctx context.Context, s deployedStack) error {
	if d.from != "" {
		arch, err := os.ReadFile(filepath.Join(d.from, architectureFile))
		if err != nil {
			return fmt.Errorf("--from %s: --synth has not written this folder: %w", d.from, err)
		}
		if err := d.parameters.Set(infra.ParamArchitecture + "=" + string(arch)); err != nil {
			return fmt.Errorf("--from %s: %s: %w", d.from, architectureFile, err)
		}
	}
	if _, ok := d.parameters.lookup(infra.ParamArchitecture); !ok {
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, valueOr(s.parameter(infra.ParamArchitecture), "arm64")})
	}
	table, ok := d.parameters.lookup(infra.ParamTable)
	switch deployed := s.parameter(infra.ParamTable); {
	case ok && deployed == "" && (table == "" || table == s.output("TableName")):
		// The stack created this table. If its name were passed as a parameter, it would become an
		// existing table, which the stack does not manage.
		d.parameters = d.parameters.without(infra.ParamTable)
	case ok && table == "":
		return fmt.Errorf("%s cannot become empty: the stack uses the table %s, and a new table would have none of its records. For a new table, deploy another stack with --stack", infra.ParamTable, deployed)
	}
	stream := ""
	if table = d.value(s, infra.ParamTable); table != "" {
		t, err := d.account.table(ctx, table)
		if err != nil {
			return err
		}
		wanted, err := wantedTable().table()
		if err != nil {
			return err
		}
		if err := t.checkUsable(table, d.account.config.Region, wanted.KeySchema.String()); err != nil {
			return err
		}
		if stream = t.streamARN; stream == "" {
			fmt.Fprintf(d.out, "note      the table %[1]s has no stream with new and old images, so there is no feed of changes. To add it:\n"+
				"          aws dynamodb update-table%[2]s --table-name %[1]s --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES\n", table, d.awsFlags())
		}
	}
	if _, chosen := d.parameters.lookup(infra.ParamTableStream); !chosen && stream != s.parameter(infra.ParamTableStream) {
		d.parameters = append(d.parameters, setting{infra.ParamTableStream, stream})
	}
	return d.checkSwitch(s)
}

// wantedTable returns a template that has only the table of this version.
func wantedTable() template {
	resources := infra.JSON(infra.New().PlainResources()).(map[string]any)
	return template{"Resources": map[string]any{infra.TableID: resources[infra.TableID]}}
}

// checkSwitch checks a switch to another table, which consists of three updates of the stack.
// Within an update, CloudFormation changes the roles and functions one by one, so the service must
// also work while an update is half complete:
//
//  1. SecondTableName names the new table. The roles may use both tables, and the functions refuse
//     writes with 503.
//  2. --table names the new table. The functions read from it, and the alarms and the feed of
//     changes also use it. checkSwitch sets SecondTableName to the old table, so that the roles may
//     still use both.
//  3. SecondTableName is empty. The functions accept writes, and the roles lose access to the old
//     table.
//
// So no call is denied, and no write that is accepted after update 1 goes to the old table.
// checkSwitch refuses update 2 before update 1.
func (d *deployer) checkSwitch(s deployedStack) error {
	refusesWrites := s.parameter(infra.ParamSecondTable)+d.value(s, infra.ParamSecondTable) != "" || s.parameter(infra.ParamWrites) == "off" || d.value(s, infra.ParamWrites) == "off"
	if refusesWrites && d.value(s, infra.ParamRollout) == infra.RolloutCanary {
		return fmt.Errorf("the service refuses writes with 503, so the alarm ServerErrors would roll a canary back: add --param %[1]s=%[2]s, and deploy with --param %[1]s=%[3]s when the service accepts writes again",
			infra.ParamRollout, infra.RolloutAllAtOnce, infra.RolloutCanary)
	}
	table, chosen := d.parameters.lookup(infra.ParamTable)
	old := s.output("TableName")
	if !chosen || table == old || !s.isUpgradable() || old == "" {
		return nil
	}
	command := fmt.Sprintf("go run ./scripts/deploy%s --stack %s", d.awsFlags(), d.stack)
	if s.parameter(infra.ParamSecondTable) != table {
		return fmt.Errorf(`the stack %[1]s uses the table %[2]s, and accepts writes to it until the last function is switched. So switch in three updates:
  %[4]s --param %[5]s=%[3]s   # refuses writes, and allows the use of both tables
  %[4]s --table %[3]s   # reads from %[3]s
  %[4]s --param %[5]s=   # accepts writes again`, d.stack, old, table, command, infra.ParamSecondTable)
	}
	fmt.Fprintf(d.out, "note      the table %s stays, but the service no longer uses it. When this deploy has ended, accept writes again:\n          %s --param %s=\n",
		old, command, infra.ParamSecondTable)
	d.parameters = d.parameters.with(infra.ParamSecondTable, old).with(infra.ParamAdopted, "no")
	return nil
}

// deploy builds the functions, prepares the account for the CDK if necessary, and deploys the
// stack. With --plan it only shows what it would do.
func (d *deployer) deploy(ctx context.Context, s deployedStack) error {
	toolkit, err := d.account.stack(ctx, "CDKToolkit")
	if err != nil {
		return err
	}
	d.printIntent(s, toolkit.exists())
	if !d.planOnly {
		if err := d.confirm(); err != nil {
			return err
		}
	}
	next, err := d.synthesise(ctx)
	if err != nil {
		return err
	}
	p, err := d.plan(ctx, s, next)
	if err != nil {
		return err
	}
	p.print(d)
	if d.planOnly {
		return d.showChanges(ctx, p, toolkit.exists())
	}
	if len(p.steps) > 1 {
		if err := d.confirm(); err != nil {
			return err
		}
	}
	if !toolkit.exists() {
		if err := d.runCDK(ctx, d.tmp, "bootstrap", fmt.Sprintf("aws://%s/%s", d.account.id, d.account.config.Region)); err != nil {
			return fmt.Errorf("the account could not be prepared for the CDK, and nothing was deployed; the caller needs permission to create roles, a bucket and a key: %w", err)
		}
	}
	if err := d.run(ctx, p); err != nil {
		return err
	}
	return d.printOutputs(ctx)
}

// printIntent prints what the program is about to do.
func (d *deployer) printIntent(s deployedStack, prepared bool) {
	what := "deploy the new stack"
	switch {
	case s.neverDeployed():
		what = fmt.Sprintf("remove the rest of a failed first deploy (%s) and deploy", s.StackStatus)
	case s.exists():
		what = "upgrade the stack"
	}
	arch, _ := d.parameters.lookup(infra.ParamArchitecture)
	table := valueOr(d.value(s, infra.ParamTable), s.output("TableName"))
	fmt.Fprintf(d.out, "account   %s, as %s\nregion    %s\nstack     %s: %s\ntable     %s\nfunctions %s\n",
		d.account.id, d.account.caller, d.account.config.Region, d.stack, what, valueOr(table, "a new one"), arch)
	for _, p := range d.parameters {
		if p.name != infra.ParamTable && p.name != infra.ParamArchitecture {
			fmt.Fprintf(d.out, "%-9s %s\n", p.name, p.value)
		}
	}
	if !prepared {
		fmt.Fprintln(d.out, "first     prepare the account for the CDK (cdk bootstrap: a bucket, a registry and roles, once per account and region)")
	}
}

// confirm asks the operator whether to continue. It returns an error unless the reply is "y" or
// "yes".
func (d *deployer) confirm() error {
	if d.confirmed {
		return nil
	}
	fmt.Fprint(d.out, "\nContinue? [y/N] ")
	reply, err := d.in.ReadString('\n')
	if err != nil && reply == "" {
		fmt.Fprintln(d.out)
		return errors.New("nothing was done: without a terminal, confirm with --yes")
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// deployError returns an error that says what state a failed deploy left the stack in. It uses a
// new context to find out, because the program's context may have been canceled.
func (d *deployer) deployError(cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout+time.Second)
	defer cancel()
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return fmt.Errorf("%w\nand the state of the stack is unknown: %w", cause, err)
	}
	return fmt.Errorf("%w\n%s", cause, s.failureAdvice(d.awsFlags()))
}

// printOutputs prints the base URL, the table and the command for the first key.
func (d *deployer) printOutputs(ctx context.Context) error {
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if s.output("BaseUrl") == "" {
		return fmt.Errorf("the CDK succeeded, but the stack has no output BaseUrl: %s", s.failureAdvice(d.awsFlags()))
	}
	fmt.Fprintf(d.out, "\nbase URL  %s\ntable     %s\n", s.output("BaseUrl"), s.output("TableName"))
	if target := s.output("DomainTarget"); target != "" {
		fmt.Fprintf(d.out, "domain    its DNS record must point to %s\n", target)
	}
	fmt.Fprintf(d.out, "\nCreate a company and its first key:\n\n  %s\n", d.withProfile(s.output("FirstKeyCommand")))
	return nil
}

// withProfile adds the AWS profile of this run to a command from the stack's outputs, quoted for a
// shell.
func (d *deployer) withProfile(command string) string {
	if d.profile == "" {
		return command
	}
	return strings.ReplaceAll(command, "AWS_REGION=", "AWS_PROFILE="+terminal.QuoteArgument(d.profile)+" AWS_REGION=")
}

// awsFlags returns the region and the profile of this run as flags for the AWS CLI.
func (d *deployer) awsFlags() (flags string) {
	if d.account != nil {
		flags = " --region " + d.account.config.Region
	}
	if d.profile != "" {
		flags += " --profile " + terminal.QuoteArgument(d.profile)
	}
	return flags
}

// architectureFile is the file in the folder of --synth that names the architecture of its builds.
const architectureFile = "architecture"

// synthesiseOnly writes the template to the folder that --synth names.
func (d *deployer) synthesiseOnly(ctx context.Context) (err error) {
	if _, ok := d.parameters.lookup(infra.ParamArchitecture); !ok {
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, "arm64"})
	}
	if d.synthDir, err = filepath.Abs(d.synthDir); err != nil {
		return err
	}
	if _, err = d.synthesise(ctx); err != nil {
		return err
	}
	arch, _ := d.parameters.lookup(infra.ParamArchitecture)
	return os.WriteFile(filepath.Join(d.synthDir, architectureFile), []byte(arch), 0o644)
}
