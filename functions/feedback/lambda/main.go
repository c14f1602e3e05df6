// Command lambda is the Lambda function of the feedback area.
package main

import (
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/service"
)

func main() { service.Start(feedback.Operations) }
