// Command lambda is the Lambda function of the MCP tools.
package main

import (
	"growthworkspace/functions/mcp"
	"growthworkspace/shared/api"
)

func main() { api.Serve(mcp.Handler) }
