package table_test

import (
	"testing"

	"growthworkspace/shared/table"
)

// Ensure the credentials come from the environment, and missing ones are an error.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	c, err := table.EnvironmentCredentials(t.Context())
	if err != nil || c.AccessKeyID != "id" || c.SecretAccessKey != "secret" || c.SessionToken != "token" || c.CanExpire {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		t.Setenv(name, "")
		if _, err := table.EnvironmentCredentials(t.Context()); err == nil {
			t.Errorf("no error without %s", name)
		}
	}
}
