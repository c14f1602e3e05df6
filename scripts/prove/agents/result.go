package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// record is a JSON object in a result, such as a record of the company.
type record map[string]any

// text returns the string in the named property, or "" if there is none.
func (r record) text(name string) string { text, _ := r[name].(string); return text }

// number returns the number in the named property, or 0 if there is none.
func (r record) number(name string) float64 { n, _ := r[name].(float64); return n }

// texts returns the strings in the named property, which is an array.
func (r record) texts(name string) (out []string) {
	values, _ := r[name].([]any)
	for _, value := range values {
		if text, ok := value.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// objects returns the objects in the named property, which is an array.
func (r record) objects(name string) []record { return objectsOf(r[name]) }

func objectsOf(value any) (out []record) {
	values, _ := value.([]any)
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}

// result is the result of a tool. An agent reads it as a model does: it uses the text, or the
// structured content if the text is not JSON. An agent knows nothing that the text does not
// mention.
type result struct {
	Content []struct{ Text string }
	IsError bool

	StructuredContent json.RawMessage
}

// text returns the text blocks of a result, joined with newlines.
func (r result) text() string {
	texts := make([]string, len(r.Content))
	for i, c := range r.Content {
		texts[i] = c.Text
	}
	return strings.Join(texts, "\n")
}

// value returns the decoded JSON of a result.
func (r result) value() (value any, err error) {
	for _, c := range r.Content {
		if json.Unmarshal([]byte(c.Text), &value) == nil {
			return value, nil
		}
	}
	if len(r.StructuredContent) == 0 {
		return nil, fmt.Errorf("the result has no JSON: %.200s", r.text())
	}
	return value, json.Unmarshal(r.StructuredContent, &value)
}

// asRecord returns the result as a record, or nil if it is not one.
func (r result) asRecord() record {
	value, err := r.value()
	if object, ok := value.(map[string]any); ok && err == nil {
		return object
	}
	return nil
}

// records returns the records in a list.
func (r result) records() ([]record, error) {
	if r.Content == nil {
		return nil, nil // the session has ended
	}
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	object, _ := value.(map[string]any)
	if items, ok := object["items"]; ok {
		return objectsOf(items), nil
	}
	if series, ok := object["series"]; ok {
		return pointsOf(objectsOf(series), record(object).texts("columns"))
	}
	return nil, errors.New("the result is no list")
}

// pointsOf returns the points of a list that has one entry per series and one row per point. The
// values in a row are in the order of `columns`.
func pointsOf(series []record, columns []string) (out []record, err error) {
	for _, s := range series {
		rows, _ := s["rows"].([]any)
		for _, row := range rows {
			values, _ := row.([]any)
			if len(values) != len(columns) {
				return nil, fmt.Errorf("a row has %d values for the columns %v", len(values), columns)
			}
			point := record{"seriesId": s["seriesId"], "dims": s["dims"]}
			for i, name := range columns {
				if name == "day" {
					name = "ts"
				}
				point[name] = values[i]
			}
			out = append(out, point)
		}
	}
	return out, nil
}

var (
	cursorPattern = regexp.MustCompile(`cursor "([^"]+)"`)
	tagPattern    = regexp.MustCompile(`ETag: (\S+)`)
)

// cursor returns the cursor of the next page, or "" on the last page.
func (r result) cursor() string { return r.findInText(cursorPattern) }

// etag returns the ETag of the record in a result.
func (r result) etag() string { return r.findInText(tagPattern) }

func (r result) findInText(pattern *regexp.Regexp) string {
	for _, c := range r.Content {
		if found := pattern.FindStringSubmatch(c.Text); found != nil && !strings.HasPrefix(c.Text, "{") {
			return found[1]
		}
	}
	return ""
}

// resolve returns the value that a JSON Pointer refers to.
func resolve(value any, pointer string) (any, error) {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch v := value.(type) {
		case record:
			value = v[name]
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, fmt.Errorf("%s: there is no entry %s", pointer, name)
			}
			value = v[i]
		default:
			return nil, fmt.Errorf("%s: nothing has an entry %s", pointer, name)
		}
	}
	return value, nil
}
