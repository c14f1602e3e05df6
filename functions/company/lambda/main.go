// Command lambda is the Lambda function of the company area.
package main

import (
	"growthworkspace/functions/company"
	"growthworkspace/shared/service"
)

func main() { service.Start(company.Operations) }
