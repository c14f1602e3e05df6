package tableconn

import (
	"path/filepath"
	"strings"
	"testing"
)

// Ensure Resolve returns the right target for flags and environment variables. A flag overrides a
// variable.
func TestResolve(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/somewhere")
	const other = "http://127.0.0.1:8000"
	for _, c := range []struct {
		name, environment string
		flags             Flags
		want              Target
		wantAWS           bool
	}{
		{"nothing", "", Flags{}, Target{Data: filepath.Join("/somewhere", "growth-workspace"), TableName: "workspace"}, false},
		{"data", other, Flags{Data: "d"}, Target{Data: "d", TableName: "workspace"}, false},
		{"environment", other, Flags{}, Target{Endpoint: other, TableName: "workspace"}, false},
		{"environment and table", other, Flags{Table: "t"}, Target{Endpoint: other, TableName: "t"}, false},
		{"endpoint", "", Flags{Endpoint: other}, Target{Endpoint: other, TableName: "workspace"}, false},
		{"table", "", Flags{Table: "t"}, Target{TableName: "t"}, true},
		{"AWS as an endpoint", "", Flags{Endpoint: "https://dynamodb.eu-central-1.amazonaws.com", Table: "t"}, Target{Endpoint: "https://dynamodb.eu-central-1.amazonaws.com", TableName: "t"}, true},
		{"a name that only looks like AWS", "", Flags{Endpoint: "http://amazonaws.com.example"}, Target{Endpoint: "http://amazonaws.com.example", TableName: "workspace"}, false},
	} {
		t.Setenv(endpointVariable, c.environment)
		got, err := c.flags.Resolve()
		if err != nil || got != c.want || got.IsAWS() != c.wantAWS {
			t.Errorf("%s: %+v, account %v, %v", c.name, got, got.IsAWS(), err)
		}
	}
}

// Ensure the default is the user's data folder. A relative XDG_DATA_HOME is ignored, because the
// standard calls it invalid.
func TestDefaultData(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "relative")
	t.Setenv("HOME", "/home/somebody")
	dir, err := defaultData()
	if err != nil || strings.Contains(dir, "relative") || filepath.Base(dir) != "growth-workspace" {
		t.Errorf("folder %s: %v; want growth-workspace below the home", dir, err)
	}
}
