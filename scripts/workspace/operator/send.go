package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/timestamp"
)

// sendingSteps contains the steps in which `due run` and `approved run` differ.
type sendingSteps[S, R, C any] struct {
	idOf        func(R) string
	claimOf     func(C) (recordID, claimID, target string) // claimID is empty if the record has no claim
	format      func(R) string                             // the text that a person confirms; nil if no confirmation is needed
	formatClaim func(C) string                             // like format, for a claimed record
	reportSent  func(s S, ctx context.Context, companyID, recordID, claimID string, o senderOutput) (C, error)
	reportFail  func(s S, ctx context.Context, companyID, recordID, claimID string, o senderOutput) (C, error)
	giveBack    func(s S, ctx context.Context, companyID, recordID, claimID string) (C, error) // ends a claim if nothing was sent
}

// sendFlags are the values of the flags of `due run` and `approved run`.
type sendFlags struct {
	company, target, onUnknown, every, timeout, confirmedBy string
	parallel                                                int

	interval, programTimeout time.Duration // every and timeout, parsed
}

const (
	parallelMax = 64

	unknownKeep  = "keep"
	unknownRetry = "retry"
)

// runCommand makes cmd a command that claims records, runs a program on each, and reports what
// happened. targetFlag is the flag that names the platform or source. targets are its values.
func (w workerCommands[S, R, C]) runCommand(cmd *cobra.Command, targetFlag string, targets []string) *cobra.Command {
	f, flags := &sendFlags{}, cmd.Flags()
	flags.StringVar(&f.company, "company", "", "the company's `id` (default: the key's company)")
	flags.StringVar(&f.target, targetFlag, "", "what the program can send to: `"+strings.Join(targets, "|")+"`")
	flags.IntVar(&f.parallel, "parallel", 1, fmt.Sprintf("the most `programs` that run at once, 1 to %d", parallelMax))
	flags.StringVar(&f.timeout, "timeout", "2m", "end a program that runs longer than this `duration`; nobody knows then what it sent")
	flags.StringVar(&f.onUnknown, "on-unknown", unknownKeep, "keep: a claim stays if nobody knows what was sent; `retry`: run the program again later, with the same claim")
	if w.sending.format == nil {
		flags.StringVar(&f.every, "every", "", "look again after this `duration`, such as 1m, until the command is stopped")
	} else {
		flags.StringVar(&f.confirmedBy, "confirmed-by", "", "do not ask: the `name` of the person who confirmed the texts")
	}
	cmd.Args = cobra.ArbitraryArgs // the program and its arguments; checked below
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args, targetFlag, targets); err != nil {
			return err
		}
		if w.sending.format != nil && f.confirmedBy == "" {
			switch {
			case !w.Interactive:
				return terminal.NewCommandUsageError(cmd, "a person confirms each text: run it at a terminal, or name the person with --confirmed-by")
			case f.parallel > 1:
				return terminal.NewCommandUsageError(cmd, "--parallel: needs --confirmed-by, because there is one terminal to ask at")
			}
		}
		return w.withRecordAccess(cmd, f.company, "name the company with --company ID, or set WORKSPACE_KEY", nil, func(ctx context.Context, p recordAccess[S]) error {
			r := &sendRun[S, R, C]{workerCommands: w, flags: *f, access: p}
			r.sender = sender{program: args, timeout: f.programTimeout, errOut: lockedWriter{&r.mu, w.Err}}
			if w.sending.format != nil {
				r.confirmedBy = cmp.Or(f.confirmedBy, userName())
				w.Note("the texts are confirmed by %s", terminal.EscapeControls(r.confirmedBy))
			}
			return r.run(ctx)
		})
	}
	return cmd
}

// userName returns the name of the user who runs this program and confirms at the terminal.
func userName() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
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
	case f.company == everyCompany:
		return terminal.NewCommandUsageError(cmd, "--company: name one company")
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
type sendRun[S, R, C any] struct {
	workerCommands[S, R, C]

	flags       sendFlags
	access      recordAccess[S]
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
func (r *sendRun[S, R, C]) run(ctx context.Context) error {
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
func (r *sendRun[S, R, C]) unknownError() error {
	if r.unknown == 0 {
		return nil
	}
	return fmt.Errorf("nobody knows what happened to %d of the %s: `%s` lists them", r.unknown, r.nouns, r.stuckCommandLine())
}

// stuckCommandLine returns the command line that lists the claimed records.
func (r *sendRun[S, R, C]) stuckCommandLine() string {
	return r.suggest(r.access, r.flags.company, "%s stuck --older 0s", r.readyWord)
}

// sendPageSize is the number of records in one page of the list.
const sendPageSize = 50

// sendReady sends each ready record once. If the program gives a record back, the record stays
// ready for the next run. Once ctx is done, sendReady claims no more records and returns no error.
func (r *sendRun[S, R, C]) sendReady(ctx context.Context) error {
	if r.flags.onUnknown == unknownRetry {
		if err := r.resendStuck(ctx); err != nil {
			return err
		}
	}
	company := r.access.company()
	for after := ""; ctx.Err() == nil; {
		page, err := r.listReady(r.access.store, ctx, company, r.flags.target, after, sendPageSize)
		if err != nil {
			return ignoreIfEnded(ctx, fmt.Errorf("list the %s that are %s: %w", r.nouns, r.readyWord, err))
		}
		err = parallel.Do(len(page.Records), r.flags.parallel, func(n int) error { return r.claimAndSend(ctx, page.Records[n]) })
		if err != nil {
			return err
		}
		if after = page.Next; after == "" {
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
func (r *sendRun[S, R, C]) resendStuck(ctx context.Context) error {
	before := timestamp.Format(r.Now().Add(-r.flags.programTimeout - stuckMargin))
	stuck, err := r.listStuck(r.access.store, ctx, r.access.company(), before)
	if err != nil {
		return ignoreIfEnded(ctx, fmt.Errorf("list the %s that are stuck: %w", r.nouns, err))
	}
	stuck = slices.DeleteFunc(stuck, func(c C) bool {
		_, claimID, target := r.sending.claimOf(c)
		return claimID == "" || target != r.flags.target
	})
	return parallel.Do(len(stuck), r.flags.parallel, func(n int) error {
		if ctx.Err() != nil {
			return nil
		}
		if r.sending.format != nil {
			text := "Nobody knows whether this reply was posted.\n\n" + r.sending.formatClaim(stuck[n])
			if yes, err := r.confirm(text); err != nil || !yes || ctx.Err() != nil {
				return err
			}
		}
		return r.sendAndReport(ctx, stuck[n], true)
	})
}

// claimAndSend claims a record and sends it. It does nothing if ctx is done, if the person at the
// terminal does not confirm the text, or if another program claims the record first. Once the
// request for the claim has started, it is not interrupted. Otherwise the service might have
// created the claim, and nothing would send the record.
func (r *sendRun[S, R, C]) claimAndSend(ctx context.Context, record R) error {
	if ctx.Err() != nil {
		return nil
	}
	recordID, shownText := r.sending.idOf(record), ""
	if r.sending.format != nil {
		shownText = r.sending.format(record)
		if yes, err := r.confirm(shownText); err != nil || !yes || ctx.Err() != nil {
			return err
		}
	}
	claimed, err := r.claim(r.access.store, context.WithoutCancel(ctx), r.access.company(), recordID, r.confirmedBy)
	var refused *fault.Error
	if errors.As(err, &refused) && (refused.Code == fault.Conflict || errors.Is(err, fault.ErrNotFound)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Note("%s: not claimed: %s", recordID, strings.Join(refused.Messages, "; "))
		return nil
	}
	switch {
	case err != nil && isRefusal(err):
		return explainStoreError(err, r.noun, recordID, r.flags.company)
	case err != nil: // the claim may exist
		return fmt.Errorf("%w; if it is claimed, nothing sends it, and `%s` lists it", explainStoreError(err, r.noun, recordID, r.flags.company), r.stuckCommandLine())
	}
	if r.sending.format != nil {
		if text := r.sending.formatClaim(claimed); text != shownText { // the record was changed and approved again since it was listed
			if yes, err := r.confirm(text); err != nil || !yes {
				return errors.Join(err, r.reportOutcome(ctx, claimed, senderReport{outcome: outcomeRetry}))
			}
		}
	}
	return r.sendAndReport(ctx, claimed, false)
}

// confirm shows text and asks whether to post it. With --confirmed-by it does not ask.
func (r *sendRun[S, R, C]) confirm(text string) (yes bool, err error) {
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
func (r *sendRun[S, R, C]) sendAndReport(ctx context.Context, claimed C, isResend bool) error {
	done := r.sender.send(context.WithoutCancel(ctx), claimed)
	switch {
	case isResend && done.outcome == outcomeRetry:
		done = senderReport{outcome: outcomeUnknown, problem: "it sent nothing now, but may have before"}
	case isResend && done.outcome == outcomeFailed:
		done = senderReport{outcome: outcomeUnknown, problem: strings.TrimSuffix("it failed now, but may have been sent before: "+valueOrEmpty(done.printed.FailureReason), ": ")}
	}
	return r.reportOutcome(ctx, claimed, done)
}

// reportOutcome reports the outcome of the program to the store. If the outcome is unknown, or if
// the report is not accepted, the claim stays.
func (r *sendRun[S, R, C]) reportOutcome(ctx context.Context, claimed C, done senderReport) error {
	recordID, claimID, _ := r.sending.claimOf(claimed)
	company, s := r.access.company(), r.access.store
	line := sendResult{ID: recordID, ClaimID: claimID}
	report := func(context.Context) (C, error) { return claimed, nil }
	switch done.outcome {
	case outcomeSent:
		line.Outcome, line.ExternalID, line.ExternalURL = "sent", done.printed.ExternalID, done.printed.ExternalURL
		report = func(ctx context.Context) (C, error) {
			return r.sending.reportSent(s, ctx, company, recordID, claimID, done.printed)
		}
	case outcomeFailed:
		line.Outcome, line.Problem = "failed", done.printed.FailureReason
		report = func(ctx context.Context) (C, error) {
			return r.sending.reportFail(s, ctx, company, recordID, claimID, done.printed)
		}
	case outcomeRetry:
		line.Outcome, line.Problem = "retry", textOrNil(done.problem)
		report = func(ctx context.Context) (C, error) { return r.sending.giveBack(s, ctx, company, recordID, claimID) }
	case outcomeUnknown:
		line.Outcome, line.Problem = "unknown", &done.problem
	}
	if err := r.repeatReport(ctx, report); err != nil {
		line.Problem = new(fmt.Sprintf("%s, but the report was not accepted: %v", line.Outcome, explainStoreError(err, r.noun, recordID, "")))
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
func (r *sendRun[S, R, C]) repeatReport(ctx context.Context, report func(context.Context) (C, error)) error {
	started := r.Now()
	for pause := reportPause; ; pause *= 2 {
		_, err := report(context.WithoutCancel(ctx))
		if err == nil || isRefusal(err) || ctx.Err() != nil || r.Now().Sub(started)+pause > reportPeriod {
			return err
		}
		_ = r.Wait(ctx, pause) // if ctx is done, the next attempt is the last
	}
}

// isRefusal reports whether a store has refused a request, so that repeating the request would
// fail, too.
func isRefusal(err error) bool {
	var byStore *fault.Error
	var byService *refusedError
	return errors.As(err, &byStore) && byStore.Code != fault.Unavailable || errors.As(err, &byService)
}

func (r *sendRun[S, R, C]) printResult(line sendResult) error {
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
