// Package mcp is the one function that serves every operation of every area as a tool for agents.
package mcp

import (
	"log/slog"
	"net/http"

	"growthworkspace/functions"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/service"
	"growthworkspace/shared/table"
)

// Handler serves all operations as tools at mcpserver.Path.
func Handler(t *table.Client, log *slog.Logger) http.Handler {
	return mcpserver.New(functions.Operations(t), service.Config(t, log))
}

// Rehearsal is what the function rehearses while it starts: the call of a tool.
var Rehearsal = service.Request{
	Method: http.MethodPost, Path: mcpserver.Path,
	Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_list_companies","arguments":{}}}`,
}
