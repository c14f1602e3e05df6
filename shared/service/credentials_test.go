package service

import "testing"

// Ensure a function signs with what Lambda puts into its environment, and says so where that is missing.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	c, err := environment(t.Context())
	if err != nil || c.AccessKeyID != "id" || c.SecretAccessKey != "secret" || c.SessionToken != "token" || c.CanExpire {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		t.Setenv(name, "")
		if _, err := environment(t.Context()); err == nil {
			t.Errorf("signs without %s", name)
		}
	}
}
