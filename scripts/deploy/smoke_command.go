package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

Checks a deployed stack with your credentials: that it answers as the API says,
and what only an AWS account can show. It creates a company and, for the
restore, a table, and deletes them at the end. For some seconds it stops the
function of the OpenAPI document.

With AWS_ENDPOINT_URL it checks an emulated account, and marks what an emulator
cannot answer. The exit code is 1 if a check fails.

Flags:
`

func parseSmokeFlags(args []string, errOut io.Writer) (options, error) {
	o := options{smoke: &smokeOptions{}}
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	o.addStackFlags(flags)
	optional := accountChecks()[1:] // the first check creates the company that the other checks need
	flags.Func("skip", "leave out the check with this `name`; may be repeated", func(name string) error {
		var names []string
		for _, c := range optional {
			names = append(names, c.name)
		}
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no such check to leave out; there are %s", strings.Join(names, ", "))
		}
		o.smoke.skipped = append(o.smoke.skipped, name)
		return nil
	})
	return o, o.parse(flags, args, errOut, smokeHelpText, func() {
		fmt.Fprint(errOut, "\nChecks that can be left out:\n")
		for _, c := range optional {
			fmt.Fprintf(errOut, "  %-12s %s\n", c.name, c.description)
		}
	})
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

// accountChecks returns the checks in the order in which they run. The check api uses up the quotas
// of the key.
func accountChecks() []accountCheck {
	return []accountCheck{
		{"operate", "the operator's commands create a company, and its key works", true, checkOperate},
		{"key", "a key can be created under an Idempotency-Key, in one transaction over two partitions, and once only", true, checkCreateKey},
		{"ids", "Service-Request-Id is the gateway's extended id, and a caller cannot choose it", false, checkIDs},
		{"gzip", "the gateway compresses for callers that accept gzip, and only for them", false, checkCompression},
		{"oversize", "a body larger than the gateway accepts gets 413 in the envelope", true, checkOversize},
		{"saturation", "a request without a free function instance gets 500 in the envelope, with Retry-After", false, checkSaturation},
		{"throttle", "a burst above the gateway's rate gets 429 in the envelope, with Retry-After", false, checkThrottle},
		{"api", "the service keeps every rule of the API, so the roles of its functions may do what they must", true, checkAPI},
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
	stack, err := d.openStack(ctx)
	if err != nil {
		return err
	}
	if !stack.isUpgradable() {
		return fmt.Errorf("there is no deployed stack %s in %s: deploy it first", d.stack, d.account.config.Region)
	}
	if stack.parameter(infra.ParamConcurrency) == "0" {
		return fmt.Errorf("the service is stopped (%[1]s=0): deploy it with --param %[1]s=-1 first", infra.ParamConcurrency)
	}
	fmt.Fprintf(d.out, "Checks the stack %s in the account %s, region %s. Creates a company and a table, and deletes them.\n",
		d.stack, d.account.id, d.account.config.Region)
	if err := d.confirm(); err != nil {
		return err
	}
	s, err := d.newSmoke(ctx)
	if err != nil {
		return err
	}
	if err := d.runChecks(ctx, s); err != nil {
		return err
	}
	a := &acceptance{smoke: s, d: d, stack: stack, table: stack.output("TableName")}
	defer func() { err = errors.Join(err, a.tidy(context.WithoutCancel(ctx))) }()
	return a.runChecks(ctx)
}

// runChecks runs the account checks, and returns an error if one fails.
func (a *acceptance) runChecks(ctx context.Context) error {
	failed, unchecked := 0, 0
	for _, c := range accountChecks() {
		result, detail := "ok", ""
		switch {
		case slices.Contains(a.d.smoke.skipped, c.name):
			result = "skipped"
			unchecked++
		case !c.runsEmulated && endpointOverride() != "":
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
		fmt.Fprintf(a.d.out, "%-11s %s: %s%s\n", result, c.name, c.description, detail)
		if ctx.Err() != nil {
			return errors.New("interrupted: not all checks have run")
		}
		if a.company == "" {
			return errors.New("the other checks need the company, which was not created")
		}
	}
	fmt.Fprintf(a.d.out, "\n%d checks failed, %d are not checked.\n", failed, unchecked)
	if failed > 0 {
		return fmt.Errorf("%d checks failed", failed)
	}
	return nil
}

// checkAPI checks every rule of the API with the company's key.
func checkAPI(ctx context.Context, a *acceptance) error {
	args := []string{"run", "./scripts/check", "api", a.base.String(), "--write"}
	if override := endpointOverride(); override != "" {
		_, emulator, _ := strings.Cut(override, "://")
		args = append(args, "--connect", emulator)
	}
	_, err := a.goCommand(ctx, []string{"WORKSPACE_KEY=" + a.companyKey}, args...)
	return err
}

// runOperatorCommand runs the operator's command line program on the stack's table, and returns its
// JSON output.
func (a *acceptance) runOperatorCommand(ctx context.Context, args ...string) ([]byte, error) {
	env, err := a.d.account.environment(ctx)
	if err != nil {
		return nil, err
	}
	return a.goCommand(ctx, env, append([]string{"run", "./scripts/workspace", "--json", "--table", a.table}, args...)...)
}

// goCommand runs go in the repository's root folder, and returns the output of the program that go
// runs. An interruption does not stop the program, because its output may name the company that
// tidy must delete.
func (a *acceptance) goCommand(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "go", args...)
	ignoreTerminal(cmd)
	cmd.Dir, cmd.Env = a.d.root, append(cmd.Environ(), env...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s%s", strings.Join(args, " "), err, text, strings.TrimSpace(errOut.String()))
	}
	return text, nil
}

// environment returns the account's region and credentials as environment variables. These
// credentials take precedence over those of a profile, so a command uses the same account as this
// program.
func (a *account) environment(ctx context.Context) ([]string, error) {
	c, err := a.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	return []string{"AWS_REGION=" + a.config.Region,
		"AWS_ACCESS_KEY_ID=" + c.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + c.SecretAccessKey, "AWS_SESSION_TOKEN=" + c.SessionToken}, nil
}

// tidy deletes what the checks created and did not delete themselves.
func (a *acceptance) tidy(ctx context.Context) error {
	if a.company == "" {
		return nil
	}
	if _, err := a.runOperatorCommand(ctx, "company", "delete", a.company, "--yes"); err != nil {
		return fmt.Errorf("the company %s of the checks is still there: %w", a.company, err)
	}
	return nil
}

// checkOperate creates the company that the checks use. tidy deletes it.
func checkOperate(ctx context.Context, a *acceptance) error {
	text, err := a.runOperatorCommand(ctx, "company", "create", "--name", "Smoke test", "--issue-key")
	if err != nil {
		return err
	}
	var made struct{ CompanyID, Key string }
	if err := json.Unmarshal(text, &made); err != nil {
		return err
	}
	a.company, a.companyKey, a.companyMade = made.CompanyID, made.Key, time.Now()
	got, err := a.send(ctx, "GET", "/v1/companies/"+a.company, nil, nil)
	if err == nil && got.status != 200 {
		err = fmt.Errorf("its profile: %d %s", got.status, got.excerpt())
	}
	return err
}
