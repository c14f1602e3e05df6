// Command lambda is the Lambda function of the optimise area.
package main

import (
	"growthworkspace/functions/optimise"
	"growthworkspace/shared/service"
)

func main() { service.Start(optimise.Operations) }
