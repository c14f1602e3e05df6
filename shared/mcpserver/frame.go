package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

const (
	callTool      = "tools/call"
	initialize    = "initialize"
	notifications = "notifications/"
	batchMax      = 20 // messages in one body; they are answered one after the other

	// lastBatching is the last revision with batches, firstStateless the first without initialisation, whose errors have
	// statuses of their own.
	lastBatching   = "2025-03-26"
	firstStateless = "2026-07-28"

	versionHeader = "Mcp-Protocol-Version"
)

// methods are the requests that are served. The SDK would take more, among them one that keeps the connection open.
var methods = []string{initialize, "ping", "server/discover", "tools/list", callTool}

// message is one JSON-RPC message, or what stands where one should be.
type message struct {
	id      json.RawMessage // nil: nobody waits for an answer
	method  string          // empty: an answer, to a request that this server never makes
	params  json.RawMessage
	err     *jsonrpc.Error // what is wrong with it
	problem *fault.Error   // what was wrong with the request before there was a message
}

func malformed(code int64, text string) message {
	return message{err: &jsonrpc.Error{Code: code, Message: text}}
}

// frame answers the messages of one body.
func (s *Server) frame(ctx context.Context, r *http.Request, common api.Call, text []byte) reply {
	if !utf8.Valid(text) || !json.Valid(text) {
		return s.exchange(ctx, r, common, malformed(jsonrpc.CodeParseError, "the body is not valid JSON in UTF-8"))
	}
	version := r.Header.Get(versionHeader)
	if version != "" && !slices.Contains(mcp.SupportedProtocolVersions(), version) {
		m := malformed(mcp.CodeUnsupportedProtocolVersion, "unsupported protocol version")
		m.err.Data = encode(mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: version})
		if parsed := parse(text); parsed.method != "" {
			m.id = parsed.id
		}
		return s.exchange(ctx, r, common, m)
	}
	if bytes.TrimSpace(text)[0] != '[' {
		return s.exchange(ctx, r, common, parse(text))
	}
	var batch []json.RawMessage
	switch err := json.Unmarshal(text, &batch); {
	case version > lastBatching:
		return s.exchange(ctx, r, common, malformed(jsonrpc.CodeInvalidRequest, "a batch is not supported after revision "+lastBatching))
	case err != nil || len(batch) == 0 || len(batch) > batchMax:
		return s.exchange(ctx, r, common, malformed(jsonrpc.CodeInvalidRequest, "a batch has 1 to "+strconv.Itoa(batchMax)+" messages"))
	}
	return s.batch(ctx, r, common, batch)
}

// batch answers several messages. Whoever is refused at the first is refused as a whole; later, what has been done must
// be told, so the refusal is the answer to the one message.
func (s *Server) batch(ctx context.Context, r *http.Request, common api.Call, batch []json.RawMessage) reply {
	out := reply{status: http.StatusAccepted}
	var bodies []json.RawMessage
	for i, text := range batch {
		m := parse(text)
		if m.method == initialize && m.err == nil {
			m.err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "initialize cannot be in a batch"}
		}
		one := s.exchange(ctx, r, common, m)
		if one.refused && i == 0 {
			return one
		}
		awaited := m.id != nil || m.err != nil
		if one.refused {
			one.body = errorBody(m.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "refused", Data: one.body})
		}
		out.header = one.header
		if awaited {
			out.status = http.StatusOK
			bodies = append(bodies, one.body)
		}
	}
	if len(bodies) > 0 {
		out.body = encode(bodies)
	}
	return out
}

// parse reads one message. Of a name that is there twice the last counts, here and, because text spells the message
// anew, in the SDK.
func parse(text json.RawMessage) message {
	var fields map[string]json.RawMessage
	var version string
	var m message
	if json.Unmarshal(text, &fields) != nil || json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return malformed(jsonrpc.CodeInvalidRequest, "not a message of JSON-RPC 2.0")
	}
	m.params = fields["params"]
	if raw, present := fields["id"]; present {
		if !isID(raw) {
			return malformed(jsonrpc.CodeInvalidRequest, "id: must be a string or a whole number")
		}
		m.id = raw
	}
	raw, isRequest := fields["method"]
	isNotification := false
	switch err := json.Unmarshal(raw, &m.method); {
	case !isRequest && m.id != nil && (fields["result"] != nil || fields["error"] != nil):
		m.id = nil
		return m
	case err != nil || string(raw) == "null" || m.method == "":
		m.err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "method: must be a string"}
	default:
		isNotification = strings.HasPrefix(m.method, notifications)
	}
	switch {
	case m.err != nil:
	case isNotification && m.id != nil:
		m.err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a notification has no id"}
	case !isNotification && m.id == nil:
		m.err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request needs an id"}
	case !isNotification && !slices.Contains(methods, m.method):
		m.err = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found; this server takes " + strings.Join(methods, ", ")}
	}
	return m
}

// isID tells whether an id comes back as it was sent: the SDK would cut a fraction off, and lose digits of a large number.
func isID(raw json.RawMessage) bool {
	const safeInteger = 1<<53 - 1
	if raw[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && -safeInteger <= n && n <= safeInteger && strconv.FormatInt(n, 10) == string(raw)
}

// text spells a request for the SDK; params stay byte for byte what was sent.
func (m message) text() []byte {
	var out bytes.Buffer
	out.WriteString(`{"jsonrpc":"2.0","id":`)
	out.Write(m.id)
	out.WriteString(`,"method":`)
	out.Write(encode(m.method))
	if m.params != nil {
		out.WriteString(`,"params":`)
		out.Write(m.params)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// status is that of a JSON-RPC error over HTTP.
func (m message) status(version string) int {
	if m.err.Code != jsonrpc.CodeMethodNotFound {
		return http.StatusBadRequest
	}
	if version >= firstStateless {
		return http.StatusNotFound
	}
	return http.StatusOK // an answer like any other, which a client of these revisions reads only then
}

func errorBody(id json.RawMessage, err *jsonrpc.Error) []byte {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"` // the protocol leaves it out where it is not known
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, err})
}

// encode spells what cannot fail to be spelled.
func encode(v any) []byte {
	text, err := schema.Encode(v)
	if err != nil {
		panic("mcpserver: " + err.Error())
	}
	return text
}
