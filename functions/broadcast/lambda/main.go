// Command lambda is the Lambda function of the broadcast area.
package main

import (
	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/api"
)

func main() { api.Start(broadcast.Operations) }
