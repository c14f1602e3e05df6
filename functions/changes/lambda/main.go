// Command lambda is the Lambda function of the changes area.
package main

import (
	"growthworkspace/functions/changes"
	"growthworkspace/shared/api"
)

func main() { api.Start(changes.Operations) }
