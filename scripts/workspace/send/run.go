package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	osuser "os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions/broadcast"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/client"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/timestamp"
)

// sendFlags are the values of the flags of `due run` and `approved run`.
type sendFlags struct {
	target, onUnknown, every, timeout, confirmedBy string
	parallel                                       int

	interval, programTimeout time.Duration // every and timeout, parsed
}

const (
	parallelMax = 64

	unknownKeep  = "keep"
	unknownRetry = "retry"
)

// runCommand makes cmd a command that claims records, runs a program on each, and reports what
// happened.
func (c commands) runCommand(cmd *cobra.Command) *cobra.Command {
	f, flags := &sendFlags{}, cmd.Flags()
	flags.StringVar(&f.target, c.target, "", "what the program can send to: `"+strings.Join(c.targets, "|")+"`")
	flags.IntVar(&f.parallel, "parallel", 1, fmt.Sprintf("the most `programs` that run at once, 1 to %d", parallelMax))
	flags.StringVar(&f.timeout, "timeout", "2m", "end a program that runs longer than this `duration`; nobody knows then what it sent")
	flags.StringVar(&f.onUnknown, "on-unknown", unknownKeep, "keep: a claim stays if nobody knows what was sent; `retry`: run the program again later, with the same claim")
	if c.format == nil {
		flags.StringVar(&f.every, "every", "", "look again after this `duration`, such as 1m, until the command is stopped")
	} else {
		flags.StringVar(&f.confirmedBy, "confirmed-by", "", "do not ask: the `name` of the person who confirmed the texts")
	}
	cmd.Args = cobra.ArbitraryArgs // the program and its arguments; checked below
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args, c.target, c.targets); err != nil {
			return err
		}
		if c.format != nil && f.confirmedBy == "" {
			switch {
			case !c.Interactive:
				return terminal.NewCommandUsageError(cmd, "a person confirms each text: run it at a terminal, or name the person with --confirmed-by")
			case f.parallel > 1:
				return terminal.NewCommandUsageError(cmd, "--parallel: needs --confirmed-by, because there is one terminal to ask at")
			}
		}
		services, err := c.services()
		if err != nil {
			return err
		}
		r := &sendRun{commands: c, flags: *f, services: services}
		r.sender = sender{program: args, timeout: f.programTimeout, errOut: lockedWriter{&r.mu, c.Err}}
		if c.format != nil {
			r.confirmedBy = cmp.Or(f.confirmedBy, userName())
			c.Note("the texts are confirmed by %s", terminal.EscapeControls(r.confirmedBy))
		}
		return r.run(cmd.Context())
	}
	return cmd
}

// userName returns the name of the user who runs this program and confirms at the terminal.
func userName() string {
	if who, err := osuser.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return "somebody at a terminal"
}

func (f *sendFlags) check(cmd *cobra.Command, args []string, targetFlag string, targets []string) (err error) {
	switch {
	case !slices.Contains(targets, f.target):
		return terminal.NewCommandUsageError(cmd, "--%s: must be one of %s", targetFlag, strings.Join(targets, ", "))
	case f.parallel < 1 || f.parallel > parallelMax:
		return terminal.NewCommandUsageError(cmd, "--parallel: must be 1 to %d", parallelMax)
	case f.onUnknown != unknownKeep && f.onUnknown != unknownRetry:
		return terminal.NewCommandUsageError(cmd, "--on-unknown: must be keep or retry")
	case cmd.ArgsLenAtDash() != 0 || len(args) == 0:
		return terminal.NewCommandUsageError(cmd, "name the program and its arguments after --")
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return terminal.NewCommandUsageError(cmd, "%v", err)
	}
	if f.programTimeout, err = terminal.ParseDuration(f.timeout); err != nil || f.programTimeout == 0 {
		return terminal.NewCommandUsageError(cmd, "--timeout: must be a length of time such as 30s or 5m")
	}
	if f.every == "" {
		return nil
	}
	if f.interval, err = terminal.ParseDuration(f.every); err != nil || f.interval == 0 {
		return terminal.NewCommandUsageError(cmd, "--every: must be a length of time such as 30s or 1m")
	}
	return nil
}

// sendRun is one run of `due run` or `approved run`.
type sendRun struct {
	commands

	flags       sendFlags
	services    []user.RemoteService
	sender      sender
	confirmedBy string

	mu      sync.Mutex // protects unknown and the outputs
	unknown int        // the number of records whose outcome is unknown
}

// lockedWriter is a writer that this program shares with the programs that it runs.
type lockedWriter struct {
	mu  *sync.Mutex
	out io.Writer
}

func (l lockedWriter) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

// sendResult is a line of output with --json.
type sendResult struct {
	ID      string  `json:"id"`
	ClaimID string  `json:"claimId"`
	Outcome string  `json:"outcome"` // sent, failed, retry or unknown
	Problem *string `json:"problem"` // why the outcome is not sent

	ExternalID  *string `json:"externalId"`
	ExternalURL *string `json:"externalUrl"`
}

// run sends the records that are ready, once or periodically. When it is told to stop, it first
// finishes the records that it has claimed.
func (r *sendRun) run(ctx context.Context) error {
	for {
		err := r.sendReady(ctx)
		if ctx.Err() != nil || r.flags.interval == 0 {
			return errors.Join(err, r.unknownError())
		}
		if err != nil { // the next round may succeed
			r.Fail(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.flags.interval):
		}
	}
}

// unknownError returns an error if the outcome of any record is unknown.
func (r *sendRun) unknownError() error {
	if r.unknown == 0 {
		return nil
	}
	lines := make([]string, len(r.services))
	for n, s := range r.services {
		lines[n] = "`" + r.stuckCommandLine(s) + "`"
	}
	return fmt.Errorf("nobody knows what happened to %d of the %s: %s lists them", r.unknown, r.nouns, strings.Join(lines, " or "))
}

// stuckCommandLine returns the command line that lists the claimed records of a company.
func (r *sendRun) stuckCommandLine(s user.RemoteService) string {
	return r.Command("%s stuck --older 0s%s", r.ready, s.Arguments)
}

// sendPageSize is the number of records in one page of the list.
const sendPageSize = 50

// sendReady sends each ready record of each company once. If the program gives a record back, the
// record stays ready for the next run. Once ctx is done, sendReady claims no more records and
// returns no error. A failure of one company does not keep those of another from being sent.
func (r *sendRun) sendReady(ctx context.Context) error {
	var problems []error
	for _, s := range r.services {
		problems = append(problems, r.sendReadyOf(ctx, s))
	}
	return errors.Join(problems...)
}

func (r *sendRun) sendReadyOf(ctx context.Context, s user.RemoteService) error {
	if r.flags.onUnknown == unknownRetry {
		if err := r.resendStuck(ctx, s); err != nil {
			return err
		}
	}
	for cursor := ""; ctx.Err() == nil; {
		records, next, err := r.listReady(ctx, s, r.flags.target, cursor, sendPageSize)
		if err != nil {
			return ignoreIfEnded(ctx, err)
		}
		err = parallel.Do(len(records), r.flags.parallel, func(n int) error { return r.claimAndSend(ctx, s, records[n]) })
		if err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return nil
}

// ignoreIfEnded returns err, or nil if ctx is done, because a list that was cut short by ctx is not
// an error.
func ignoreIfEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// stuckMargin is added to the timeout of a program. If a claim is older than the sum, its program
// has probably exited. If the program is still running, the platform recognises the claim.
const stuckMargin = time.Minute

// resendStuck runs the program again on each record whose claim is so old that its program has
// probably exited. The claim stays the same, so the platform recognises a record that it already
// has. At a terminal, the person confirms each of these records, too, because another program or
// person may have created the claim.
func (r *sendRun) resendStuck(ctx context.Context, s user.RemoteService) error {
	stuck, err := r.listStuck(ctx, s, timestamp.Format(r.Now().Add(-r.flags.programTimeout-stuckMargin)))
	if err != nil {
		return ignoreIfEnded(ctx, err)
	}
	stuck = slices.DeleteFunc(stuck, func(claimed record) bool { return claimed.claimID() == "" || claimed.target() != r.flags.target })
	return parallel.Do(len(stuck), r.flags.parallel, func(n int) error {
		if ctx.Err() != nil {
			return nil
		}
		if r.format != nil {
			text := "Nobody knows whether this reply was posted.\n\n" + r.format(stuck[n])
			if yes, err := r.confirm(text); err != nil || !yes || ctx.Err() != nil {
				return err
			}
		}
		return r.sendAndReport(ctx, s, stuck[n], true)
	})
}

// claimAndSend claims a record and sends it. It does nothing if ctx is done, if the person at the
// terminal does not confirm the text, or if another program claims the record first. Once the
// request for the claim has started, it is not interrupted. Otherwise the service might have
// created the claim, and nothing would send the record.
func (r *sendRun) claimAndSend(ctx context.Context, s user.RemoteService, ready record) error {
	if ctx.Err() != nil {
		return nil
	}
	shownText := ""
	if r.format != nil {
		shownText = r.format(ready)
		if yes, err := r.confirm(shownText); err != nil || !yes || ctx.Err() != nil {
			return err
		}
	}
	claimed, err := r.claimRecord(context.WithoutCancel(ctx), s, ready.ID, r.confirmedBy)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && (refused.Code == client.CodeConflict || refused.Code == client.CodeNotFound):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Note("%s: not claimed: %s", ready.ID, strings.Join(refused.Messages, "; "))
		return nil
	case isRefusal(err):
		return s.ExplainRecord(err, r.noun, ready.ID)
	case err != nil: // the claim may exist
		return fmt.Errorf("%s %s: %w; if it is claimed, nothing sends it, and `%s` lists it", r.noun, ready.ID, s.Explain(err), r.stuckCommandLine(s))
	}
	if r.format != nil {
		if text := r.format(claimed); text != shownText { // the record was changed and approved again since it was listed
			if yes, err := r.confirm(text); err != nil || !yes {
				return errors.Join(err, r.reportOutcome(ctx, s, claimed, senderReport{outcome: outcomeRetry}))
			}
		}
	}
	return r.sendAndReport(ctx, s, claimed, false)
}

// confirm shows text and asks whether to post it. With --confirmed-by it does not ask.
func (r *sendRun) confirm(text string) (yes bool, err error) {
	if r.flags.confirmedBy != "" {
		return true, nil
	}
	return r.Ask("%s\n\nPost this reply?", text)
}

// sendAndReport runs the program on a claimed record and reports what happened. A signal to stop
// does not interrupt it. If isResend is true, the program has already run with this claim, with an
// unknown outcome. The record is then neither given back nor reported as failed, because either
// would allow a new claim. The new claim would have a different id, so the platform would not
// recognise a record that it already has.
func (r *sendRun) sendAndReport(ctx context.Context, s user.RemoteService, claimed record, isResend bool) error {
	done := r.sender.send(context.WithoutCancel(ctx), claimed)
	switch {
	case isResend && done.outcome == outcomeRetry:
		done = senderReport{outcome: outcomeUnknown, problem: "it sent nothing now, but may have before"}
	case isResend && done.outcome == outcomeFailed:
		done = senderReport{outcome: outcomeUnknown, problem: strings.TrimSuffix("it failed now, but may have been sent before: "+done.printed.failureReason, ": ")}
	}
	return r.reportOutcome(ctx, s, claimed, done)
}

// reportOutcome reports the outcome of the program to the service. If the outcome is unknown, or if
// the report is not accepted, the claim stays.
func (r *sendRun) reportOutcome(ctx context.Context, s user.RemoteService, claimed record, done senderReport) error {
	line := sendResult{ID: claimed.ID, ClaimID: claimed.claimID()}
	ended := done.printed
	switch done.outcome {
	case outcomeSent:
		line.Outcome, ended.outcome = "sent", r.sent
		line.ExternalID, line.ExternalURL = textOrNil(ended.externalID), textOrNil(ended.externalURL)
	case outcomeFailed:
		line.Outcome, line.Problem, ended.outcome = "failed", textOrNil(ended.failureReason), outcomeFailedWord
	case outcomeRetry:
		line.Outcome, line.Problem, ended.outcome = "retry", textOrNil(done.problem), r.givenBack
	case outcomeUnknown:
		line.Outcome, line.Problem = "unknown", &done.problem
		return r.printResult(line)
	}
	ended.claimID = claimed.claimID()
	if err := r.repeatReport(ctx, s, claimed.ID, ended); err != nil {
		line.Problem = new(fmt.Sprintf("%s, but the report was not accepted: %v", line.Outcome, s.ExplainRecord(err, r.noun, claimed.ID)))
		line.Outcome = "unknown"
	}
	return r.printResult(line)
}

// While the service fails, a report is retried for reportPeriod. The first pause is reportPause,
// and each further pause is twice as long.
const (
	reportPeriod = time.Minute
	reportPause  = 250 * time.Millisecond
)

// repeatReport retries a report until the service accepts or refuses it, or until reportPeriod is
// over. Repeating a report is safe, and only this process knows the outcome. A signal to stop does
// not interrupt an attempt, but it ends the pause between two attempts.
func (r *sendRun) repeatReport(ctx context.Context, s user.RemoteService, recordID string, ended report) error {
	if reason := []rune(ended.failureReason); len(reason) > broadcast.ReasonChars { // a platform's message may be long
		ended.failureReason = string(reason[:broadcast.ReasonChars])
	}
	started := r.Now()
	for pause := reportPause; ; pause *= 2 {
		_, err := r.reportRecord(context.WithoutCancel(ctx), s, recordID, ended)
		if err == nil || isRefusal(err) || ctx.Err() != nil || r.Now().Sub(started)+pause > reportPeriod {
			return err
		}
		_ = r.Wait(ctx, pause) // if ctx is done, the next attempt is the last
	}
}

// isRefusal reports whether the service has refused a request, so that repeating the request would
// fail, too.
func isRefusal(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests
}

func (r *sendRun) printResult(line sendResult) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if line.Outcome == "unknown" {
		r.unknown++
	}
	if r.JSON {
		return terminal.PrintJSON(r.Out, line)
	}
	text := line.ID + " " + line.Outcome
	for _, part := range []*string{line.ExternalID, line.ExternalURL} {
		if part != nil {
			text += " " + terminal.EscapeControls(*part)
		}
	}
	if line.Problem != nil {
		text += ": " + terminal.EscapeControls(*line.Problem)
	}
	if line.Outcome == "unknown" {
		text += "; the claim " + line.ClaimID + " stays"
	}
	return r.Write(text + "\n")
}
