// Command lambda is the Lambda function of the context area.
package main

import (
	brand "growthworkspace/functions/context"
	"growthworkspace/shared/service"
)

func main() { service.Start(brand.Operations) }
