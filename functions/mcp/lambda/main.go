// Command lambda is the Lambda function of the MCP tools.
package main

import (
	"growthworkspace/functions/mcp"
	"growthworkspace/shared/service"
)

func main() { service.Serve(mcp.Handler) }
