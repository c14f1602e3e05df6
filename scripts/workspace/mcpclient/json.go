package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is the format of a JSON settings file. object is the name of the top-level member that
// contains the entries of all servers.
type jsonFormat struct {
	object         string
	writesType     bool // whether an entry has the member "type": "stdio"
	allowsComments bool // whether the file may contain comments and trailing commas
}

// value returns an entry as indented JSON.
func (f jsonFormat) value(e Entry, prefix, indent string) []byte {
	entry := struct {
		Type string `json:"type,omitempty"`
		Entry
	}{Entry: e}
	if f.writesType {
		entry.Type = "stdio"
	}
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	w.SetIndent(prefix, indent)
	if err := w.Encode(entry); err != nil {
		panic(err) // cannot fail: the value contains only strings
	}
	return bytes.TrimSpace(out.Bytes())
}

func (f jsonFormat) render(e Entry) string {
	return fmt.Sprintf("%q: %s", EntryName, f.value(e, "", "  "))
}

// hasJSONComments reports whether text contains comments or trailing commas.
func hasJSONComments(text []byte) bool {
	root, err := parseRelaxed(text)
	return err == nil && !root.IsStandard()
}

// parseRelaxed parses JSON that may contain comments and trailing commas. It appends a newline,
// because hujson rejects a comment in the last line without one. The newline is the last byte of
// the returned value.
func parseRelaxed(text []byte) (hujson.Value, error) {
	return hujson.Parse(append(bytes.Clone(text), '\n'))
}

func (f jsonFormat) merge(text []byte, e Entry) (merged []byte, replaced string, err error) {
	whole := text
	if len(bytes.TrimSpace(text)) == 0 {
		whole = []byte("{}\n")
	}
	root, err := f.parse(whole)
	if err != nil {
		return nil, "", err
	}
	top, err := objectOf(&root, "the file")
	if err != nil {
		return nil, "", err
	}
	layout := layoutOf(whole, top)
	servers, err := memberOf(top, f.object)
	if err != nil {
		return nil, "", err
	}
	if servers == nil {
		servers = layout.append(top, f.object, &hujson.Object{}, layout.unit, "")
	}
	list, err := objectOf(servers, f.object)
	if err != nil {
		return nil, "", err
	}
	existing, err := memberOf(list, EntryName)
	if err != nil {
		return nil, "", err
	}
	inner := indentOf(list, layout.unit+layout.unit)
	value := hujson.Value{Value: mustParse(layout.convertNewlines(f.value(e, inner, layout.unit)))}
	switch {
	case existing == nil:
		layout.append(list, EntryName, value.Value, inner, layout.unit)
	case f.matchesEntry(*existing, e):
		return text, "", nil
	case !(hujson.Value{Value: existing.Value}).IsStandard():
		return nil, "", fmt.Errorf("the entry %q has comments, which would be lost: change it by hand to\n%s", EntryName, f.render(e))
	default:
		replaced = fmt.Sprintf("%q: %s", EntryName, hujson.Value{Value: existing.Value}.Pack())
		existing.Value = value.Value
	}
	merged = bytes.TrimSuffix(root.Pack(), []byte("\n")) // the newline that parseRelaxed appended
	return merged, replaced, f.check(whole, merged, e)
}

// parse parses a file. It returns a *syntaxError if the client could not parse the file.
func (f jsonFormat) parse(text []byte) (hujson.Value, error) {
	root, err := parseRelaxed(text)
	if err == nil && (f.allowsComments || root.IsStandard()) {
		return root, nil
	}
	var wrong *json.SyntaxError
	if strictErr := json.Unmarshal(text, new(any)); !f.allowsComments && errors.As(strictErr, &wrong) {
		line, column := position(text, int(wrong.Offset)-1)
		return root, &syntaxError{line, column, wrong.Error()}
	}
	if err == nil {
		err = errors.New("comments and trailing commas are not allowed")
	}
	if found := hujsonErrorPattern.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1]) // cannot fail: the pattern matches only digits
		column, _ := strconv.Atoi(found[2])
		return root, &syntaxError{line, column, found[3]}
	}
	return root, &syntaxError{1, 1, err.Error()}
}

// hujsonErrorPattern matches the text of an error from hujson.Parse, because the error has no
// fields.
var hujsonErrorPattern = regexp.MustCompile(`(?s)^hujson: line (\d+), column (\d+): (.*)$`)

// position returns the line and the column of an offset. Both start from 1.
func position(text []byte, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

func objectOf(v *hujson.Value, what string) (*hujson.Object, error) {
	out, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s must be an object", what)
	}
	return out, nil
}

// memberOf returns the value of the member with this name, or nil. It returns an error if there are
// two such members.
func memberOf(o *hujson.Object, name string) (out *hujson.Value, err error) {
	for i := range o.Members {
		if literal, ok := o.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			if out != nil {
				return nil, fmt.Errorf("it has two members %q: remove one", name)
			}
			out = &o.Members[i].Value
		}
	}
	return out, nil
}

// matchesEntry reports whether a value is equal to the entry.
func (f jsonFormat) matchesEntry(v hujson.Value, e Entry) bool {
	var have struct {
		Type string
		URL  string
		Entry
	}
	v = v.Clone()
	v.Standardize()
	return json.Unmarshal(v.Pack(), &have) == nil && have.URL == "" && (have.Type == "" || have.Type == "stdio") && have.Entry.equal(e)
}

// layout is the indentation and the line ending of a file, so that additions look like the rest of
// the file.
type layout struct{ unit, newline string }

func layoutOf(text []byte, top *hujson.Object) layout {
	out := layout{unit: indentOf(top, "  "), newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		out.newline = "\r\n"
	}
	return out
}

// indentOf returns the indentation of an object's members. It returns fallback if the first member
// is not on a line of its own.
func indentOf(o *hujson.Object, fallback string) string {
	if len(o.Members) == 0 {
		return fallback
	}
	before := string(o.Members[0].Name.BeforeExtra)
	if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.Trim(before[i+1:], " \t") == "" && before[i+1:] != "" {
		return before[i+1:]
	}
	return fallback
}

func (l layout) convertNewlines(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\n"), []byte(l.newline))
}

// append adds a member at the end of an object and returns the member's value. Comments after the
// previous last member stay in place.
func (l layout) append(o *hujson.Object, name string, value hujson.ValueTrimmed, indent, closing string) *hujson.Value {
	before := bytes.TrimRight(o.AfterExtra, " \t\r\n")
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: append(bytes.Clone(before), l.newline+indent...), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	o.Members = append(o.Members, m)
	o.AfterExtra = hujson.Extra(l.newline + closing)
	return &o.Members[len(o.Members)-1].Value
}

func mustParse(text []byte) hujson.ValueTrimmed {
	v, err := hujson.Parse(text)
	if err != nil {
		panic(err) // cannot fail: the text comes from an encoder
	}
	return v.Value
}

// check returns an error unless merged contains the entry and everything else that text contains.
func (f jsonFormat) check(text, merged []byte, e Entry) error {
	before, err := f.decode(text)
	if err != nil {
		return err
	}
	after, err := f.decode(merged)
	if err != nil {
		return err
	}
	return checkOnlyEntryChanged(before, after, f.object, func(entry any) bool {
		encoded, err := json.Marshal(entry)
		return err == nil && f.matchesEntry(hujson.Value{Value: mustParse(encoded)}, e)
	})
}

func (f jsonFormat) decode(text []byte) (out map[string]any, err error) {
	root, err := parseRelaxed(text)
	if err == nil {
		root.Standardize()
		d := json.NewDecoder(bytes.NewReader(root.Pack()))
		d.UseNumber()
		err = d.Decode(&out)
	}
	return out, err
}

// checkOnlyEntryChanged returns an error unless the map after contains an entry that isEntry
// accepts, and is otherwise equal to the map before. object is the name of the member that contains
// the entries.
func checkOnlyEntryChanged(before, after map[string]any, object string, isEntry func(any) bool) error {
	list, _ := after[object].(map[string]any)
	if !isEntry(list[EntryName]) {
		return errors.New("the entry cannot be added: add it by hand")
	}
	for _, m := range []map[string]any{before, after} {
		if list, ok := m[object].(map[string]any); ok {
			delete(list, EntryName)
			if len(list) == 0 {
				delete(m, object)
			}
		}
	}
	if !reflect.DeepEqual(before, after) {
		return errors.New("the entry cannot be added without a change of the rest: add it by hand")
	}
	return nil
}
