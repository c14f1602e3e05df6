package mcpserver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/modeltext"
)

// The maximum sizes of a result, which ensure that it fits into a model's context. A result has at
// most textBytesMax bytes of text, and at most resultBytesMax bytes of text and structured content
// together. The first text block contains the record, the list or the error. It has at most
// bodyTextMax bytes, which leaves linesBytesMax for the lines after it.
const (
	textBytesMax   = 40_000
	resultBytesMax = 80_000
	linesBytesMax  = 4_000
	bodyTextMax    = textBytesMax - linesBytesMax
)

// problemsMax is the maximum number of problems that an error lists. problemBytesMax is the maximum
// size of each of them.
const (
	problemsMax     = 50
	problemBytesMax = 500
)

// toolResult is the result of a tools/call request. It is used instead of the SDK's type, which
// cannot include a resultType for a tool that is not registered with the SDK.
type toolResult struct {
	ResultType string `json:"resultType,omitempty"`
	mcp.ResultBase
	Content           []mcp.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

func (s *Server) callTool(x *messageExchange, op *api.Operation, request *mcp.CallToolRequest) *toolResult {
	call, view := x.call, &view{op: op}
	call.Operation, call.Explain = op, true
	if parent, ok := request.Params.Meta["traceparent"].(string); ok { // the message's trace replaces the one in the header of the HTTP request
		call.Trace = api.ParseTrace(parent)
	}
	call.Arguments, call.CompanyID = api.ParseToolArguments(x.message.arguments, view.arguments()...)
	x.response, x.isFromOperation = s.api.Call(x.ctx, call), true
	var out *toolResult
	if x.response.Err != nil {
		x.response = s.explainError(x.response, call)
		out = newErrorResult(x.response)
	} else {
		out = s.newToolResult(x.response, view)
	}
	if request.ProtocolVersion() >= firstStatelessRevision {
		out.ResultType = "complete"
	}
	return out
}

// newErrorResult converts an error response from the pipeline to the result of a tool.
func newErrorResult(response api.Response) *toolResult {
	out, shownErr := &toolResult{IsError: true}, *response.Err
	total := len(response.Err.Messages)
	shownErr.Messages = make([]string, min(total, problemsMax))
	for i := range shownErr.Messages {
		if shownErr.Messages[i] = response.Err.Messages[i]; len(shownErr.Messages[i]) > problemBytesMax {
			shownErr.Messages[i] = strings.ToValidUTF8(shownErr.Messages[i][:problemBytesMax], "") + "…"
		}
	}
	text := fault.Envelope(&shownErr)
	for len(text) > bodyTextMax { // possible only if most characters are escaped
		shownErr.Messages = shownErr.Messages[:len(shownErr.Messages)-1]
		text = fault.Envelope(&shownErr)
	}
	out.addText("%s", text)
	if n := len(shownErr.Messages); n < total {
		out.addText("The first %d of %d problems are shown.", n, total)
	}
	if wait := response.Header.Get("Retry-After"); wait != "" {
		out.addText("Retry after %s seconds.", wait)
	}
	return out
}

// newToolResult converts a response from the pipeline to the result of a tool. The result contains
// text for the model and, if the text shows all records and both fit, the body as structured
// content. Headers that a model needs for its next call become lines of text, because clients show
// a model nothing else.
func (s *Server) newToolResult(response api.Response, v *view) *toolResult {
	shown, err := v.show(&response)
	if err != nil {
		return newErrorResult(api.Response{Err: fault.Invalid(atArgument, "%v", err)})
	}
	out := &toolResult{}
	out.Meta = mcp.Meta{}
	out.addText("%s", shown.JSON)
	if shown.restHint != "" {
		out.addText("%s", shown.restHint)
	}
	if len(shown.Outlined) > 0 {
		out.addText("%s", s.outlineHint(shown.Outlined, v.op))
	}
	if response.Note != "" {
		out.addText("%s", response.Note)
	}
	if response.Header.Get("Idempotent-Replayed") != "" {
		out.Meta["idempotentReplayed"] = true
	}
	if response.More != nil {
		out.Meta["hasMore"] = *response.More
	}
	switch {
	case response.After != "" && *response.More:
		out.Meta["after"] = response.After
		out.addText("There is more: call again with after %q and without since.", response.After)
	case response.After != "":
		out.Meta["after"] = response.After
		out.addText("That is all for now. To continue from here later, call with after %q and without since.", response.After)
	case response.Next != "" && string(response.Body) == emptyList:
		out.Meta["nextCursor"] = response.Next
		out.addText("None of the records that this call has read match, but there are more: call again with the same arguments and cursor %q.", response.Next)
	case response.Next != "":
		out.Meta["nextCursor"] = response.Next
		out.addText("There are more records: call again with the same arguments and cursor %q.", response.Next)
	case response.More != nil && *response.More:
		out.addText("It is not all done yet: call again with the same arguments.")
	}
	if tag := response.Header.Get("ETag"); tag != "" {
		out.Meta["etag"] = tag
		out.addText("ETag: %s", tag)
	}
	if shown.isWhole && out.textBytes()+len(response.Body) <= resultBytesMax {
		out.StructuredContent = response.Body
	}
	return out
}

// emptyList is the body of a page without records. A filter can drop every record that a page has
// read, although the list continues.
const emptyList = `{"items":[]}`

// outlineHint returns a sentence that says how to read the values that did not fit.
func (s *Server) outlineHint(outlined []modeltext.OutlinedValue, op *api.Operation) string {
	const examples, pointerBytesMax = 3, 300
	out := fmt.Sprintf("Values that do not fit are outlined: %d.", len(outlined))
	instruction := "Read them"
	if !acceptsAt(*op) {
		tool := s.recordTool(op)
		if tool == "" {
			return out + " They can be read over HTTP."
		}
		instruction = tool + " reads them"
	}
	var pointers []string
	unreadable := 0
	for _, o := range outlined {
		if o.Next == "" {
			unreadable++
		} else if len(pointers) < examples && len(o.Next) <= pointerBytesMax {
			pointers = append(pointers, strconv.Quote(o.Next))
		}
	}
	if unreadable > 0 {
		out += fmt.Sprintf(" Only HTTP has %d of them, because a number or a name is too long for a result.", unreadable)
	}
	if unreadable == len(outlined) {
		return out
	}
	if len(pointers) == 0 {
		pointers = []string{"a pointer to one"}
	}
	return fmt.Sprintf("%s %s with at, such as %s.", out, instruction, strings.Join(pointers, ", "))
}

// recordTool returns the name of the tool that reads one of the records that an operation returns
// or lists. It returns "" if there is no such tool.
func (s *Server) recordTool(op *api.Operation) string {
	for _, candidate := range s.operations {
		segments := api.PathSegments(candidate.Path)
		_, isByID := api.PathParameter(segments[len(segments)-1])
		if acceptsAt(candidate) && candidate.Record() == op.Record() && (isByID || candidate.Path == op.Path) {
			return ToolName(candidate)
		}
	}
	return ""
}

func (t *toolResult) addText(format string, args ...any) {
	t.Content = append(t.Content, &mcp.TextContent{Text: fmt.Sprintf(format, args...)})
}

// textBytes returns the total size of the result's text blocks.
func (t *toolResult) textBytes() (n int) {
	for _, c := range t.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			n += len(text.Text)
		}
	}
	return n
}
