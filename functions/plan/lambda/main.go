// Command lambda is the Lambda function of the plan area.
package main

import (
	"growthworkspace/functions/plan"
	"growthworkspace/shared/service"
)

func main() { service.Start(plan.Operations) }
