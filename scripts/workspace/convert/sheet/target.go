package sheet

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/plan"
	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/tabular"
	"growthworkspace/shared/transfer"
)

// The names of record types.
const (
	typeFeedback   = "feedback"
	typePoint      = "metric-point"
	typeDefinition = "metric-definition"
	typePost       = "post"
	typeIdea       = "content-idea"
	typeItem       = "item"
)

// targetTypes are the record types that a row can become.
var targetTypes = []string{typeFeedback, typePoint, typePost, typeIdea, typeItem}

// target is a record type and its fields.
type target struct {
	name, idPrefix string
	fields         map[string]*field
}

// form says how to convert a cell to a value.
type form int

const (
	formText form = iota
	formDate
	formDay // a day, such as the date of a metric point
	formNumber
	formList
	formJSON
)

// field is a field of a record that a column can fill.
type field struct {
	name       string
	form       form
	enum       []string
	isRequired bool
	fallback   string // the value of the field if the row has none
}

// derivedFields are the fields that no column can fill. They are derived, or set from --id-column.
var derivedFields = []string{"id", "companyId", "seriesId", "pointKey", "slug"}

// newTarget returns the target for a record type. It reads the fields from the type's registration.
func newTarget(name string) (*target, error) {
	if !slices.Contains(targetTypes, name) {
		if name == "" {
			return nil, fmt.Errorf("--type is required: one of %s", strings.Join(targetTypes, ", "))
		}
		return nil, fmt.Errorf("--type %s: must be one of %s", name, strings.Join(targetTypes, ", "))
	}
	kind := registeredType(name)
	t := &target{name: name, idPrefix: kind.Prefix, fields: map[string]*field{}}
	for _, s := range reflect.VisibleFields(kind.Record) {
		jsonName, _, _ := strings.Cut(s.Tag.Get("json"), ",")
		if s.Anonymous || jsonName == "" || jsonName == "-" || slices.Contains(derivedFields, jsonName) {
			continue
		}
		t.fields[jsonName] = newField(jsonName, s)
	}
	for field, value := range defaults[name] {
		t.fields[field].fallback = value
	}
	switch name {
	case typeFeedback:
		t.fields["source"].isRequired = true
	case typePoint:
		t.fields["ts"].form, t.fields["ts"].isRequired = formDay, true
	}
	return t, nil
}

func registeredType(name string) transfer.Type {
	kinds := functions.Transfers(nil)
	return kinds[slices.IndexFunc(kinds, func(t transfer.Type) bool { return t.Name == name })]
}

// defaults contains default values, by record type and field. The API uses them if a create request
// leaves out the field. They are listed here because the fields have no default tag.
var defaults = map[string]map[string]string{
	typeFeedback: {"kind": string(feedback.KindReview)},
	typePost:     {"status": string(broadcast.PostStatusDraft)},
	typeItem:     {"status": string(plan.StatusDraft)},
}

func newField(name string, s reflect.StructField) *field {
	t := s.Type
	f := &field{name: name, fallback: s.Tag.Get("default")}
	f.isRequired = t.Kind() == reflect.String || strings.HasPrefix(s.Tag.Get("set"), "required")
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		f.form = formJSON
	case t.Kind() == reflect.Slice:
		f.form, t = formList, t.Elem()
	case t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64:
		f.form = formNumber
	case s.Tag.Get("format") == "date-time":
		f.form = formDate
	}
	if enum, ok := reflect.Zero(t).Interface().(schema.Enum); ok {
		f.enum = enum.Values()
	}
	return f
}

func (t *target) field(flag, name string) (*field, error) {
	if f, ok := t.fields[name]; ok {
		return f, nil
	}
	names := slices.Sorted(maps.Keys(t.fields))
	message := fmt.Sprintf("--%s %s: a record of type %s has no such field", flag, name, t.name)
	if slices.Contains(derivedFields, name) {
		message = fmt.Sprintf("--%s %s: is not set from a sheet; --id-column names the column of an identity", flag, name)
	} else if near := schema.Nearest(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return nil, fmt.Errorf("%s; the fields are %s", message, strings.Join(names, ", "))
}

// value converts a cell to a value of the field. The error is tabular.ErrEmpty if the cell has no
// value.
func (f *field) value(cell string, numbers *tabular.Numbers, dates *tabular.Dates) (any, error) {
	switch f.form {
	case formDate, formDay:
		date, err := dates.Read(cell)
		if err != nil {
			return nil, explain(err)
		}
		if f.form == formDay {
			return convert.FormatTime(date.Day), nil
		}
		return convert.FormatTime(date.Time), nil
	case formNumber:
		n, err := numbers.Read(cell)
		if err != nil {
			return nil, explain(err)
		}
		if n.Currency != "" {
			return nil, fmt.Errorf("%q is not a number", cell)
		}
		return n.Value(nil)
	}
	text := strings.TrimSpace(cell)
	if text == "" {
		return nil, tabular.ErrEmpty
	}
	switch f.form {
	case formJSON:
		if !json.Valid([]byte(text)) {
			return nil, errors.New("is not valid JSON")
		}
		return json.RawMessage(text), nil
	case formList:
		var list []string
		for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' || c == '\n' }) {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, matchEnum(f.enum, part))
			}
		}
		if list == nil {
			return nil, tabular.ErrEmpty
		}
		return list, nil
	}
	return matchEnum(f.enum, text), nil
}

// explain adds the flag that decides to an error of package tabular.
func explain(err error) error {
	var ambiguous *tabular.Ambiguous
	var unknown *tabular.UnknownDate
	var currency *tabular.Currency
	switch {
	case errors.As(err, &ambiguous) && ambiguous.IsDate:
		return fmt.Errorf("%w: name the format with --date-format %s", err, strings.Join(ambiguous.Options, " or --date-format "))
	case errors.As(err, &ambiguous):
		return fmt.Errorf("%w: name the decimal separator with --decimal . or --decimal ,", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: describe it with --date-format", err)
	case errors.As(err, &currency):
		return fmt.Errorf("%w: name it with --currency COLUMN=%s", err, currency.Code)
	}
	return err
}

// matchEnum returns the enum value that differs from text only in letter case, spaces, hyphens and
// underscores, such as "app_store" for "App Store". If there is none, it returns text unchanged, so
// that checking the record reports it.
func matchEnum(enum []string, text string) string {
	normalise := func(s string) string {
		return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(s))
	}
	for _, value := range enum {
		if normalise(value) == normalise(text) {
			return value
		}
	}
	return text
}

// digestID returns an id that depends only on kind and text.
func digestID(prefix, kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + text))
	return id.FromBytes(prefix, [16]byte(sum[:16]))
}

// identify sets the fields that identify a record. key is the cell in the --id-column, or empty. If
// key is a valid id, it becomes the record's id. Otherwise, the id is a digest of key or, if key is
// empty, of all fields. Feedback without a valid id gets an externalId instead, because an import
// derives the id from source and externalId.
func (t *target) identify(fields map[string]any, key string) error {
	isDigest := key == ""
	if isDigest {
		text, err := json.Marshal(fields) // Marshal sorts the keys, so equal fields give equal text
		if err != nil {
			return fmt.Errorf("encode a record: %w", err)
		}
		key = string(text)
	} else if id.Valid(t.idPrefix, key) {
		fields["id"] = key
		return nil
	}
	if t.name != typeFeedback {
		fields["id"] = digestID(t.idPrefix, t.name, key)
		return nil
	}
	if _, ok := fields["source"]; !ok {
		return errors.New("source: is required, because source and externalId identify a review or a mention")
	}
	if _, ok := fields["externalId"]; ok {
		return nil
	}
	if fields["externalId"] = key; isDigest {
		_, fields["externalId"], _ = strings.Cut(digestID(t.idPrefix, t.name, key), "_")
	}
	return nil
}
