// Command lambda is the Lambda function that serves the OpenAPI document and the reference page.
package main

import (
	"crypto/rand"
	"time"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
)

func main() { gateway.Start(openapi.Handler(id.NewGenerator(time.Now, rand.Reader))) }
