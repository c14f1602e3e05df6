// Command lambda is the Lambda function of the metrics area.
package main

import (
	"growthworkspace/functions/metrics"
	"growthworkspace/shared/service"
)

func main() { service.Start(metrics.Operations) }
