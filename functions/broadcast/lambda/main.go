// Command lambda is the Lambda function of the broadcast area.
package main

import (
	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/service"
)

func main() { service.Start(broadcast.Operations) }
