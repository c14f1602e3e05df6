package user

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/kinds"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// Limits on a batch. They follow the limits of the API.
const (
	pushReviewsMax = 100
	pushPointsMax  = 500
	pushBytesMax   = 240_000 // for the records as JSON; the API accepts a body of up to 256 KB
)

// pushCommand returns the commands that send records to the API.
func (u *userCommands) pushCommand() *cobra.Command {
	return terminal.AddCommands(&cobra.Command{Use: "push", Short: "Send reviews, metric points and audits from files"},
		u.pushReviewsCommand(), u.pushPointsCommand(), u.pushAuditCommand())
}

// pushHelp is the part of the help text that the push commands share.
const pushHelp = `

FILE has lines of an import, as "workspace convert" writes them; - is standard input. With
--from KIND, the files are those of another program. All files are read and checked before
the first request. Requests that the service refuses for a time are retried. A retry never
applies twice, and repeating the command is safe. Kinds:

`

// pushFlags contains what the push commands share.
type pushFlags struct {
	*userCommands

	service      serviceFlags
	convertFlags convert.Flags
}

// register adds the flags to cmd, and makes it send the records in the files.
func (p *pushFlags) register(cmd *cobra.Command, recordType string, send func(ctx context.Context, c connection, r *convert.Result) error) *cobra.Command {
	p.service.register(cmd.Flags())
	p.table.RegisterDemo(cmd.Flags())
	p.convertFlags.Register(cmd, func(flags *pflag.FlagSet) []convert.Kind {
		return slices.DeleteFunc(kinds.RegisterAll(flags), func(k convert.Kind) bool { return !slices.Contains(k.Types, recordType) })
	})
	cmd.Long += pushHelp + p.convertFlags.HelpKinds()
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return terminal.NewCommandUsageError(cmd, "name the FILE to push, or - for standard input")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind := convert.Lines(recordType)
		if recordType == pointType {
			kind = convert.Lines(pointType, definitionType)
		}
		if err := p.convertFlags.RequireFrom(cmd); err != nil {
			return err
		}
		if p.convertFlags.From != "" {
			var err error
			if kind, err = p.convertFlags.Kind(cmd); err != nil {
				return err
			}
		}
		return p.convertFlags.Run(cmd.Context(), p.Terminal, kind, args, func(r *convert.Result) error {
			c, err := p.connect(p.service)
			if err != nil {
				return err
			}
			return send(cmd.Context(), c, r)
		})
	}
	return cmd
}

// decodePushed decodes the record of a line to the input of an operation. It leaves out null
// values, which would clear fields, and fields that the operation does not accept. size is an upper
// bound for the length of the record in a request, whose JSON escapes more characters than the line
// does.
func decodePushed[T any](line []byte) (recordType string, out T, size int, err error) {
	var entry struct {
		Type   string                     `json:"type"`
		Record map[string]json.RawMessage `json:"record"`
	}
	if err = json.Unmarshal(line, &entry); err != nil {
		return "", out, 0, fmt.Errorf("read a record: %w", err)
	}
	for name, value := range entry.Record {
		if string(value) == "null" {
			delete(entry.Record, name)
		}
	}
	text, err := json.Marshal(entry.Record)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return entry.Type, out, len(text), err
}

// pushBatches sends records in batches. An error of the function send refers to elements of a
// batch. pushBatches replaces these references with places in the files.
func pushBatches[T any](p *pushFlags, c connection, r *convert.Result, recordType string, batchMax int, send func([]T) error) (count int, err error) {
	bar := p.RecordProgress("pushing", r.Total())
	defer bar.End()
	var batch []T
	var places []string
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := send(batch); err != nil {
			return p.explainBatchError(err, c, places, count, r.Total())
		}
		bar.Add(len(batch))
		count += len(batch)
		batch, places, size = nil, nil, 0
		return nil
	}
	err = r.Each(func(l convert.Line) error {
		kind, record, recordSize, err := decodePushed[T](l.JSON)
		if kind == definitionType && recordType == pointType {
			return nil // createDefinitions has already created this definition
		}
		if err != nil || kind != recordType {
			return errors.Join(err, foreignTypeError(l, kind, recordType))
		}
		if len(batch) == batchMax || size+recordSize > pushBytesMax {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, places, size = append(batch, record), append(places, l.Place()), size+recordSize
		return nil
	})
	if err == nil {
		err = flush()
	}
	return count, err
}

// foreignTypeError returns an error for a record of a type that a command does not push.
func foreignTypeError(l convert.Line, kind, wanted string) error {
	if kind == wanted {
		return nil
	}
	return fmt.Errorf("%s: is a record of type %s; this command pushes records of type %s", l.Place(), kind, wanted)
}

// batchElementPattern matches the element of a batch in a message of the API.
var batchElementPattern = regexp.MustCompile(`^body\.(?:records|points)\[(\d+)\]\.?`)

// explainBatchError replaces the batch elements in an error's messages with their places in the
// files, and adds how many records were pushed.
func (p *pushFlags) explainBatchError(err error, c connection, places []string, done, total int) error {
	err = p.explainCallError(err, c)
	var refused *callError
	if errors.As(err, &refused) {
		for i, m := range refused.Messages {
			found := batchElementPattern.FindStringSubmatch(m)
			if found == nil {
				continue
			}
			if n, err := strconv.Atoi(found[1]); err == nil && n < len(places) {
				refused.Messages[i] = places[n] + ", " + strings.TrimPrefix(m, found[0])
			}
		}
		refused.hint = strings.TrimPrefix(fmt.Sprintf("%s; %d of %d records are pushed, and repeating the command is safe", refused.hint, done, total), "; ")
		return refused
	}
	return fmt.Errorf("%w\n%d of %d records are pushed, and repeating the command is safe", err, done, total)
}

func (u *userCommands) pushReviewsCommand() *cobra.Command {
	p := &pushFlags{userCommands: u}
	cmd := &cobra.Command{
		Use: "reviews FILE...", Short: "Push reviews and mentions",
		Long: `Push reviews and mentions to the service. source and externalId identify a record: a new
one is created, a stored one changes. Fields that a record does not have keep the stored
value. A push never touches replies; "workspace import --from" takes those of the stores.
Needs the scope feedback:write.`,
		Example: `  workspace push reviews --from app-store page*.json
  workspace convert --from google-play reviews_*.csv | workspace push reviews -`,
	}
	return p.register(cmd, "feedback", func(ctx context.Context, c connection, r *convert.Result) error {
		var sum client.PushFeedbackResult
		_, err := pushBatches(p, c, r, "feedback", pushReviewsMax, func(batch []client.PushFeedbackRecord) error {
			got, err := c.client.PushFeedback(ctx, client.PushFeedbackInput{Records: batch})
			sum.Accepted, sum.Created, sum.Updated = sum.Accepted+got.Accepted, sum.Created+got.Created, sum.Updated+got.Updated
			return err
		})
		if err != nil {
			return err
		}
		return p.Print(sum, "pushed %d reviews and mentions: %d created, %d updated, %d unchanged", sum.Accepted, sum.Created, sum.Updated, sum.Accepted-sum.Created-sum.Updated)
	})
}

// The types of the records that `push points` sends.
const (
	pointType      = "metric-point"
	definitionType = "metric-definition"
)

// createDefinitions creates the metric definitions in the files. It must run before the points are
// pushed. Otherwise, the push would create the definitions without a unit. It leaves existing
// definitions unchanged.
func (p *pushFlags) createDefinitions(ctx context.Context, c connection, r *convert.Result) error {
	if r.Counts[definitionType] == 0 {
		return nil
	}
	return r.Each(func(l convert.Line) error {
		if !bytes.HasPrefix(l.JSON, []byte(`{"type":"`+definitionType+`"`)) {
			return nil
		}
		_, definition, _, err := decodePushed[client.CreateMetricDefinitionInput](l.JSON)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Place(), err)
		}
		_, err = c.client.CreateMetricDefinition(ctx, definition)
		var refused *client.Error
		if errors.As(err, &refused) && refused.Status == http.StatusConflict {
			return nil
		}
		if err != nil {
			return p.explainBatchError(err, c, nil, 0, r.Total())
		}
		return nil
	})
}

func (u *userCommands) pushPointsCommand() *cobra.Command {
	p := &pushFlags{userCommands: u}
	cmd := &cobra.Command{
		Use: "points FILE...", Short: "Push metric points",
		Long: `Push metric points to the service. A point replaces the stored one of the same series and
bucket. A metric that has no definition gets that of the file, or else one that a person
should review. Needs the scope metrics:write.`,
		Example: `  workspace push points points.jsonl
  workspace push points --from csv numbers.csv --mapping numbers.json
  workspace push points --from plausible export.zip`,
	}
	return p.register(cmd, pointType, func(ctx context.Context, c connection, r *convert.Result) error {
		sum := client.PushResult{CreatedKeys: []string{}}
		if err := p.createDefinitions(ctx, c, r); err != nil {
			return err
		}
		_, err := pushBatches(p, c, r, pointType, pushPointsMax, func(batch []client.PushMetricPointsPoint) error {
			got, err := c.client.PushMetricPoints(ctx, client.PushMetricPointsInput{Points: batch})
			sum.Accepted, sum.CreatedKeys = sum.Accepted+got.Accepted, append(sum.CreatedKeys, got.CreatedKeys...)
			return err
		})
		if err != nil {
			return err
		}
		createdText := ""
		if len(sum.CreatedKeys) > 0 {
			createdText = "; new metrics to review: " + strings.Join(sum.CreatedKeys, ", ")
		}
		return p.Print(sum, "pushed %d points%s", sum.Accepted, createdText)
	})
}
