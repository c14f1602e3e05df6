// Command lambda is the Lambda function of the context area.
package main

import (
	"growthworkspace/functions/context"
	"growthworkspace/shared/api"
)

func main() { api.Start(context.Operations) }
