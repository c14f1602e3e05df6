package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"growthworkspace/scripts/workspace/program"
	"growthworkspace/shared/schema"
)

// sender runs a program that sends one record to its platform. The program reads the record as JSON
// from standard input. Its exit code and what it prints say what happened; see senderReport.
type sender struct {
	program []string // the command and its arguments
	timeout time.Duration
	errOut  io.Writer // the program's standard error
}

// exitNothingSent is the exit code of a program that has sent nothing and wants to be called again.
// It is EX_TEMPFAIL in sysexits.h.
const exitNothingSent = 75

// senderOutputBytesMax is the maximum size of what a program prints. If a program prints more, the
// outcome is unknown.
const senderOutputBytesMax = 64 << 10

// outcome says whether a program has sent a record.
type outcome int

const (
	outcomeSent    outcome = iota
	outcomeFailed          // the platform refused the record; it was not sent
	outcomeRetry           // nothing was sent; the program wants to be called again
	outcomeUnknown         // nobody knows whether the record was sent
)

// senderReport is what is known after a program has ended.
//
//	exit code 0, a JSON object                      sent
//	exit code 0, a JSON object with outcome failed  failed
//	exit code 75, no output                         retry
//	anything else                                   unknown
//
// If the output contradicts itself or the exit code, the outcome is unknown, too.
type senderReport struct {
	outcome outcome
	printed report // without the claim and the outcome; only for outcomeSent and outcomeFailed
	problem string // why the outcome is unknown, or why the program could not be run
}

// senderOutput is the JSON object that a program prints. Fields that are null or missing are empty,
// except Outcome.
type senderOutput struct {
	Outcome                                             *string // nil means that the record was sent
	ExternalID, ExternalURL, PublishedAt, FailureReason string
}

// send runs the program on a record. It returns outcomeUnknown unless the program has clearly said
// what happened.
func (s sender) send(ctx context.Context, record any) senderReport {
	text, err := schema.Encode(record)
	if err != nil {
		return senderReport{outcome: outcomeRetry, problem: err.Error()}
	}
	out := &boundedBuffer{limit: senderOutputBytesMax}
	err = program.Program{Args: s.program, Timeout: s.timeout, Out: out, Err: s.errOut}.Run(ctx, append(text, '\n'))
	var exit *exec.ExitError
	switch {
	case errors.Is(err, program.ErrNotStarted):
		return senderReport{outcome: outcomeRetry, problem: err.Error()}
	case errors.As(err, &exit) && exit.ExitCode() == exitNothingSent:
		if len(bytes.TrimSpace(out.Bytes())) > 0 && readSenderOutput(out.Bytes()).outcome != outcomeRetry {
			return senderReport{outcome: outcomeUnknown, problem: fmt.Sprintf("it ended with %d after it had printed something", exitNothingSent)}
		}
		return senderReport{outcome: outcomeRetry}
	case err != nil:
		return senderReport{outcome: outcomeUnknown, problem: err.Error()}
	case out.exceeded:
		return senderReport{outcome: outcomeUnknown, problem: fmt.Sprintf("it printed more than %d bytes", senderOutputBytesMax)}
	}
	return readSenderOutput(out.Bytes())
}

// readSenderOutput reads the output of a program that exited with code 0.
func readSenderOutput(text []byte) senderReport {
	unknownReport := func(problem string) senderReport {
		return senderReport{outcome: outcomeUnknown, problem: "it printed no outcome: " + problem}
	}
	var printed *senderOutput
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&printed); err != nil {
		return unknownReport(err.Error())
	}
	if _, err := d.Token(); printed == nil || !errors.Is(err, io.EOF) {
		return unknownReport("want one JSON object and nothing else")
	}
	outcome := "published"
	if printed.Outcome != nil {
		outcome = *printed.Outcome
	}
	publishedAt, err := optionalTime(printed.PublishedAt)
	if err != nil {
		return unknownReport("publishedAt: " + err.Error())
	}
	ended := report{externalID: printed.ExternalID, externalURL: printed.ExternalURL, publishedAt: publishedAt, failureReason: printed.FailureReason}
	switch outcome {
	case "published", "posted":
		if printed.FailureReason != "" {
			return unknownReport("a failureReason needs the outcome failed")
		}
		return senderReport{outcome: outcomeSent, printed: ended}
	case "failed", "retry":
		if printed.ExternalID != "" || printed.ExternalURL != "" || printed.PublishedAt != "" {
			return unknownReport("the outcome is " + outcome + ", but there is an externalId, externalUrl or publishedAt")
		}
		if outcome == "retry" {
			return senderReport{outcome: outcomeRetry}
		}
		return senderReport{outcome: outcomeFailed, printed: ended}
	}
	return unknownReport(fmt.Sprintf("no outcome %q", outcome))
}

// boundedBuffer keeps what is written up to a limit, and discards the rest.
type boundedBuffer struct {
	bytes.Buffer

	limit    int
	exceeded bool
}

func (b *boundedBuffer) Write(text []byte) (int, error) {
	kept := text
	if room := b.limit - b.Len(); len(text) > room {
		kept, b.exceeded = text[:room], true
	}
	_, err := b.Buffer.Write(kept)
	return len(text), err
}
