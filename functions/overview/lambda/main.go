// Command lambda is the Lambda function of the overview area.
package main

import (
	"growthworkspace/functions/sources"
	"growthworkspace/shared/api"
)

func main() { api.Start(sources.Overview) }
