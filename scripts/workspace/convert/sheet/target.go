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
	"growthworkspace/shared/transfer"
)

// The record types that have rules of their own here.
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
	fields         map[string]field
}

// form is how a cell becomes a value.
type form int

const (
	formText form = iota
	formDate
	formDay // a date that is a day, such as that of a metric point
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
	fallback   string // the value of a record whose row has none
}

// ownFields are fields that no column fills: the import sets them, or --id-column does.
var ownFields = []string{"id", "companyId", "seriesId", "pointKey", "slug"}

// newTarget returns the target of a record type. It reads the fields from the type's registration.
func newTarget(name string) (*target, error) {
	if !slices.Contains(targetTypes, name) {
		if name == "" {
			return nil, fmt.Errorf("--type is required: one of %s", strings.Join(targetTypes, ", "))
		}
		return nil, fmt.Errorf("--type %s: must be one of %s", name, strings.Join(targetTypes, ", "))
	}
	kind := registered(name)
	t := &target{name: name, idPrefix: kind.Prefix, fields: map[string]field{}}
	for _, s := range reflect.VisibleFields(kind.Record) {
		jsonName, _, _ := strings.Cut(s.Tag.Get("json"), ",")
		if s.Anonymous || jsonName == "" || jsonName == "-" || slices.Contains(ownFields, jsonName) {
			continue
		}
		t.fields[jsonName] = newField(jsonName, s)
	}
	for field, value := range defaults[name] {
		f := t.fields[field]
		f.fallback = value
		t.fields[field] = f
	}
	if name == typeFeedback {
		source := t.fields["source"]
		source.isRequired = true
		t.fields["source"] = source
	}
	if name == typePoint {
		ts := t.fields["ts"]
		ts.form, ts.isRequired = formDay, true
		t.fields["ts"] = ts
	}
	return t, nil
}

// registered returns the registration of a record type.
func registered(name string) transfer.Type {
	kinds := functions.Transfers(nil)
	return kinds[slices.IndexFunc(kinds, func(t transfer.Type) bool { return t.Name == name })]
}

// defaults are the values that the API sets in a create that leaves them out, where the record's
// tags do not have them.
var defaults = map[string]map[string]string{
	typeFeedback: {"kind": string(feedback.KindReview)},
	typePost:     {"status": string(broadcast.PostStatusDraft)},
	typeItem:     {"status": string(plan.StatusDraft)},
}

func newField(name string, s reflect.StructField) field {
	t := s.Type
	f := field{name: name, fallback: s.Tag.Get("default")}
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

// field returns a field by its name.
func (t *target) field(flag, name string) (field, error) {
	if f, ok := t.fields[name]; ok {
		return f, nil
	}
	names := slices.Sorted(maps.Keys(t.fields))
	message := fmt.Sprintf("--%s %s: a record of type %s has no such field", flag, name, t.name)
	if slices.Contains(ownFields, name) {
		message = fmt.Sprintf("--%s %s: is not set from a sheet; --id-column names the column of an identity", flag, name)
	} else if near := schema.Nearest(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return field{}, fmt.Errorf("%s; the fields are %s", message, strings.Join(names, ", "))
}

// cellReader turns cells into values.
type cellReader struct {
	numbers numberReader
	dates   *dateReader
}

// value returns the value of a cell for a field, or errEmpty.
func (r *cellReader) value(f field, cell string) (any, error) {
	switch f.form {
	case formDate, formDay:
		m, err := r.dates.read(cell)
		if err != nil {
			return nil, err
		}
		if f.form == formDay {
			return convert.Time(r.dates.dayOf(m)), nil
		}
		return convert.Time(r.dates.timeOf(m)), nil
	case formNumber:
		n, err := r.numbers.read(cell)
		if err != nil {
			return nil, err
		}
		if n.currency != "" {
			return nil, fmt.Errorf("%q is not a number", cell)
		}
		return n.value(nil)
	}
	text := strings.TrimSpace(cell)
	if text == "" {
		return nil, errEmpty
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
				list = append(list, closest(f.enum, part))
			}
		}
		if list == nil {
			return nil, errEmpty
		}
		return list, nil
	}
	return closest(f.enum, text), nil
}

// closest returns the value of a closed list that a text spells with other letters or joiners, such
// as "App Store" for app_store. Other texts stay as they are, and the check of the record reports
// them.
func closest(enum []string, text string) string {
	plain := func(s string) string {
		return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(s))
	}
	for _, value := range enum {
		if plain(value) == plain(text) {
			return value
		}
	}
	return text
}

// digest returns an id for a text, which is the same each time.
func digest(prefix, kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + text))
	return id.FromBytes(prefix, [16]byte(sum[:16]))
}

// identify sets what identifies a record. key is the cell of --id-column, or empty. A record without
// one is identified by the fields that the mapping has set. Feedback is identified by its source and
// externalId, from which an import derives the id.
func (t *target) identify(fields map[string]any, key string) error {
	isDigest := key == ""
	if isDigest {
		text, err := json.Marshal(fields) // in the order of the names
		if err != nil {
			return fmt.Errorf("encode a record: %w", err)
		}
		key = string(text)
	} else if id.Valid(t.idPrefix, key) {
		fields["id"] = key
		return nil
	}
	if t.name != typeFeedback {
		fields["id"] = digest(t.idPrefix, t.name, key)
		return nil
	}
	if _, ok := fields["source"]; !ok {
		return errors.New("source: is required, because source and externalId identify a review or a mention")
	}
	if _, ok := fields["externalId"]; ok {
		return nil
	}
	if fields["externalId"] = key; isDigest {
		_, fields["externalId"], _ = strings.Cut(digest(t.idPrefix, t.name, key), "_")
	}
	return nil
}
