package user

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/follow"
	"growthworkspace/scripts/workspace/program"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/webhook"
	"growthworkspace/shared/client"
)

// secretVariable is the environment variable that holds the secret of a webhook.
const secretVariable = "WORKSPACE_WEBHOOK_SECRET"

// followFlags holds the values of the flags of `changes follow`.
type followFlags struct {
	changesFlags

	state, every, timeout, webhook, secretFile string
	withRecord, newKey                         bool

	period, timeLimit time.Duration // every and timeout, parsed
}

func (u *userCommands) followCommand() *cobra.Command {
	var f followFlags
	cmd := &cobra.Command{
		Use: "follow [--webhook URL] -- PROGRAM [ARGUMENT...]", Short: "Run a program, or call a webhook, for each change",
		Long: `Run a program once for each change, one after another, oldest first, until the command is
stopped. The program reads the change as JSON from standard input, as "changes list --json" prints
it, without keyName. With --with-record the change also has the property "record": the record as
the API returns it now, or null if it no longer exists.

Exit code 0 means that the program is done with the change. After any other exit code, a signal or
--timeout, it runs again for the same change, after a pause of one second that doubles up to five
minutes, for as long as it takes. No change is left out. What the program prints goes to the
output of this command.

The command stores how far it is in a file, after each change. Started again, it continues from
there, even if it was killed. It then may run the program again for the last change: a program
that must not act twice keeps the change's id. Without --since, the first start begins now, perhaps
with a few changes of the minute before. With --since it begins earlier, as far back as 30 days. A
start with the same --since continues, too. One with a different --since starts over.

Only one follower can use a file. A second one needs its own, with --state. The file belongs to
one service, company, key and set of --types. After a rotation of the key, --new-key continues with
the new one.

With --webhook, each change is posted to a URL as {"type": "feedback.updated", "timestamp": when it
happened, "data": the change}, signed as Standard Webhooks (www.standardwebhooks.com) says. The
header webhook-id is the change's id. A response of 2xx means that the receiver is done with
it. Redirects are not followed. 410 stops the command. The secret is in --webhook-secret-file or
in ` + secretVariable + `, and is "whsec_" followed by base64. To create one:

  (umask 077; echo "whsec_$(openssl rand -base64 32)" > webhook-secret)

The exit code is 0 after SIGINT or SIGTERM; a program that runs is not interrupted. It is 4 if
changes may have been missed: nothing followed for more than 30 days, or the operator says that
the service has lost changes. Look at the company, then start over with --since.`,
		Example: `  workspace changes follow --types feedback --with-record -- ./tell-the-chat
  workspace changes follow --types post,feedback --webhook https://n8n.example/webhook/growth --webhook-secret-file webhook-secret
  workspace changes follow --since 7d -- jq -r '.occurredAt + " " + .type + " " + .recordId'`,
	}
	f.register(u, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "begin at this `time`: 7d, 12h, 2026-08-11 or 2026-08-11T09:30:00Z (default: now)")
	flags.StringVar(&f.state, "state", "", "store the position in this `file` (default: one for each company, next to the logins)")
	flags.StringVar(&f.every, "every", "10s", "look for changes after this `duration`")
	flags.StringVar(&f.timeout, "timeout", "2m", "end a program or a request that takes longer than this `duration`, and try again")
	flags.BoolVar(&f.withRecord, "with-record", false, "add the record as it is now")
	flags.BoolVar(&f.newKey, "new-key", false, "continue with a key other than the one in the file")
	flags.StringVar(&f.webhook, "webhook", "", "post each change to this `URL` instead of running a program")
	flags.StringVar(&f.secretFile, "webhook-secret-file", "", "the `file` with the secret that signs (default: the variable "+secretVariable+")")
	cmd.Args = cobra.ArbitraryArgs // the program and its arguments; checked below
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args); err != nil {
			return err
		}
		deliver, err := u.deliverer(cmd, &f, args)
		if err != nil {
			return err
		}
		return u.follow(cmd, &f, deliver)
	}
	return cmd
}

func (f *followFlags) check(cmd *cobra.Command, args []string) (err error) {
	switch {
	case f.webhook != "" && len(args) > 0:
		return terminal.NewCommandUsageError(cmd, "--webhook takes the place of a program: leave one out")
	case f.webhook == "" && f.secretFile != "":
		return terminal.NewCommandUsageError(cmd, "--webhook-secret-file needs --webhook")
	case f.webhook == "" && (cmd.ArgsLenAtDash() != 0 || len(args) == 0):
		return terminal.NewCommandUsageError(cmd, "name the program and its arguments after --, or --webhook URL")
	}
	if f.webhook == "" {
		if _, err := exec.LookPath(args[0]); err != nil {
			return terminal.NewCommandUsageError(cmd, "%v", err)
		}
	}
	if f.timeLimit, err = terminal.ParseDuration(f.timeout); err != nil || f.timeLimit == 0 {
		return terminal.NewCommandUsageError(cmd, "--timeout: must be a length of time such as 30s or 5m")
	}
	if f.period, err = terminal.ParseDuration(f.every); err != nil || f.period < time.Second {
		return terminal.NewCommandUsageError(cmd, "--every: must be a length of time such as 10s or 1m, at least 1s")
	}
	if f.since != "" {
		if _, err := SinceTime(f.since, time.Time{}); err != nil {
			return terminal.NewCommandUsageError(cmd, "--since: %s", err)
		}
	}
	return nil
}

// deliverer returns a function that delivers a change to the program or the webhook. The function's
// last argument is the change as JSON.
func (u *userCommands) deliverer(cmd *cobra.Command, f *followFlags, args []string) (func(context.Context, follow.Change, []byte) error, error) {
	if f.webhook == "" {
		p := program.Program{Args: args, Timeout: f.timeLimit, Out: u.Out, Err: u.Err}
		return func(ctx context.Context, _ follow.Change, text []byte) error {
			err := p.Run(ctx, append(text, '\n'))
			if errors.Is(err, exec.ErrWaitDelay) { // the program exited with 0, but a process that it started is still running
				return nil
			}
			return err
		}, nil
	}
	secrets, err := readWebhookSecrets(f.secretFile)
	if err != nil {
		return nil, terminal.NewCommandUsageError(cmd, "%s", err)
	}
	endpoint, err := webhook.NewEndpoint(f.webhook, secrets, f.timeLimit, u.Now)
	if err != nil {
		return nil, terminal.NewCommandUsageError(cmd, "--webhook: %s", err)
	}
	return func(ctx context.Context, c follow.Change, text []byte) error {
		err := endpoint.Send(ctx, c.ID, webhook.Message{Type: c.Type + "." + c.Action, Timestamp: c.OccurredAt, Data: text})
		if errors.Is(err, webhook.ErrGone) {
			return follow.Final(err)
		}
		return err
	}, nil
}

// readWebhookSecrets reads the secrets of a webhook from a file that only its owner can read, or
// from the environment.
func readWebhookSecrets(file string) ([]webhook.Secret, error) {
	name, text := secretVariable, os.Getenv(secretVariable)
	if file != "" {
		info, err := os.Stat(file)
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("%s can be read by others: run chmod 600 on it", file)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--webhook-secret-file: %w", err)
		}
		name, text = file, string(content)
	}
	secrets, err := webhook.ParseSecrets(text)
	switch {
	case err != nil && file == "" && text == "":
		return nil, fmt.Errorf("--webhook needs a secret: set %s or --webhook-secret-file", secretVariable)
	case err != nil:
		return nil, fmt.Errorf("%s: the secret %w", name, err)
	}
	return secrets, nil
}

// deliveryError is an error of the program or the webhook, and not of the service.
type deliveryError struct{ error }

func (e deliveryError) Unwrap() error { return e.error }

// Error escapes control characters, because a receiver chooses the names in its certificate.
func (e deliveryError) Error() string { return terminal.EscapeControls(e.error.Error()) }

// explainFollowError is like explainChangesError, but it does not blame the service for an error of
// the program or the webhook.
func (u *userCommands) explainFollowError(err error, r connection) error {
	var delivery deliveryError
	if errors.As(err, &delivery) {
		return err
	}
	return u.explainChangesError(err, r)
}

// reportRetry prints an error and says when the next attempt follows. An API error has several
// lines.
func (u *userCommands) reportRetry(err error, next string) {
	separator := "; "
	if strings.Contains(err.Error(), "\n") {
		separator = "\n  "
	}
	u.Fail(fmt.Errorf("%w%s%s", err, separator, next))
}

// follow follows the feed until the command is told to stop.
func (u *userCommands) follow(cmd *cobra.Command, f *followFlags, deliver func(context.Context, follow.Change, []byte) error) error {
	ctx := cmd.Context()
	r, err := u.connect(f.serviceFlags)
	if err != nil {
		return err
	}
	follower := &follow.Follower{
		API: r.client, Types: strings.Join(slices.Compact(slices.Sorted(slices.Values(f.types))), ","), Since: f.since, AllowNewKey: f.newKey, Period: f.period,
		Deliver: func(ctx context.Context, c follow.Change) error {
			text, err := u.changeText(ctx, r, c, f.withRecord)
			if err != nil {
				return err
			}
			if err := deliver(ctx, c, text); err != nil {
				return deliveryError{err}
			}
			return nil
		},
		Report: func(err error, next string) { u.reportRetry(u.explainFollowError(err, r), next) },
		Note:   u.Note, Sleep: terminal.Sleep,
	}
	err = follower.Retry(ctx, "read the key", func() (err error) {
		follower.Origin, follower.Started, err = u.feedOrigin(ctx, r)
		return follow.FinalIfRefused(err)
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return u.explainChangesError(err, r)
	}
	follower.From = follower.Started
	if f.since != "" {
		if follower.From, err = SinceTime(f.since, follower.Started); err != nil {
			return terminal.NewCommandUsageError(cmd, "--since: %s", err)
		}
	}
	path := f.state
	if path == "" {
		if path, err = positionFile(follower.Origin); err != nil {
			return err
		}
	}
	follower.File, err = follow.OpenFile(path)
	if errors.Is(err, follow.ErrLocked) {
		return fmt.Errorf("%w: use a separate file with --state", err)
	}
	if err != nil {
		return err
	}
	defer follower.File.Close()
	u.Note("following %s at %s with %s; the position is in %s", follower.Origin.CompanyID, r.BaseURL, r.source, path)
	switch err := follower.Run(ctx); {
	case errors.Is(err, follow.ErrBroken):
		return terminal.NewUnknownError(fmt.Errorf("%w. Changes may have been missed: look at the company, then start over with --since", err))
	case err != nil:
		return u.explainFollowError(err, r)
	}
	return nil
}

// feedOrigin returns the feed of the key's company, and the time by the service's clock.
func (u *userCommands) feedOrigin(ctx context.Context, r connection) (origin follow.Origin, now time.Time, err error) {
	var response client.Response
	key, err := r.client.GetCurrentKey(ctx, client.Into(&response))
	if err != nil {
		return origin, now, err
	}
	if now, err = http.ParseTime(response.Header.Get("Date")); err != nil {
		now = u.Now()
	}
	return follow.Origin{BaseURL: r.BaseURL, CompanyID: key.CompanyID, KeyID: key.ID}, now, nil
}

// positionFile returns the path of the default position file. Each service and company has its own.
func positionFile(o follow.Origin) (string, error) {
	dir, err := settingsFolder()
	if err != nil {
		return "", err
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '_'
	}, strings.TrimPrefix(strings.TrimPrefix(o.BaseURL, "https://"), "http://")+"_"+o.CompanyID)
	return filepath.Join(dir, "changes", name+".json"), nil
}

// changeText returns the JSON of a change, with its record if withRecord is set.
func (u *userCommands) changeText(ctx context.Context, r connection, c follow.Change, withRecord bool) ([]byte, error) {
	text := bytes.TrimSpace(c.JSON)
	if !withRecord {
		return bytes.Clone(text), nil
	}
	record, err := readRecord(ctx, r.client, c)
	if err != nil {
		return nil, follow.FinalIfRefused(err)
	}
	var line bytes.Buffer
	line.Write(bytes.TrimSuffix(text, []byte("}")))
	line.WriteString(`,"record":`)
	if err := json.Compact(&line, record); err != nil {
		return nil, fmt.Errorf("the record is not JSON: %w", err)
	}
	line.WriteString("}")
	return line.Bytes(), nil
}
