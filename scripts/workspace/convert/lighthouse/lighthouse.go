// Package lighthouse converts Lighthouse reports, and PageSpeed Insights responses that contain
// such a report. A report becomes an audit with one page.
package lighthouse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/tabular"
)

// Kinds registers the flag of the kind "lighthouse", and returns the kind.
func Kinds(flags *pflag.FlagSet) []convert.Kind {
	siteID := flags.String("site", "", "the `id` of the site that was audited")
	return []convert.Kind{{
		Name: "lighthouse", Summary: "JSON reports of Lighthouse 10 to 13, or responses of PageSpeed Insights", Types: []string{"audit"}, Flags: []string{"site"},
		Convert: func(ctx context.Context, in convert.Input, out *convert.Output) error {
			return convertReport(ctx, in, out, *siteID)
		},
	}}
}

const (
	reportBytesMax = 16 << 20 // a report is about 1 MB long, or longer with a screenshot of a long page
	oldestMajor    = 10
	passScore      = 0.9  // the minimum score that Lighthouse shows as passed
	halfScore      = 0.5  // the minimum score that Lighthouse shows in orange instead of red
	placesMax      = 50   // the maximum number of places that the findings list for one check
	fieldTextMax   = 2000 // the maximum number of characters in a field of an audit
	pageTextMax    = 500  // the maximum number of characters in a string copied from the page
)

// report contains the parts of a report that are converted.
type report struct {
	Version       string              `json:"lighthouseVersion"`
	RequestedURL  string              `json:"requestedUrl"`
	DisplayedURL  string              `json:"finalDisplayedUrl"`
	FinalURL      string              `json:"finalUrl"`
	FetchTime     string              `json:"fetchTime"`
	Categories    map[string]category `json:"categories"`
	Audits        map[string]check    `json:"audits"`
	RuntimeError  *runtimeError       `json:"runtimeError"`
	Warnings      []any               `json:"runWarnings"`
	Configuration struct {
		FormFactor string `json:"formFactor"`
	} `json:"configSettings"`
	Timing struct {
		Total float64 `json:"total"` // in milliseconds
	} `json:"timing"`
	Steps []json.RawMessage `json:"steps"` // only in a user flow, which contains several reports
}

type runtimeError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type category struct {
	Title string   `json:"title"`
	Score *float64 `json:"score"` // 0 to 1; null if Lighthouse could not compute it
}

// check is one test of the page. Lighthouse calls it an audit.
type check struct {
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	Score        *float64        `json:"score"`
	Mode         string          `json:"scoreDisplayMode"`
	DisplayValue string          `json:"displayValue"`
	NumericValue *float64        `json:"numericValue"`
	NumericUnit  string          `json:"numericUnit"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// failed reports whether the page failed the check, or the check could not be run.
func (c check) failed() bool {
	switch c.Mode {
	case "error":
		return true
	case "informative", "manual", "notApplicable": // these have no score, so they cannot fail
		return false
	}
	return c.Score != nil && *c.Score < passScore
}

func convertReport(ctx context.Context, in convert.Input, out *convert.Output, siteID string) error {
	if in.Size > reportBytesMax {
		return fmt.Errorf("has %d bytes; a report of Lighthouse has at most %d", in.Size, reportBytesMax)
	}
	text, err := in.Text()
	if err != nil {
		return err
	}
	var file struct {
		report

		PageSpeed *report `json:"lighthouseResult"`
	}
	d := json.NewDecoder(text)
	if err := d.Decode(&file); err != nil {
		return explainJSON(err, d.InputOffset())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("has more after the report, which ends at byte %d: put each report in a file of its own", d.InputOffset())
	}
	r := file.report
	if file.PageSpeed != nil {
		r = *file.PageSpeed
	}
	if err := r.check(); err != nil {
		return err
	}
	return errors.Join(ctx.Err(), r.emit(out, siteID))
}

func explainJSON(err error, offset int64) error {
	var wrongType *json.UnmarshalTypeError
	switch {
	case tabular.IsEncodingError(err):
		return err
	case errors.Is(err, io.EOF):
		return errors.New("is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is truncated: the JSON does not end")
	case errors.As(err, &wrongType):
		return convert.Problem{Column: strings.TrimPrefix(wrongType.Field, "report."), Message: fmt.Sprintf("has the unexpected type %s; is this a report of Lighthouse?", wrongType.Value)}
	}
	return fmt.Errorf("is not JSON after byte %d: %w", offset, err)
}

// check returns an error if the report cannot be converted.
func (r report) check() error {
	major, _, _ := strings.Cut(r.Version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case len(r.Steps) > 0:
		return errors.New("is a user flow of Lighthouse; convert the reports of its steps")
	case r.Version == "" || r.Audits == nil:
		return errors.New("is not a Lighthouse report: it needs lighthouseVersion and audits (lighthouse --output json)")
	case err != nil || n < oldestMajor:
		return convert.Problem{Column: "lighthouseVersion", Message: fmt.Sprintf("is %s; reports of Lighthouse 10 to 13 can be read", r.Version)}
	}
	return nil
}

var reportColumns = map[string]string{"rootUrl": "requestedUrl", "startedAt": "fetchTime", "scoreSeo": "categories.seo.score", "siteId": "--site"}

func (r report) emit(out *convert.Output, siteID string) error {
	started, err := time.Parse(time.RFC3339, r.FetchTime)
	if err != nil {
		return out.Report(convert.Problem{Column: "fetchTime", Message: fmt.Sprintf("must be a time, is %q", r.FetchTime)})
	}
	root := cmp.Or(r.RequestedURL, r.DisplayedURL, r.FinalURL)
	findings, failedCount := r.findings()
	id := convert.DeriveID("aud", siteID, root, convert.FormatTime(started))
	f := map[string]any{
		"id": id, "rootUrl": root, "status": "complete", "startedAt": convert.FormatTime(started),
		"finishedAt": convert.FormatTime(started.Add(time.Duration(r.Timing.Total * float64(time.Millisecond)))), "pagesAudited": 1,
		"summary": r.summary(failedCount), "findings": findings,
	}
	if siteID != "" {
		f["siteId"] = siteID
	}
	if seo := r.Categories["seo"].Score; seo != nil {
		f["scoreSeo"] = percent(*seo)
	}
	if e := r.RuntimeError; e != nil && e.Code != "" && e.Code != "NO_ERROR" {
		f["status"], f["error"] = "failed", truncate(e.Code+": "+e.Message, fieldTextMax)
		delete(f, "scoreSeo")
	}
	return out.Emit(convert.Record{Type: "audit", Fields: f, Columns: reportColumns, Identity: id})
}

// percent converts a score from the range 0 to 1 to the range 0 to 100.
func percent(score float64) float64 { return math.Round(score*10_000) / 100 }

// summary lists the scores of all categories, because an audit has fields for only some of them.
func (r report) summary(failedCount int) string {
	scores := []string{}
	for _, id := range slices.Sorted(maps.Keys(r.Categories)) {
		if c := r.Categories[id]; c.Score != nil {
			scores = append(scores, fmt.Sprintf("%s %g", cmp.Or(c.Title, id), percent(*c.Score)))
		}
	}
	text := "Lighthouse " + r.Version
	if r.Configuration.FormFactor != "" {
		text += ", " + r.Configuration.FormFactor
	}
	if len(scores) > 0 {
		text += ": " + strings.Join(scores, ", ")
	}
	return truncate(fmt.Sprintf("%s; failed audits: %d", text, failedCount), fieldTextMax)
}

// findings returns the audit's findings and the number of failed checks. The findings have a form
// that the studio understands: a list of pages, each with its issues.
func (r report) findings() (findings map[string]any, failedCount int) {
	issues := []any{}
	for _, id := range slices.Sorted(maps.Keys(r.Audits)) {
		if c := r.Audits[id]; c.failed() {
			issues = append(issues, c.issue(id))
		}
	}
	categories := []any{}
	for _, id := range slices.Sorted(maps.Keys(r.Categories)) {
		entry := map[string]any{"id": id, "title": r.Categories[id].Title, "score": nil}
		if score := r.Categories[id].Score; score != nil {
			entry["score"] = percent(*score)
		}
		categories = append(categories, entry)
	}
	findings = map[string]any{
		"tool": "lighthouse", "version": r.Version, "formFactor": r.Configuration.FormFactor, "categories": categories,
		"pages": []any{map[string]any{"url": cmp.Or(r.DisplayedURL, r.FinalURL, r.RequestedURL), "issues": issues}},
	}
	if len(r.Warnings) > 0 {
		findings["notes"] = r.Warnings
	}
	return findings, len(issues)
}

// issue converts a failed check to an issue of the page. id is the check's id.
func (c check) issue(id string) map[string]any {
	issue := map[string]any{"rule": id, "title": cmp.Or(c.Title, id), "severity": "high"}
	if c.Score != nil {
		issue["score"] = percent(*c.Score)
		if *c.Score >= halfScore {
			issue["severity"] = "medium"
		}
	}
	if c.Description != "" {
		issue["description"] = c.Description
	}
	switch {
	case c.ErrorMessage != "":
		issue["value"] = truncate(c.ErrorMessage, fieldTextMax)
	case c.DisplayValue != "":
		issue["value"] = c.DisplayValue
	case c.NumericValue != nil:
		issue["value"] = strings.TrimSpace(strconv.FormatFloat(*c.NumericValue, 'f', -1, 64) + " " + c.NumericUnit)
	}
	if where, more := places(c.Details); len(where) > 0 {
		issue["where"] = where
		if more > 0 {
			issue["morePlaces"] = more
		}
	}
	return issue
}
