package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlServers is the name of the table in a Codex file that contains a table for each server.
const tomlServers = "mcp_servers"

// tomlFormat is the format of Codex's settings file.
type tomlFormat struct{}

func (tomlFormat) render(e Entry) string {
	body, err := toml.Marshal(e)
	if err != nil {
		panic(err) // cannot fail: the value contains only strings
	}
	return "[" + tomlServers + "." + EntryName + "]\n" + strings.TrimSpace(string(body))
}

func (f tomlFormat) merge(text []byte, e Entry) (merged []byte, replaced string, err error) {
	before, err := decodeTOML(text)
	if err != nil {
		return nil, "", err
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	table := strings.ReplaceAll(f.render(e), "\n", newline) + newline
	servers, _ := before[tomlServers].(map[string]any)
	switch existing, exists := servers[EntryName]; {
	case exists && isTOMLEntry(existing, e):
		return text, "", nil
	case exists:
		from, to, found := tableSpan(text)
		if !found || bytes.ContainsRune(text[from:to], '#') {
			return nil, "", fmt.Errorf("%s.%s has comments or is not a table of its own: change it by hand to\n%s", tomlServers, EntryName, f.render(e))
		}
		replaced = string(bytes.TrimSpace(text[from:to]))
		merged = slices.Concat(text[:from], []byte(table), text[to:])
	default:
		merged = bytes.TrimRight(text, " \t\r\n")
		if len(merged) > 0 {
			merged = append(bytes.Clone(merged), newline+newline...)
		}
		merged = append(merged, table...)
	}
	after, err := decodeTOML(merged)
	if err != nil {
		return nil, "", fmt.Errorf("%s is not written as tables: add this by hand\n%s", tomlServers, f.render(e))
	}
	if err := checkOneTransport(after); err != nil {
		return nil, "", fmt.Errorf("%w: change it by hand to\n%s", err, f.render(e))
	}
	return merged, replaced, checkOnlyEntryChanged(before, after, tomlServers, func(entry any) bool { return isTOMLEntry(entry, e) })
}

// checkOneTransport returns an error if the new entry still has tables with HTTP headers. They
// remain if the replaced entry had a URL. Codex rejects a file whose entry has both a command and
// headers.
func checkOneTransport(after map[string]any) error {
	for _, name := range []string{"http_headers", "env_http_headers"} {
		if tomlEntry(after)[name] != nil {
			return fmt.Errorf("the entry %q has the table %s, which would stay", EntryName, name)
		}
	}
	return nil
}

// tomlEntry returns the table of the service's entry, or nil.
func tomlEntry(file map[string]any) map[string]any {
	servers, _ := file[tomlServers].(map[string]any)
	entry, _ := servers[EntryName].(map[string]any)
	return entry
}

// decodeTOML decodes TOML. It returns a *syntaxError if text is not valid TOML.
func decodeTOML(text []byte) (map[string]any, error) {
	out := map[string]any{}
	err := toml.Unmarshal(text, &out)
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return nil, &syntaxError{line, column, strings.TrimPrefix(wrong.Error(), "toml: ")}
	}
	return out, err
}

// isTOMLEntry reports whether a decoded table is equal to the entry.
func isTOMLEntry(table any, e Entry) bool {
	fields, _ := table.(map[string]any)
	have := Entry{}
	have.Command, _ = fields["command"].(string)
	values, _ := fields["args"].([]any)
	for _, v := range values {
		text, _ := v.(string)
		have.Args = append(have.Args, text)
	}
	return fields["url"] == nil && have.equal(e)
}

// tableSpan returns the offsets at which the entry's table begins and ends. The blank lines and
// comments after its last line belong to the next table.
func tableSpan(text []byte) (from, to int, found bool) {
	var p unstable.Parser
	p.Reset(text)
	next := len(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var name []string
		start := len(text)
		for keys := e.Key(); keys.Next(); {
			name = append(name, string(keys.Node().Data))
			start = min(start, int(keys.Node().Raw.Offset))
		}
		start = bytes.LastIndexByte(text[:start], '\n') + 1
		if found {
			next = start
			break
		}
		if e.Kind == unstable.Table && slices.Equal(name, []string{tomlServers, EntryName}) {
			from, found = start, true
		}
	}
	offset := from
	for line := range bytes.Lines(text[from:next]) {
		offset += len(line)
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			to = offset
		}
	}
	return from, to, found
}
