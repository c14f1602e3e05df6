// Command lambda is the Lambda function of the context area.
package main

import (
	brand "growthworkspace/functions/context"
	"growthworkspace/shared/api"
)

func main() { api.Start(brand.Operations) }
