package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

const (
	methodCallTool   = "tools/call"
	methodInitialize = "initialize"
	batchMax         = 20 // maximum number of messages in a batch; they are served one after the other
	idBytesMax       = 1000

	// lastBatchRevision is the last protocol revision with batches. firstStatelessRevision is the
	// first revision without initialization. From that revision on, results also have a resultType,
	// and JSON-RPC errors are sent with an HTTP error status.
	lastBatchRevision      = "2025-03-26"
	firstStatelessRevision = "2026-07-28"

	versionHeader = "Mcp-Protocol-Version"
)

// newParams returns a pointer to a new value for a method's params, or nil if this server does not
// support the method. The SDK supports more methods, including one that keeps the connection open.
func newParams(method string) any {
	switch method {
	case methodInitialize:
		return new(mcp.InitializeParams)
	case "ping":
		return new(mcp.PingParams)
	case "server/discover":
		return new(mcp.DiscoverParams)
	case "tools/list":
		return new(mcp.ListToolsParams)
	case methodCallTool:
		return new(mcp.CallToolParamsRaw)
	case "prompts/list":
		return new(mcp.ListPromptsParams)
	case "prompts/get":
		return new(mcp.GetPromptParams)
	}
	return nil
}

// message is one JSON-RPC message: a request, a notification (no id) or a response (no method).
type message struct {
	jsonrpc.Request

	err *jsonrpc.Error // why the message is invalid; nil if it is valid

	// originalID is the id as it was sent, or nil if the SDK would not change it. If it is not
	// nil, ID is placeholderID, and restoreID puts originalID into the response.
	originalID json.RawMessage

	// arguments holds the arguments of a tools/call. The SDK does not get them, because it would
	// reject deeply nested arguments with a protocol error.
	arguments json.RawMessage
}

// placeholderID is the id that the SDK gets in place of an id that it would change.
const placeholderID = "-"

// withError returns the message with the error that makes it invalid.
func (m message) withError(code int64, text string) message {
	m.err = &jsonrpc.Error{Code: code, Message: text}
	return m
}

func (s *Server) serveBody(r *http.Request, call api.Call, text []byte) api.Response {
	revision := r.Header.Get(versionHeader)
	var batch []json.RawMessage
	switch {
	case !utf8.Valid(text) || !json.Valid(text):
		return s.serveMessage(r, call, message{}.withError(jsonrpc.CodeParseError, "the body is not valid JSON in UTF-8, or is nested more than 10,000 levels deep"))
	case revision != "" && !slices.Contains(mcp.SupportedProtocolVersions(), revision):
		m := parseMessage(text).withError(mcp.CodeUnsupportedProtocolVersion, "unsupported protocol version")
		m.err.Data = mustEncode(mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: revision})
		return s.serveMessage(r, call, m)
	case bytes.TrimSpace(text)[0] != '[':
		return s.serveMessage(r, call, parseMessage(text))
	case revision > lastBatchRevision:
		return s.serveMessage(r, call, message{}.withError(jsonrpc.CodeInvalidRequest, "a batch is not supported after revision "+lastBatchRevision))
	case json.Unmarshal(text, &batch) != nil || len(batch) == 0 || len(batch) > batchMax:
		return s.serveMessage(r, call, message{}.withError(jsonrpc.CodeInvalidRequest, "a batch has 1 to "+strconv.Itoa(batchMax)+" messages"))
	}
	return s.serveBatch(r, call, batch)
}

// serveBatch serves several messages. If the first message gets an HTTP error, that error is the
// response to the whole batch. If a later message does, the error becomes the response to that
// message alone, because the caller must read the responses to the messages before it.
func (s *Server) serveBatch(r *http.Request, call api.Call, batch []json.RawMessage) api.Response {
	out := api.Response{Status: http.StatusAccepted}
	var responses []json.RawMessage
	for i, text := range batch {
		m := parseMessage(text)
		if m.Method == methodInitialize && m.err == nil {
			m = m.withError(jsonrpc.CodeInvalidRequest, "initialize cannot be in a batch")
		}
		response := s.serveMessage(r, call, m)
		if response.Err != nil && i == 0 {
			return response
		}
		if response.Err != nil {
			response.Body = m.restoreID(encodeMessage(&jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "refused", Data: response.Body}}))
		}
		out.Header = response.Header
		if m.IsCall() || m.err != nil {
			out.Status = http.StatusOK
			responses = append(responses, response.Body)
		}
	}
	if len(responses) > 0 {
		out.Body = mustEncode(responses)
	}
	return out
}

// parseMessage parses one message. It rejects a message with a repeated member, because a filter in
// front of the server may have read a different occurrence of that member.
func parseMessage(text json.RawMessage) message {
	var version string
	var m message
	fields, repeatedMember := decodeMembers(text)
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return message{}.withError(jsonrpc.CodeInvalidRequest, "not a message of JSON-RPC 2.0")
	}
	if raw, present := fields["id"]; present && repeatedMember != "id" {
		if m.ID, m.originalID = parseID(raw); !m.IsCall() {
			return message{}.withError(jsonrpc.CodeInvalidRequest, fmt.Sprintf("id: must be a string or a whole number, of at most %d bytes", idBytesMax))
		}
	}
	if repeatedMember != "" {
		return m.withError(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the member %.100q is repeated", repeatedMember))
	}
	raw, hasMethod := fields["method"]
	if !hasMethod && m.IsCall() && (fields["result"] != nil || fields["error"] != nil) {
		return message{} // a response, which is ignored, because this server sends no requests
	}
	if json.Unmarshal(raw, &m.Method) != nil || m.Method == "" {
		return m.withError(jsonrpc.CodeInvalidRequest, "method: must be a string")
	}
	isNotification := strings.HasPrefix(m.Method, "notifications/")
	if isNotification == m.IsCall() {
		return m.withError(jsonrpc.CodeInvalidRequest, "id: a request needs one, a notification has none")
	}
	if string(fields["params"]) != "null" {
		m.Params, repeatedMember = m.withoutArguments(fields["params"])
	}
	switch params := newParams(m.Method); {
	case isNotification:
	case repeatedMember != "":
		return m.withError(jsonrpc.CodeInvalidParams, fmt.Sprintf("params: the member %.100q is repeated", repeatedMember))
	case schema.TooDeep(m.Params):
		return m.withError(jsonrpc.CodeInvalidParams, fmt.Sprintf("params: must be nested at most %d levels deep", schema.NestingMax))
	case params == nil:
		return m.withError(jsonrpc.CodeMethodNotFound, "method not found; this server has initialize, ping, server/discover, tools/list, tools/call")
	case m.Params != nil && json.Unmarshal(m.Params, params) != nil:
		// The SDK's error would quote the params, which may contain a secret, and mention Go types.
		return m.withError(jsonrpc.CodeInvalidParams, "params: must be valid for "+m.Method)
	}
	return m
}

// integerPattern matches a number without a fraction or an exponent.
var integerPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// decodeMembers returns the members of a JSON object, and the name of a repeated member if there is
// one. fields is nil if text is not an object.
func decodeMembers(text json.RawMessage) (fields map[string]json.RawMessage, repeatedMember string) {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, ""
	}
	fields = map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, ""
		}
		if _, exists := fields[name]; exists {
			repeatedMember = name
		}
		fields[name] = value
	}
	return fields, repeatedMember
}

// withoutArguments moves the arguments of a tools/call from its params to the message. It returns
// the other params, and the name of a repeated member if there is one.
func (m *message) withoutArguments(params json.RawMessage) (rest json.RawMessage, repeatedMember string) {
	fields, repeatedMember := decodeMembers(params)
	if m.Method != methodCallTool || fields["arguments"] == nil {
		return params, repeatedMember
	}
	m.arguments = fields["arguments"]
	delete(fields, "arguments")
	return mustEncode(fields), repeatedMember
}

// parseID parses an id. It returns an empty id if raw is too long, or is neither a string nor a
// whole number. The SDK would change some ids, such as large numbers and strings with a lone
// surrogate. For such an id, parseID returns placeholderID and, as the second result, the id as it
// was sent. Otherwise, the second result is nil.
func parseID(raw json.RawMessage) (id jsonrpc.ID, original json.RawMessage) {
	var value any
	if len(raw) > idBytesMax || json.Unmarshal(raw, &value) != nil {
		return jsonrpc.ID{}, nil
	}
	if _, isText := value.(string); !isText && !integerPattern.Match(raw) {
		return jsonrpc.ID{}, nil
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil || fmt.Sprint(id.Raw()) != string(raw) && `"`+fmt.Sprint(id.Raw())+`"` != string(raw) {
		original = raw
		id, err = jsonrpc.MakeID(placeholderID)
	}
	if err != nil {
		return jsonrpc.ID{}, nil
	}
	return id, original
}

// restoreID returns the response with the message's id exactly as it was sent.
func (m message) restoreID(response []byte) []byte {
	if m.originalID == nil {
		return response
	}
	const prefix = `{"jsonrpc":"2.0","id":`
	rest, found := bytes.CutPrefix(response, []byte(prefix+`"`+placeholderID+`"`))
	if !found {
		return response
	}
	return slices.Concat([]byte(prefix), m.originalID, rest)
}

// httpStatus returns the HTTP status of a JSON-RPC error.
func httpStatus(err *jsonrpc.Error, revision string) int {
	switch {
	case err.Code != jsonrpc.CodeMethodNotFound && err.Code != jsonrpc.CodeInvalidParams:
		return http.StatusBadRequest
	case revision < firstStatelessRevision:
		return http.StatusOK // clients that use these revisions read a JSON-RPC error only with this status
	case err.Code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func encodeMessage(m jsonrpc.Message) []byte {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		panic("mcpserver: " + err.Error()) // cannot fail: its parts are already JSON
	}
	return text
}

// mustEncode encodes v as JSON. It panics if v cannot be encoded.
func mustEncode(v any) []byte {
	text, err := schema.Encode(v)
	if err != nil {
		panic("mcpserver: " + err.Error())
	}
	return text
}
