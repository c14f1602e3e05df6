// Package mcp is the Lambda function that serves the operations of all areas as MCP tools for
// agents.
package mcp

import (
	"net/http"

	"growthworkspace/functions"
	"growthworkspace/functions/prompts"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/table"
)

// Handler serves all operations as MCP tools, together with the prompts, at mcpserver.Path.
func Handler(t *table.Client, c api.Config) http.Handler {
	return mcpserver.New(functions.Operations(t), c, prompts.All()...)
}
