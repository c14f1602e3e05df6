// Command lambda is the Lambda function of the context area.
package main

import (
	"growthworkspace/functions/context"
	"growthworkspace/shared/service"
)

func main() { service.Start(context.Operations) }
