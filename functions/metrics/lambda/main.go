// Command lambda is the Lambda function of the metrics area.
package main

import (
	"growthworkspace/functions/metrics"
	"growthworkspace/shared/api"
)

func main() { api.Start(metrics.Operations) }
