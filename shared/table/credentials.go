package table

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// EnvironmentCredentials are the credentials in the environment of a Lambda function. They are
// valid as long as the process runs, so they are never refreshed. Package config of the SDK does
// the same more slowly.
var EnvironmentCredentials aws.CredentialsProviderFunc = environmentCredentials

func environmentCredentials(context.Context) (aws.Credentials, error) {
	c := aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), Source: "environment",
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
	}
	return c, nil
}
