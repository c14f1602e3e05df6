// Command lambda is the Lambda function of the plan area.
package main

import (
	"growthworkspace/functions/plan"
	"growthworkspace/shared/api"
)

func main() { api.Start(plan.Operations) }
