package roundtrip

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// record is a record decoded from JSON. An absent field counts as null.
type record map[string]any

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// normalise encodes the record as JSON and decodes it again, so that every number is a float64.
func (r record) normalise() (plain record) {
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		panic(err) // only if the generator has a bug
	}
	return plain
}

// canonicalJSON returns a string that is the same for equal records. It leaves out the company's
// id, which differs after each import. It also leaves out nulls, the fields that the service
// derives, and the fields in `ignored`.
func (r record) canonicalJSON(kind string, ignored ...string) string {
	c := maps.Clone(r)
	ignored = append(ignored, "companyId")
	switch kind {
	case "company":
		ignored = append(ignored, "id")
	case "metric-point":
		ignored = append(ignored, "seriesId", "pointKey")
	}
	maps.DeleteFunc(c, func(name string, value any) bool { return value == nil || slices.Contains(ignored, name) })
	text, err := json.Marshal(c) // sorts the keys
	if err != nil {
		panic(err) // cannot happen, because the record was decoded from JSON
	}
	return string(text)
}

// identity returns a string that identifies a record within its type.
func (r record) identity(kind string) string {
	switch kind {
	case "company", "brand-kit":
		return kind
	case "metric-point":
		dims, _ := json.Marshal(r["dims"]) // cannot fail, because dims were decoded from JSON
		return strings.Join([]string{r.text("metricKey"), r.text("grain"), r.text("ts"), string(dims)}, " ")
	}
	return r.text("id")
}

// text returns the value of a string field, or "" if the field is null.
func (r record) text(name string) string {
	s, _ := r[name].(string)
	return s
}

// write writes the company as an import file. It mixes the types, and writes some records before
// those that they refer to, because an import must accept any order.
func (c *generatedCompany) write(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	e := json.NewEncoder(w)
	for n, left := 0, true; left; n++ {
		left = false
		for _, kind := range slices.Backward(sortedKeys(c.records)) {
			if n < len(c.records[kind]) {
				left = true
				err = errors.Join(err, e.Encode(map[string]any{"record": c.records[kind][n], "type": kind}))
			}
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}

// differencesMax is the maximum number of differences that compare reports.
const differencesMax = 10

// compare returns an error that lists the differences between an export file and the generated
// company, or nil if there are none.
func (c *generatedCompany) compare(file string) error {
	want := map[string]string{}
	for kind, records := range c.records {
		for _, r := range records {
			want[kind+" "+r.identity(kind)] = r.canonicalJSON(kind)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var differences []string
	for d := json.NewDecoder(bufio.NewReaderSize(f, 1<<20)); len(differences) < differencesMax; {
		var line struct {
			Type   string
			Record record
		}
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		key, got := line.Type+" "+line.Record.identity(line.Type), line.Record.canonicalJSON(line.Type)
		expected, known := want[key]
		delete(want, key)
		switch {
		case !known:
			differences = append(differences, "exported twice, or never imported: "+key)
		case got != expected:
			differences = append(differences, fmt.Sprintf("%s:\n  imported %s\n  exported %s", key, expected, got))
		}
	}
	for _, key := range sortedKeys(want) {
		if len(differences) < differencesMax {
			differences = append(differences, "not exported: "+key)
		}
	}
	if len(differences) > 0 {
		return newDifference("the export differs from what was imported:\n%s", strings.Join(differences, "\n"))
	}
	return nil
}
