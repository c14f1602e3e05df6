package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Counts are the number of tool calls in a run and the bytes that their results add to a model's
// context.
type Counts struct {
	Calls           int `json:"calls"`           // tool calls
	TextBytes       int `json:"textBytes"`       // text of the results
	StructuredBytes int `json:"structuredBytes"` // structured content of the results
	ListBytes       int `json:"listBytes"`       // the response to tools/list, and the server's instructions
	LargestText     int `json:"largestText"`     // the size of the largest text in a result
	LargestResult   int `json:"largestResult"`   // the size of the largest result, text and structured content together
}

func (c *Counts) add(o Counts) {
	c.Calls, c.TextBytes, c.StructuredBytes, c.ListBytes = c.Calls+o.Calls, c.TextBytes+o.TextBytes, c.StructuredBytes+o.StructuredBytes, c.ListBytes+o.ListBytes
	c.LargestText, c.LargestResult = max(c.LargestText, o.LargestText), max(c.LargestResult, o.LargestResult)
}

// session is an agent's connection to the tools of one company. It keeps everything that the agent
// was shown. If a call contains an id, cursor, ETag or metric key that the agent was never shown,
// the call fails. So an agent cannot use what only the seeding code knows.
//
// The first error ends a session: later calls return an empty result, and err is reported.
type session struct {
	ctx       context.Context
	company   company
	tools     map[string]toolInfo
	shown     strings.Builder
	delegates map[string]func(ids ...string) error // other programs that the agent can start, by name
	err       error

	Counts
}

// toolInfo is what an agent needs to know about a tool.
type toolInfo struct {
	InputSchema struct {
		Properties map[string]struct {
			Description string
			Maximum     int
		}
		Required []string
	}
	Annotations struct{ ReadOnlyHint bool }
}

// toolPrefix is the prefix of every tool's name.
const toolPrefix = "service_"

// connect connects to a company's tools as a client does, and lists them. words contains the names
// and dates that the task mentions.
func connect(ctx context.Context, c company, words map[string]string) (*session, error) {
	s := &session{ctx: ctx, company: c, tools: map[string]toolInfo{}}
	for word := range maps.Values(words) {
		if resultOnlyValues(word, "") != nil {
			return nil, fmt.Errorf("the request contains the id %s, which only a tool may tell", word)
		}
		s.shown.WriteString(word + "\n")
	}
	var initResult struct{ Instructions string }
	if _, err := s.send("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "prove", "version": "1"},
	}, &initResult); err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name string
			toolInfo
		}
	}
	listed, err := s.send("tools/list", nil, &list)
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		s.tools[tool.Name] = tool.toolInfo
	}
	s.ListBytes = len(listed) + len(initResult.Instructions)
	return s, nil
}

// acceptsArgument reports whether a tool accepts an argument, according to tools/list.
func (s *session) acceptsArgument(tool, argument string) bool {
	_, ok := s.tools[toolPrefix+tool].InputSchema.Properties[argument]
	return ok
}

type arguments map[string]any

func (s *session) call(tool string, a arguments) (r result) {
	if s.err != nil {
		return r
	}
	if unknown := s.unknownValues(a); len(unknown) > 0 {
		s.err = fmt.Errorf("%s: the agent was never shown %s", tool, strings.Join(unknown, ", "))
		return r
	}
	if a == nil {
		a = arguments{}
	}
	if _, err := s.send("tools/call", map[string]any{"name": toolPrefix + tool, "arguments": a}, &r); err != nil {
		s.err = fmt.Errorf("%s: %w", tool, err)
		return r
	}
	textBytes := 0
	for _, c := range r.Content {
		textBytes += len(c.Text)
		s.shown.WriteString(c.Text + "\n")
	}
	s.shown.Write(r.StructuredContent)
	s.add(Counts{Calls: 1, TextBytes: textBytes, StructuredBytes: len(r.StructuredContent), LargestText: textBytes, LargestResult: textBytes + len(r.StructuredContent)})
	if r.IsError {
		s.err = &toolError{tool, r.text()}
		return result{}
	}
	return r
}

// toolError is an error that a tool returned.
type toolError struct{ tool, text string }

func (e *toolError) Error() string { return e.tool + ": " + e.text }

// read calls a read-only tool. If the tool has an argument named fields, read requests only the
// given fields.
func (s *session) read(tool string, a arguments, fields ...string) result {
	if len(fields) > 0 && s.acceptsArgument(tool, "fields") {
		a = maps.Clone(a)
		if a == nil {
			a = arguments{}
		}
		a["fields"] = fields
	}
	return s.call(tool, a)
}

// list reads all pages of a list. It stops early if the function enough returns true.
func (s *session) list(tool string, a arguments, enough func([]record) bool, fields ...string) (out []record) {
	a = maps.Clone(a)
	if a == nil {
		a = arguments{}
	}
	for {
		page := s.read(tool, a, fields...)
		records, err := page.records()
		if s.err == nil && err != nil {
			s.err = fmt.Errorf("%s: %w", tool, err)
		}
		out = append(out, records...)
		a["cursor"] = page.cursor()
		if s.err != nil || a["cursor"] == "" || enough != nil && enough(out) {
			return out
		}
	}
}

// part returns the part of a large record that a JSON Pointer refers to. If the tool cannot return
// parts, the part is taken from `whole`, a result that contains the record. If `whole` is empty,
// the agent reads the record first.
func (s *session) part(tool string, a arguments, whole result, pointer string) any {
	if !s.acceptsArgument(tool, "at") {
		if whole.Content == nil {
			whole = s.call(tool, a)
		}
		value, err := resolve(whole.asRecord(), pointer)
		if s.err == nil && err != nil {
			s.err = fmt.Errorf("%s: %w", tool, err)
		}
		return value
	}
	a = maps.Clone(a)
	a["at"] = pointer
	value, err := s.call(tool, a).value()
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s at %s: %w", tool, pointer, err)
	}
	return value
}

// delegate runs another program, for a step that no tool can do, and waits until it is done.
func (s *session) delegate(program string, ids ...string) {
	if s.err != nil {
		return
	}
	for _, id := range ids {
		if !strings.Contains(s.shown.String(), id) {
			s.err = fmt.Errorf("%s: the agent was never shown %s", program, id)
			return
		}
	}
	s.err = s.delegates[program](ids...)
}

// idPattern matches ids.
var idPattern = regexp.MustCompile(`^[a-z]{2,4}_[0-9a-z]{20,}$`)

// shownArgumentPattern matches the names of arguments whose values an agent cannot make up.
var shownArgumentPattern = regexp.MustCompile(`(Id|Ids|Key)$|^(cursor|ifMatch)$`)

// unknownValues returns the argument values that the agent was never shown.
func (s *session) unknownValues(a arguments) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		for _, value := range resultOnlyValues(a[name], name) {
			if !strings.Contains(s.shown.String(), value) && !strings.Contains(s.shown.String(), escapeJSON(value)) {
				out = append(out, name+" "+value)
			}
		}
	}
	return out
}

// escapeJSON returns a string as it appears inside a JSON string, without the quotation marks.
func escapeJSON(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return strings.Trim(string(encoded), `"`)
}

// resultOnlyValues returns the strings in a value that an agent can only know from a result: the
// values of arguments that match shownArgumentPattern, and strings that look like an id.
func resultOnlyValues(value any, name string) (out []string) {
	switch v := value.(type) {
	case string:
		if v != "" && (shownArgumentPattern.MatchString(name) && name != "idempotencyKey" || idPattern.MatchString(v)) {
			return []string{v}
		}
	case []string:
		for _, one := range v {
			out = append(out, resultOnlyValues(one, name)...)
		}
	case []any:
		for _, one := range v {
			out = append(out, resultOnlyValues(one, name)...)
		}
	case []record:
		for _, one := range v {
			out = append(out, resultOnlyValues(one, name)...)
		}
	case map[string]any:
		for inner, one := range v {
			out = append(out, resultOnlyValues(one, inner)...)
		}
	case record:
		return resultOnlyValues(map[string]any(v), name)
	}
	return out
}

// send sends a JSON-RPC request, decodes its result, and returns the bytes of the result.
func (s *session) send(method string, params, into any) ([]byte, error) {
	frame := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		frame["params"] = params
	}
	text, err := json.Marshal(frame)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.company.base+"/mcp", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("MCP-Protocol-Version", "2025-11-25")
	request.Header.Set("Authorization", "Bearer "+s.company.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var message struct{ Result json.RawMessage }
	if err := json.Unmarshal(body, &message); err != nil || message.Result == nil {
		return nil, fmt.Errorf("%s: status %d: %.500s", method, response.StatusCode, body)
	}
	return message.Result, json.Unmarshal(message.Result, into)
}
