package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"growthworkspace/infra"
)

// cdkVersion is the version of the CDK's command line program. A newer major version of the program
// does not accept the CDK module in go.mod.
const cdkVersion = "2.1148.1"

// prepareFolders finds the folders of the repository and of the cache, and creates a temporary
// folder.
func (d *deployer) prepareFolders() error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	d.root = filepath.Dir(strings.TrimSpace(string(out)))
	if err == nil {
		_, err = os.Stat(filepath.Join(d.root, "scripts", "build"))
	}
	// Ignore a missing go command, which checkTools reports.
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("this is not a clone of the repository: run it as `go run ./scripts/deploy` in the folder of go.mod: %w", err)
	}
	if d.cache, err = os.UserCacheDir(); err != nil {
		return fmt.Errorf("the user's cache folder is unknown: set HOME or XDG_CACHE_HOME: %w", err)
	}
	d.cache = filepath.Join(d.cache, "growth-workspace")
	if d.tmp, err = os.MkdirTemp("", "deploy-"); err != nil {
		return fmt.Errorf("create a temporary folder for the build: %w", err)
	}
	return nil
}

// completeParameters sets the parameters that the flags leave unset: the architecture of the
// deployed functions, and the stream of an existing table. It also checks that table. A table and
// its stream must change together, so the deployed value of the stream is ignored.
func (d *deployer) completeParameters(ctx context.Context, s deployedStack) error {
	if _, ok := d.parameters.lookup(infra.ParamArchitecture); !ok {
		deployed := valueOr(s.parameter(infra.ParamArchitecture), "arm64")
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, deployed})
	}
	table, ok := d.parameters.lookup(infra.ParamTable)
	switch deployed := s.parameter(infra.ParamTable); {
	case ok && deployed == "" && (table == "" || table == s.output("TableName")):
		// The stack created this table. If its name were passed as a parameter, it would become an
		// existing table, which the stack does not manage.
		d.parameters, d.keepsTable = d.parameters.without(infra.ParamTable), true
	case ok && table == "":
		return fmt.Errorf("%s cannot become empty: the stack uses the table %s, and a new table would have none of its records. For a new table, deploy another stack with --stack", infra.ParamTable, deployed)
	}
	table, ok = d.parameters.lookup(infra.ParamTable)
	if !ok {
		table = s.parameter(infra.ParamTable)
	}
	stream := ""
	if table != "" {
		t, err := d.account.table(ctx, table)
		if err != nil {
			return err
		}
		if err := t.checkUsable(table, d.account.config.Region); err != nil {
			return err
		}
		definition, err := d.account.tableDefinition(ctx, table)
		if err != nil {
			return err
		}
		if err := definition.checkUsable(d.out, d.awsFlags()); err != nil {
			return err
		}
		stream = t.streamARN
	}
	if _, chosen := d.parameters.lookup(infra.ParamTableStream); !chosen && stream != s.parameter(infra.ParamTableStream) {
		d.parameters = append(d.parameters, setting{infra.ParamTableStream, stream})
	}
	return d.completeAdoption(ctx, s, table)
}

// completeAdoption sets AdoptedTable to "yes" if the table is a resource of the stack but the
// parameter is not set. An adoption that stopped after its import leaves the stack in this state.
func (d *deployer) completeAdoption(ctx context.Context, s deployedStack, table string) error {
	if table == "" || table != s.parameter(infra.ParamTable) || s.parameter(infra.ParamAdopted) == "yes" {
		return nil
	}
	managedTable, err := d.account.stackResource(ctx, d.stack, infra.TableID)
	if err == nil && managedTable == table {
		d.parameters = d.parameters.with(infra.ParamAdopted, "yes")
	}
	return err
}

// deploy builds the functions, prepares the account for the CDK if necessary, and deploys the
// stack.
func (d *deployer) deploy(ctx context.Context, s deployedStack) error {
	toolkit, err := d.account.stack(ctx, "CDKToolkit")
	if err != nil {
		return err
	}
	d.printIntent(s, toolkit.exists())
	if err := d.confirm(); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if !toolkit.exists() {
		if err := d.runCDK(ctx, "bootstrap", fmt.Sprintf("aws://%s/%s", d.account.id, d.account.config.Region)); err != nil {
			return fmt.Errorf("the account could not be prepared for the CDK, and nothing was deployed; the caller needs permission to create roles, a bucket and a key: %w", err)
		}
	}
	next, err := d.synthesiseTemplate(ctx)
	if err != nil {
		return err
	}
	p, err := d.plan(ctx, s, next)
	if err != nil {
		return err
	}
	if err := d.checkSwitch(ctx, s, p); err != nil {
		return err
	}
	p.print(d)
	if len(p.steps) > 1 {
		if err := d.confirm(); err != nil {
			return err
		}
	}
	if err := d.run(ctx, p); err != nil {
		return err
	}
	if d.adoptTable {
		if err := d.adopt(ctx, next); err != nil {
			return err
		}
	}
	if err := d.deployThroughput(ctx, p); err != nil {
		return err
	}
	return d.printOutputs(ctx)
}

// printIntent prints what the program is about to do.
func (d *deployer) printIntent(s deployedStack, prepared bool) {
	table, ok := d.parameters.lookup(infra.ParamTable)
	if !ok {
		table = s.output("TableName")
	}
	what := "deploy the new stack"
	switch {
	case s.neverDeployed():
		what = "remove the rest of a failed first deploy (" + s.Status + ") and deploy"
	case s.exists():
		what = "upgrade the stack"
	}
	arch, _ := d.parameters.lookup(infra.ParamArchitecture)
	fmt.Fprintf(d.out, "account   %s, as %s\nregion    %s\nstack     %s: %s\ntable     %s\nfunctions %s\n",
		d.account.id, d.account.caller, d.account.config.Region, d.stack, what, valueOr(table, "a new one"), arch)
	for _, p := range d.parameters {
		if p.name != infra.ParamTable && p.name != infra.ParamArchitecture {
			fmt.Fprintf(d.out, "%-9s %s\n", p.name, p.value)
		}
	}
	for _, p := range d.throughput {
		fmt.Fprintf(d.out, "then      %s %s, in an update of the table alone\n", p.name, p.value)
	}
	if !prepared {
		fmt.Fprintln(d.out, "first     prepare the account for the CDK (cdk bootstrap: a bucket, a registry and roles, once per account and region)")
	}
	if old := s.output("TableName"); ok && table != "" && old != "" && old != table {
		fmt.Fprintf(d.out, "note      the table %s stays, but the service no longer uses it\n", old)
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
	return fmt.Errorf("%w\n%s", cause, failureAdvice(s, d.awsFlags()))
}

// printOutputs prints the base URL, the table and the command for the first key.
func (d *deployer) printOutputs(ctx context.Context) error {
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if s.output("BaseUrl") == "" {
		return fmt.Errorf("the CDK succeeded, but the stack has no output BaseUrl: %s", failureAdvice(s, d.awsFlags()))
	}
	fmt.Fprintf(d.out, "\nbase URL  %s\ntable     %s\n", s.output("BaseUrl"), s.output("TableName"))
	if target := s.output("DomainTarget"); target != "" {
		fmt.Fprintf(d.out, "domain    its DNS record must point to %s\n", target)
	}
	fmt.Fprintf(d.out, "\nCreate a company and its first key:\n\n  %s\n", d.withProfile(s.output("FirstKeyCommand")))
	fmt.Fprintf(d.out, "\nIf an earlier version has written records to the table, bring them up to this one:\n\n  %s\n",
		d.withProfile("AWS_REGION="+d.account.config.Region+" go run ./scripts/workspace upgrade --table "+s.output("TableName")))
	return nil
}

// withProfile adds the AWS profile of this run to a command from the stack's outputs, quoted for a
// shell.
func (d *deployer) withProfile(command string) string {
	if d.profile == "" {
		return command
	}
	return strings.ReplaceAll(command, "AWS_REGION=", "AWS_PROFILE="+quoteForShell(d.profile)+" AWS_REGION=")
}

// quoteForShell quotes a word for a shell command.
func quoteForShell(word string) string {
	if regexp.MustCompile(`^[\w.@-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (d *deployer) printDiff(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.runApp(ctx); err != nil {
		return err
	}
	for _, p := range d.parameters {
		fmt.Fprintf(d.out, "parameter %s: %s\n", p.name, p.value)
	}
	return d.runCDK(ctx, "diff", d.stack)
}

func (d *deployer) synthesise(ctx context.Context) error {
	if _, ok := d.parameters.lookup(infra.ParamArchitecture); !ok {
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, "arm64"})
	}
	var err error
	if d.synthDir, err = filepath.Abs(d.synthDir); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.runApp(ctx); err != nil {
		return err
	}
	return d.runCDK(ctx, "synth", d.stack, "--quiet") // reports the findings of cdk-nag
}

// destroyStack deletes the stack. The table is kept, and destroyStack prints how to delete it.
func (d *deployer) destroyStack(ctx context.Context, s deployedStack) error {
	if !s.exists() {
		return fmt.Errorf("there is no stack %s in %s: nothing to delete", d.stack, d.account.config.Region)
	}
	if err := s.checkBelongsToService(); err != nil {
		return err
	}
	if err := checkIdle(s, d.awsFlags()); err != nil && s.Status != "DELETE_FAILED" && s.Status != "CREATE_FAILED" {
		return err
	}
	tables, err := d.knownTables(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "account   %s, as %s\nregion    %s\nstack     %s: delete it; its base URL is lost for good\n",
		d.account.id, d.account.caller, d.account.config.Region, d.stack)
	for _, table := range tables {
		fmt.Fprintf(d.out, "table     %s: stays, with all records\n", table)
	}
	fmt.Fprintln(d.out, "logs      their groups stay, until you delete them")
	if err := d.confirm(); err != nil {
		return err
	}
	if err := d.installCDK(ctx); err != nil {
		return err
	}
	if err := d.writeDestroyAssembly(); err != nil {
		return err
	}
	if err := d.runCDK(ctx, "destroy", d.stack, "--force"); err != nil {
		return d.deployError(err)
	}
	for _, table := range tables {
		fmt.Fprintf(d.out, `
The table %[1]s still exists and costs money. To use it again:

  go run ./scripts/deploy%[3]s --stack %[2]s --table %[1]s --adopt

To delete it and all its records for good:

  aws dynamodb update-table%[3]s --table-name %[1]s --no-deletion-protection-enabled
  aws dynamodb delete-table%[3]s --table-name %[1]s
`, table, d.stack, d.awsFlags())
	}
	return nil
}

// knownTables returns the tables that the stack still knows: the one that the service uses, the
// other table of an incomplete switch, and the table that is a resource of the stack.
func (d *deployer) knownTables(ctx context.Context, s deployedStack) (tables []string, err error) {
	managedTable, err := d.account.stackResource(ctx, d.stack, infra.TableID)
	if err != nil {
		return nil, err
	}
	for _, table := range []string{s.output("TableName"), s.parameter(infra.ParamTable), s.parameter(infra.ParamSecondTable), managedTable} {
		if table != "" && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables, nil
}
