package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"growthworkspace/infra"
)

// smokeOptions are the values of the flags of the smoke command.
type smokeOptions struct {
	skipped []string // the names of the checks to skip
}

const smokeHelpText = `usage: go run ./scripts/deploy smoke [flags]

Checks a deployed stack with your credentials: that it answers as it should,
that the roles of its functions may do what they must and nothing else, and what
only an AWS account can show. It creates a company, roles and, for the restore,
a table, and deletes them at the end. For some seconds it stops the function of
the OpenAPI document and sets off an alarm, which sends a mail.

With AWS_ENDPOINT_URL it checks an emulated account, and marks what an emulator
cannot answer. The exit code is 1 if a check fails.

Flags:
`

func parseSmokeFlags(args []string, errOut io.Writer) (options, error) {
	o := options{smoke: &smokeOptions{}}
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.addStackFlags(flags)
	flags.BoolVar(&o.confirmed, "yes", false, "do not ask for a confirmation")
	flags.Func("skip", "leave out the check with this `name`; may be repeated", func(name string) error {
		optional := accountChecks()[1:] // the first check creates the company that the other checks need
		if !slices.ContainsFunc(optional, func(c accountCheck) bool { return c.name == name }) {
			var names []string
			for _, c := range optional {
				names = append(names, c.name)
			}
			return fmt.Errorf("there is no such check to leave out; there are %s", strings.Join(names, ", "))
		}
		o.smoke.skipped = append(o.smoke.skipped, name)
		return nil
	})
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, smokeHelpText)
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		fmt.Fprint(errOut, "\nChecks that can be left out:\n")
		for _, c := range accountChecks()[1:] {
			fmt.Fprintf(errOut, "  %-12s %s\n", c.name, c.description)
		}
		return o, errHelp
	case err != nil:
		return o, err
	}
	if err := o.checkArguments(flags); err != nil {
		return o, err
	}
	return o, nil
}

// accountCheck is a check of the smoke command that needs an operator's credentials.
type accountCheck struct {
	name        string
	description string
	// runsEmulated reports whether the check can run in an emulated account. Otherwise it runs only
	// in a real account.
	runsEmulated bool
	run          func(context.Context, *acceptance) error
}

// accountChecks returns the checks in the order in which they run.
func accountChecks() []accountCheck {
	return []accountCheck{
		{"operate", "the operator's commands create a company, and its key works", true, checkOperate},
		{"key", "a key can be created under an Idempotency-Key, in one transaction over two partitions, and once only", true, checkCreateKey},
		{"role-may", "each function's role may do what the function needs, tried with a role that has the same policy", true, checkRoleAllowed},
		{"role-denied", "and no more: not other areas, scans, PartiQL or the operator's index", false, checkRoleDenied},
		{"ids", "Service-Request-Id is the gateway's extended id, and a caller cannot choose it", false, checkIDs},
		{"gzip", "the gateway compresses for callers that accept gzip, and only for them", false, checkCompression},
		{"oversize", "a body larger than the gateway accepts gets 413 in the envelope", true, checkOversize},
		{"saturation", "a request without a free function instance gets 500 in the envelope, with Retry-After", false, checkSaturation},
		{"throttle", "a burst above the gateway's rate gets 429 in the envelope, with Retry-After", false, checkThrottle},
		{"canary", "with Rollout=canary, CodeDeploy has moved the requests of each function to its last version", false, checkCanary},
		{"alarm", "an alarm publishes to the topic", true, checkAlarm},
		{"logs", "the saved query finds the lines of the gateway and of the function by the id of a request", false, checkLogs},
		{"restore", "a restored copy of the table has the company's records", true, checkRestore},
	}
}

// acceptance is one run of the account checks.
type acceptance struct {
	*smoke
	d           *deployer
	stack       deployedStack
	table       string
	company     string // created by checkOperate, deleted by tidy
	companyKey  string
	companyMade time.Time
}

// errInconclusive is the error of a check that could not find out whether the account is correct,
// for example because a burst was too slow.
var errInconclusive = errors.New("inconclusive")

func (d *deployer) runSmoke(ctx context.Context) (err error) {
	if err := d.prepareFolders(); err != nil {
		return err
	}
	defer os.RemoveAll(d.tmp)
	if d.account, err = openAccount(ctx, d.region, d.profile); err != nil {
		return err
	}
	stack, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if !stack.exists() || stack.neverDeployed() {
		return fmt.Errorf("there is no deployed stack %s in %s: deploy it first", d.stack, d.account.config.Region)
	}
	if err := checkDeployable(stack, d.awsFlags()); err != nil {
		return err
	}
	if stack.parameter(infra.ParamConcurrency) == "0" {
		return fmt.Errorf("the service is stopped (%[1]s=0): deploy it with --param %[1]s=-1 first", infra.ParamConcurrency)
	}
	fmt.Fprintf(d.out, "Checks the stack %s in the account %s, region %s. Creates a company, roles and a table, and deletes them.\n",
		d.stack, d.account.id, d.account.config.Region)
	if err := d.confirm(); err != nil {
		return err
	}
	s, err := d.newSmoke(ctx)
	if err != nil {
		return err
	}
	if err := d.runChecks(ctx, s, readOnlyChecks()); err != nil {
		return err
	}
	a := &acceptance{smoke: s, d: d, stack: stack, table: stack.output("TableName")}
	defer func() { err = errors.Join(err, a.tidy(context.WithoutCancel(ctx))) }()
	failed, unchecked := 0, 0
	for _, c := range accountChecks() {
		result, detail := "ok", ""
		switch {
		case slices.Contains(d.smoke.skipped, c.name):
			result = "skipped"
			unchecked++
		case !c.runsEmulated && d.account.isEmulated():
			result, detail = "NOT CHECKED", ": only a real account can answer"
			unchecked++
		default:
			if err := c.run(ctx, a); errors.Is(err, errInconclusive) {
				result, detail = "NOT CHECKED", ": "+err.Error()
				unchecked++
			} else if err != nil {
				result, detail = "FAILED", ": "+err.Error()
				failed++
			}
		}
		fmt.Fprintf(d.out, "%-11s %s: %s%s\n", result, c.name, c.description, detail)
		if ctx.Err() != nil {
			return errors.New("interrupted: not all checks have run")
		}
		if a.company == "" {
			return errors.New("the other checks need the company, which was not created")
		}
	}
	fmt.Fprintf(d.out, "\n%d checks failed, %d are not checked.\n", failed, unchecked)
	if failed > 0 {
		return fmt.Errorf("%d checks failed", failed)
	}
	return nil
}

// isEmulated reports whether requests are sent to an emulator instead of AWS.
func (a *account) isEmulated() bool { return !strings.Contains(a.endpoint("sts"), ".amazonaws.com") }

// runOperatorCommand runs the operator's command line program on the stack's table, and decodes its
// JSON output. An interruption does not stop the command, because its output names the company that
// tidy must delete.
func (a *acceptance) runOperatorCommand(ctx context.Context, out any, args ...string) error {
	args = append([]string{"run", "./scripts/workspace", "--json", "--table", a.table}, args...)
	cmd := exec.Command("go", args...)
	ignoreTerminal(cmd)
	env, err := a.account.environment(ctx, cmd.Environ())
	if err != nil {
		return err
	}
	cmd.Dir, cmd.Env = a.d.root, env
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("workspace %s: %w: %s", strings.Join(args[5:], " "), err, strings.TrimSpace(errOut.String()))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// environment adds the account's region, credentials and endpoint to env. These credentials take
// precedence over those of a profile, so a command uses the same account as this program.
func (a *account) environment(ctx context.Context, env []string) ([]string, error) {
	c, err := a.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	env = append(env, "AWS_REGION="+a.config.Region,
		"AWS_ACCESS_KEY_ID="+c.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+c.SecretAccessKey, "AWS_SESSION_TOKEN="+c.SessionToken)
	if a.isEmulated() {
		env = append(env, "AWS_ENDPOINT_URL_DYNAMODB="+strings.TrimSuffix(a.endpoint("dynamodb"), "/"))
	}
	return env, nil
}

// tidy deletes what the checks created and did not delete themselves.
func (a *acceptance) tidy(ctx context.Context) error {
	if a.company == "" {
		return nil
	}
	if err := a.runOperatorCommand(ctx, nil, "company", "delete", a.company, "--yes"); err != nil {
		return fmt.Errorf("the company %s of the checks is still there: %w", a.company, err)
	}
	return nil
}
