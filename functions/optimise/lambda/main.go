// Command lambda is the Lambda function of the optimise area.
package main

import (
	"growthworkspace/functions/optimise"
	"growthworkspace/shared/api"
)

func main() { api.Start(optimise.Operations) }
