package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// public replaces the SDK's words for params that do not decode, which quote the params and name its own Go types, and
// gives a code to those that it answers with none.
func public(text []byte, m message) []byte {
	var answer struct{ Error *jsonrpc.Error }
	if !bytes.Contains(text, []byte(`"error"`)) || json.Unmarshal(text, &answer) != nil || answer.Error == nil {
		return text
	}
	if answer.Error.Code != 0 && !strings.Contains(answer.Error.Message, "unmarshal") {
		return text
	}
	code := answer.Error.Code
	if code == 0 {
		code = jsonrpc.CodeInvalidParams
	}
	return errorBody(m.id, &jsonrpc.Error{Code: code, Message: "params: are not those of " + m.method})
}

// withResultType is the first revision in which every result says that it is complete.
const withResultType = "2026-07-28"

// finished adds what that revision wants of a tool's result; the SDK adds it to every other one.
func finished(text []byte, r *http.Request, m message) []byte {
	if m.method != callTool || r.Header.Get(versionHeader) < withResultType {
		return text
	}
	return bytes.Replace(text, []byte(`"result":{`), []byte(`"result":{"resultType":"complete",`), 1)
}
