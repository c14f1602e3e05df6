// Command lambda is the Lambda function of the company area.
package main

import (
	"growthworkspace/functions/company"
	"growthworkspace/shared/api"
)

func main() { api.Start(company.Operations) }
