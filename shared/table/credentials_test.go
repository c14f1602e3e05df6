package table_test

import (
	"testing"

	"growthworkspace/shared/table"

	"github.com/google/go-cmp/cmp"
)

// Ensure the credentials come from the environment, and missing ones are an error.
func TestEnvironmentCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	c, err := table.EnvironmentCredentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"id", "secret", "token"}, []string{c.AccessKeyID, c.SecretAccessKey, c.SessionToken}); diff != "" || c.CanExpire {
		t.Errorf("they expire: %t, want not; credentials (-want +got):\n%s", c.CanExpire, diff)
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
