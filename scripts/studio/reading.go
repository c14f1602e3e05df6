package studio

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// reading is how the studio understood what was typed or pasted into a form. The form shows it, and
// nothing is stored before the user has sent the form again.
type reading struct {
	Questions []question
	Lines     []string // what was understood
	Rest      int      // the number of lines that are left out
	Token     string   // identifies what was understood; sent again, it says that the user has seen it
}

// The names of the form fields that answer a question.
const (
	decimalField    = "decimal"
	dateFormatField = "dateFormat"
	askedField      = "asked" // the cell that the question was about
)

// question asks how a number or a day that has several readings is meant.
type question struct {
	Name    string // the name of the form field: decimal or dateFormat
	Cell    string
	Options []readingOption
}

type readingOption struct {
	Value, Text string
	Chosen      bool
}

// readingLinesMax is the maximum number of lines of a reading that a form shows.
const readingLinesMax = 40

// answersOf returns the answers to the questions that an earlier response asked.
func answersOf(sent url.Values) tabular.Answers {
	out := tabular.Answers{Decimal: sent.Get(decimalField)}
	if format, err := tabular.ParseFormat(sent.Get(dateFormatField)); err == nil {
		out.DateFormat = format
	}
	return out
}

// ask adds a question to the form's reading. It returns false if err is not about several readings.
// The form repeats the answer to an earlier question.
func (c *formChanges) ask(err error) bool {
	var ambiguous *tabular.Ambiguous
	if !errors.As(err, &ambiguous) {
		return false
	}
	q := question{Name: decimalField, Cell: ambiguous.Cell}
	if ambiguous.IsDate {
		q.Name = dateFormatField
	}
	for i, option := range ambiguous.Options {
		q.Options = append(q.Options, readingOption{option, ambiguous.Readings[i], option == c.sent.Get(q.Name)})
	}
	if len(c.reading.Questions) == 0 {
		c.reading.Questions = []question{q}
	}
	return true
}

// keepAnswers returns the answers that a form repeats, so that the user is asked only once.
func keepAnswers(sent url.Values, refused *failure) (kept []fact) {
	for _, name := range []string{decimalField, dateFormatField, askedField} {
		isAsked := refused != nil && refused.Reading != nil && slices.ContainsFunc(refused.Reading.Questions, func(q question) bool { return q.Name == name || name == askedField })
		if value := sent.Get(name); value != "" && !isAsked {
			kept = append(kept, fact{name, value})
		}
	}
	return kept
}

// understand adds a line to the form's reading. If mustShow is set, the user has to see the reading
// before anything is stored.
func (c *formChanges) understand(line string, mustShow bool) {
	c.reading.Lines = append(c.reading.Lines, line)
	c.mustShow = c.mustShow || mustShow
}

// check returns why the form cannot be stored yet: a problem, or a reading that the user has not
// seen. It returns nil if the form can be stored.
func (c *formChanges) check() *failure {
	r := &c.reading
	sum := sha256.Sum256([]byte(strings.Join(r.Lines, "\n")))
	r.Token = hex.EncodeToString(sum[:8])
	isOpen := len(r.Questions) > 0 || c.mustShow && c.sent.Get("understood") != r.Token
	if c.problem != nil || !isOpen {
		return c.problem
	}
	if r.Rest = len(r.Lines) - readingLinesMax; r.Rest > 0 {
		r.Lines = r.Lines[:readingLinesMax]
	}
	return &failure{Status: http.StatusOK, Reading: r}
}

// plainPattern matches a number as the studio itself writes it into a form.
var plainPattern = regexp.MustCompile(`^[-−]?\d+(\.\d+)?$`)

// number reads a number that was typed into a field. stored is the text of the stored value, whose
// reading is known.
func (c *formChanges) number(name string, unit units.Unit, stored string) float64 {
	typed := typedField(c.sent, name)
	if typed == stored && typed != "" {
		value, _ := unit.Read(tabular.NewNumbers(".", nil), typed)
		return value
	}
	_, bare := tabular.NewNumbers("", nil).Read(typed)
	mustShow := !plainPattern.MatchString(typed)
	if errors.As(bare, new(*tabular.Ambiguous)) { // the user has chosen a reading, unless the answer was about another number
		mustShow = c.sent.Get(askedField) != typed
	}
	value, err := unit.Read(answersOf(c.sent).Numbers(nil), typed)
	switch {
	case err == nil:
		c.understand(typed+" is "+exact(unit, value), mustShow)
	case !c.ask(err):
		c.addProblem(name, "must be a number such as 12.5: "+err.Error())
	}
	return value
}

// exact formats a value without rounding it, such as "12.345 in EUR".
func exact(unit units.Unit, value float64) string {
	return strings.TrimSpace(unit.Typed(value) + " " + unit.TypedIn())
}

// decimal returns the new value of a number field.
func (c *formChanges) decimal(name string) client.Optional[float64] {
	text := c.text(name)
	if _, ok := text.Get(); !ok {
		return absentOrNull[float64](text)
	}
	return client.Value(c.number(name, units.Unit{}, ""))
}
