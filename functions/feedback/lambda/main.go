// Command lambda is the Lambda function of the feedback area.
package main

import (
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/api"
)

func main() { api.Start(feedback.Operations) }
