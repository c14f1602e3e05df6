package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Ensure the flags and the environment lead to one place, a flag before the environment.
func TestPlace(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/somewhere")
	const other = "http://127.0.0.1:8000"
	for _, c := range []struct {
		name, environment string
		place             place
		want              target
		account           bool
	}{
		{"nothing", "", place{}, target{data: filepath.Join("/somewhere", "growth-workspace"), table: "workspace"}, false},
		{"data", other, place{data: "d"}, target{data: "d", table: "workspace"}, false},
		{"environment", other, place{}, target{endpoint: other, table: "workspace"}, false},
		{"environment and table", other, place{table: "t"}, target{endpoint: other, table: "t"}, false},
		{"endpoint", "", place{endpoint: other}, target{endpoint: other, table: "workspace"}, false},
		{"table", "", place{table: "t"}, target{table: "t"}, true},
		{"AWS as an endpoint", "", place{endpoint: "https://dynamodb.eu-central-1.amazonaws.com", table: "t"}, target{endpoint: "https://dynamodb.eu-central-1.amazonaws.com", table: "t"}, true},
		{"a name that only looks like AWS", "", place{endpoint: "http://amazonaws.com.example"}, target{endpoint: "http://amazonaws.com.example", table: "workspace"}, false},
	} {
		t.Setenv(endpointVariable, c.environment)
		got, err := c.place.resolve()
		if err != nil || got != c.want || got.account() != c.account {
			t.Errorf("%s: %+v, account %v, %v", c.name, got, got.account(), err)
		}
	}
}

// Ensure data goes to the user's data folder, and a relative XDG_DATA_HOME, which the standard calls invalid, is not used.
func TestDefaultData(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "relative")
	t.Setenv("HOME", "/home/somebody")
	dir, err := defaultData()
	if err != nil || strings.Contains(dir, "relative") || filepath.Base(dir) != "growth-workspace" {
		t.Error(dir, err)
	}
}

// Ensure an account's table is never made, and what is missing is said.
func TestAccount(t *testing.T) {
	t.Setenv(endpointVariable, "")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	want(t, refusal(t, 1, "", "company", "list", "--table", "t"), "no AWS region: set AWS_REGION")
}

func TestEndpointWithoutAnswer(t *testing.T) {
	t.Parallel()
	want(t, refusal(t, 1, "", "company", "list", "--endpoint", "http://127.0.0.1:1"), "nothing answers at the endpoint http://127.0.0.1:1")
	want(t, refusal(t, 1, "", "company", "list", "--endpoint", "localhost"), "must be a URL")
}
