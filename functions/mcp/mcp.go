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
