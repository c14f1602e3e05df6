package tableconn

import (
	"strings"
	"testing"

	"growthworkspace/shared/testkit/engine"
)

// Ensure the engine's name says who can reach the engine. The serve command prints this name.
func TestEngineNameSaysWhoCanReachIt(t *testing.T) {
	t.Parallel()
	local := Target{Data: "d"}
	for _, c := range []struct {
		engine engine.Engine
		want   string
	}{
		{engine.Engine{Name: "Dynoxide 1.2.1", Socket: "d/engine.sock"}, "Dynoxide 1.2.1, reachable by your user only"},
		{engine.Engine{Name: "DynamoDB Local 3.1.0", Socket: "d/engine.sock", Shared: true}, "DynamoDB Local 3.1.0, reachable by your user only, shared with another process"},
		{engine.Engine{Name: "Dynoxide 1.2.1", Endpoint: "http://127.3.2.1:4000"}, "Dynoxide 1.2.1, reachable by every user of this machine"},
		{engine.Engine{Name: "DynamoDB Local 3.1.0", Endpoint: "http://127.3.2.1:4000"}, "DynamoDB Local 3.1.0, reachable by everyone who reaches this machine"},
	} {
		s := Session{Target: local, Engine: &c.engine}
		if got := s.EngineName(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
