// Package modeltext writes the JSON of records for a model to read. It leaves out what the model
// does not need, and writes at most a given number of bytes.
//
//   - modeltext.go: the output for a record or list. A list ends after the last record that fits.
//   - rows.go: the output for a list of values over time, as a table.
//   - fit.go and outline.go: outlines, which stand for values that do not fit.
//   - pointer.go: pointers, with which a model reads the parts of an outlined value.
//   - scan.go: functions that split JSON into its parts.
//
// The input is the JSON that an operation returns over HTTP. The package does not depend on any
// operation.
package modeltext

import "slices"

// companyProperty is a property that is not shown, because an API key belongs to only one company.
const companyProperty = "companyId"

// View selects what is shown of a record or list.
type View struct {
	Fields   []string // the properties to show in addition to id; nil means all except companyId; null is never shown
	BytesMax int      // the maximum size of the JSON
}

// Text is what a model reads.
type Text struct {
	JSON     []byte
	Outlined []OutlinedValue // the values that did not fit
}

// ListText is the Text for a list. It shows the records with indexes from First up to, but not
// including, End. Length is the number of records in the whole list.
type ListText struct {
	Text
	First, End, Length int
}

// IsCut reports whether some records are missing because they did not fit.
func (l ListText) IsCut() bool { return l.End-l.First < l.Length }

// Record returns the Text for a record.
func (v View) Record(record []byte) Text {
	text, outlined := fit(join('{', v.shownMembers(record)), place{}, v.BytesMax)
	return Text{text, outlined}
}

// shownMembers returns the members of a record that the view shows.
func (v View) shownMembers(record []byte) []part {
	return slices.DeleteFunc(slices.Collect(partsOf(record)), func(p part) bool { return !v.shows(p) })
}

// identities are the properties that identify a record: an id, or the version of a board. A view
// always shows them.
var identities = []string{"id", "version"}

func (v View) shows(p part) bool {
	name := string(p.name[1 : len(p.name)-1]) // property names contain no escapes
	if string(p.value) == "null" {
		return false
	}
	if v.Fields == nil {
		return name != companyProperty
	}
	return slices.Contains(identities, name) || slices.Contains(v.Fields, name)
}

// itemsOf returns the records in the JSON of a list.
func itemsOf(list []byte) (items [][]byte) {
	for _, value := range members(list) {
		for _, item := range entries(value) {
			items = append(items, item)
		}
	}
	return items
}

// List returns the Text for a list, {"items":[…]}. A list that does not fit ends after the last
// record that fits, but contains at least one record. In a record that would not fit even alone,
// the largest values are replaced with outlines.
func (v View) List(list []byte) ListText {
	items := itemsOf(list)
	out := ListText{Length: len(items)}
	out.JSON = append(out.JSON, `{"items":[`...)
	const end = len("]}")
	itemBytesMax := v.BytesMax - len(out.JSON) - end
	for _, item := range items {
		members := v.shownMembers(item)
		var outlined []OutlinedValue
		if sizeOf(members) > itemBytesMax {
			var text []byte
			text, outlined = fit(join('{', members), place{}, itemBytesMax)
			members = slices.Collect(partsOf(text))
		}
		if out.End > 0 && len(out.JSON)+len(",")+sizeOf(members)+end > v.BytesMax {
			break
		}
		if out.End++; out.End > 1 {
			out.JSON = append(out.JSON, ',')
		}
		out.JSON = appendJoined(out.JSON, '{', members)
		out.Outlined = append(out.Outlined, outlined...)
	}
	out.JSON = append(out.JSON, "]}"...)
	return out
}

// At returns the Text for the value at a pointer into a record. If the pointer ends with a slice
// and more of the value follows, restHint says how to continue. The error for an invalid pointer
// says which part of it matches nothing, and what is there instead.
func At(record []byte, pointer string, bytesMax int) (text Text, restHint string, err error) {
	value, selection, err := resolve(record, pointer)
	if err != nil {
		return Text{}, "", err
	}
	at := place{pointer: pointer}
	if selection != nil {
		at = place{selection.parent, selection.first, selection.value}
		if selection.last+1 < selection.length {
			restHint = selection.String()
		}
	}
	text.JSON, text.Outlined = fit(value, at, bytesMax)
	return text, restHint, nil
}
