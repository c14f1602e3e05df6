package main

import (
	"path/filepath"
	"testing"
)

// Ensure a command that uses a table in an AWS account fails if no region is set. The error says
// what is missing.
func TestAccount(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	requireContains(t, runRefused(t, 1, "", "company", "list", "--table", "t"), "no AWS region: set AWS_REGION")
}

func TestEndpointNotRunning(t *testing.T) {
	t.Parallel()
	requireContains(t, runRefused(t, 1, "", "company", "list", "--endpoint", "http://127.0.0.1:1"), "nothing answers at the endpoint http://127.0.0.1:1")
	requireContains(t, runRefused(t, 1, "", "company", "list", "--endpoint", "localhost"), "must be a URL")
}
