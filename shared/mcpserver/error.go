package mcpserver

import (
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// explainError adapts an error response to a tool call. Its messages then name arguments
// (`scheduledFor: …`) instead of fields of an HTTP request (`body.scheduledFor: …`), and the
// message "no such record" also names the tool that lists the ids.
func (s *Server) explainError(response api.Response, call api.Call) api.Response {
	refused := *response.Err
	refused.Messages = slices.Clone(refused.Messages)
	for i, message := range refused.Messages {
		if message == fault.ErrNotFound.Messages[0] {
			refused.Messages[i] = message + s.listToolHint(call)
		} else {
			refused.Messages[i] = toArgumentPath(call.Operation, message)
		}
	}
	response.Err, response.Body = &refused, fault.Envelope(&refused)
	return response
}

// toArgumentPath replaces the path of a field at the beginning of a message with the name of the
// corresponding argument. It returns any other message unchanged.
func toArgumentPath(op *api.Operation, message string) string {
	place, rest, found := strings.Cut(message, ".")
	switch schema.Place(place) {
	case schema.InHeader:
		name, problem, _ := strings.Cut(rest, ":")
		i := slices.IndexFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InHeader && f.Name == name })
		if i >= 0 {
			return op.Input[i].ArgumentName() + ":" + problem
		}
	case schema.InPath, schema.InQuery, schema.InBody, api.ArgumentsRoot:
		if found {
			return rest
		}
	}
	return message
}

// listToolHint returns what to add to the message "no such record". If there is a tool that lists
// valid values for the last id in the operation's path, the hint names it. If the call contains
// companyId, the hint advises leaving it out. The hint depends only on what was sent, so it does
// not reveal whether a record exists.
func (s *Server) listToolHint(call api.Call) string {
	out := ""
	if tool := s.listTool(call.Operation); tool != "" {
		out = "; " + tool + " lists the ids"
	}
	if call.CompanyID != "" {
		out += "; leave companyId out, the key has one company"
	}
	return out
}

// listTool returns the name of the tool that lists valid values for the last id in an operation's
// path, or "" if there is no such tool.
func (s *Server) listTool(op *api.Operation) string {
	for _, segment := range slices.Backward(api.PathSegments(op.Path)) {
		if id, isID := api.PathParameter(segment); isID {
			return listToolFor(id, *op, s.kinds())
		}
	}
	return ""
}
