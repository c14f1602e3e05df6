package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"growthworkspace/infra"
)

// cdkVersion is the CDK's command line; a newer major refuses the module that go.mod names.
const cdkVersion = "2.1148.1"

// places finds the repository and the cache.
func (d *deployer) places() error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	d.root = filepath.Dir(strings.TrimSpace(string(out)))
	if err == nil {
		_, err = os.Stat(filepath.Join(d.root, "scripts", "build"))
	}
	// Without go its absence is what tools will say.
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("this is not a clone of the repository: run it as `go run ./scripts/deploy` in the folder of go.mod: %w", err)
	}
	if d.cache, err = os.UserCacheDir(); err != nil {
		return fmt.Errorf("the user's cache folder is not known: set HOME or XDG_CACHE_HOME: %w", err)
	}
	d.cache = filepath.Join(d.cache, "growth-workspace")
	if d.tmp, err = os.MkdirTemp("", "deploy-"); err != nil {
		return fmt.Errorf("make a folder for what is built: %w", err)
	}
	return nil
}

// decide settles what depends on what is deployed: the architecture of the build, which must be that of the functions,
// and the table.
func (d *deployer) decide(ctx context.Context, s stack) error {
	if _, asked := d.parameters.of(infra.ParamArchitecture); !asked {
		deployed := or(s.parameter(infra.ParamArchitecture), "arm64")
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, deployed})
	}
	if table, asked := d.parameters.of(infra.ParamTable); asked && table != "" {
		return d.account.usable(ctx, table)
	}
	return nil
}

// deploy builds, prepares the account where it must be, and deploys.
func (d *deployer) deploy(ctx context.Context, s stack) error {
	toolkit, err := d.account.stack(ctx, "CDKToolkit")
	if err != nil {
		return err
	}
	d.announce(s, toolkit.exists())
	if err := d.confirm(); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if !toolkit.exists() {
		if err := d.cdk(ctx, "bootstrap", fmt.Sprintf("aws://%s/%s", d.account.id, d.account.config.Region)); err != nil {
			return fmt.Errorf("the account could not be prepared for the CDK, and nothing was deployed; who prepares it needs the right to make roles, a bucket and a key: %w", err)
		}
	}
	args := []string{"deploy", d.stack, "--require-approval", "never"}
	for _, p := range d.parameters {
		args = append(args, "--parameters", d.stack+":"+p.name+"="+p.value)
	}
	if err := d.cdk(ctx, args...); err != nil {
		return d.ended(err)
	}
	return d.deployed(ctx)
}

func (d *deployer) announce(s stack, prepared bool) {
	table, asked := d.parameters.of(infra.ParamTable)
	if !asked {
		table = s.output("TableName")
	}
	what := "deploy the new stack"
	switch {
	case s.failedAtFirst():
		what = "remove what a failed first deploy has left (" + s.Status + ") and deploy"
	case s.exists():
		what = "upgrade the stack"
	}
	arch, _ := d.parameters.of(infra.ParamArchitecture)
	fmt.Fprintf(d.out, "account   %s, as %s\nregion    %s\nstack     %s: %s\ntable     %s\nfunctions %s\n",
		d.account.id, d.account.caller, d.account.config.Region, d.stack, what, or(table, "a new one"), arch)
	for _, p := range d.parameters {
		if p.name != infra.ParamTable && p.name != infra.ParamArchitecture {
			fmt.Fprintf(d.out, "%-9s %s\n", p.name, p.value)
		}
	}
	if !prepared {
		fmt.Fprintln(d.out, "first     prepare the account for the CDK (cdk bootstrap: a bucket, a registry and roles, once per account and region)")
	}
	if old := s.output("TableName"); asked && table != "" && old != "" && old != table {
		fmt.Fprintf(d.out, "note      the table %s stays as it is, and the service no longer uses it\n", old)
	}
}

// confirm asks. An end of the input is nobody's answer.
func (d *deployer) confirm() error {
	if d.yes {
		return nil
	}
	fmt.Fprint(d.out, "\nGo on? [y/N] ")
	answer, err := bufio.NewReader(d.in).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(d.out)
		return errors.New("nothing was done: nobody is there to be asked, so give --yes")
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// ended says where a deploy has left the account. It asks with a context of its own: that of the program may be the
// reason why the deploy has ended.
func (d *deployer) ended(cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout+time.Second)
	defer cancel()
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return fmt.Errorf("%w\nand the state of the stack is not known: %w", cause, err)
	}
	return fmt.Errorf("%w\n%s", cause, outcome(s))
}

// deployed tells the operator what there is now.
func (d *deployer) deployed(ctx context.Context) error {
	s, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if s.output("BaseUrl") == "" {
		return fmt.Errorf("the CDK has ended well, but the stack has no BaseUrl: %s", outcome(s))
	}
	fmt.Fprintf(d.out, "\nbase URL  %s\ntable     %s\n\nA company and its first key:\n\n  %s\n", s.output("BaseUrl"), s.output("TableName"), d.withProfile(s.output("FirstKeyCommand")))
	return nil
}

// withProfile names the profile of this run in a command that the stack prints: the stack does not know it.
func (d *deployer) withProfile(command string) string {
	if d.profile == "" {
		return command
	}
	return strings.ReplaceAll(command, "AWS_REGION=", "AWS_PROFILE="+d.profile+" AWS_REGION=")
}

func (d *deployer) difference(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	args := []string{"diff", d.stack}
	for _, p := range d.parameters {
		fmt.Fprintf(d.out, "parameter %s would be %s\n", p.name, p.value)
	}
	return d.cdk(ctx, args...)
}

func (d *deployer) synthesise(ctx context.Context) error {
	if _, asked := d.parameters.of(infra.ParamArchitecture); !asked {
		d.parameters = append(d.parameters, setting{infra.ParamArchitecture, "arm64"})
	}
	out, err := filepath.Abs(d.synth)
	if err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	return d.cdk(ctx, "synth", d.stack, "--quiet", "--output", out)
}

// tearDown takes the stack down, and says how to delete what stays.
func (d *deployer) tearDown(ctx context.Context, s stack) error {
	if !s.exists() {
		return fmt.Errorf("there is no stack %s in %s: nothing to take down", d.stack, d.account.config.Region)
	}
	if err := s.ours(); err != nil {
		return err
	}
	if err := settled(s); err != nil && s.Status != "DELETE_FAILED" && s.Status != "CREATE_FAILED" {
		return err
	}
	table := s.output("TableName")
	fmt.Fprintf(d.out, "account   %s, as %s\nregion    %s\nstack     %s: take it down; the base URL ends, and does not come back; all logs are deleted\ntable     %s: stays, with all records\n",
		d.account.id, d.account.caller, d.account.config.Region, d.stack, or(table, "none is known of this stack"))
	if err := d.confirm(); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.cdk(ctx, "destroy", d.stack, "--force"); err != nil {
		return d.ended(err)
	}
	if table == "" {
		return nil
	}
	fmt.Fprintf(d.out, `
The table %[1]s is still there, and is paid for. To serve from it again:

  go run ./scripts/deploy --stack %[2]s --table %[1]s

To delete it, and every record in it, for good:

  aws dynamodb update-table --region %[3]s --table-name %[1]s --no-deletion-protection-enabled
  aws dynamodb delete-table --region %[3]s --table-name %[1]s
`, table, d.stack, d.account.config.Region)
	return nil
}
