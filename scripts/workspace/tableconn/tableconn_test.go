package tableconn

import (
	"strings"
	"testing"

	"growthworkspace/shared/localdb"
)

// Ensure the engine's name says who can reach the engine. The serve command prints this name.
func TestEngineNameSaysWhoCanReachIt(t *testing.T) {
	t.Parallel()
	local := Target{Data: "d"}
	for _, c := range []struct {
		engine localdb.Engine
		want   string
	}{
		{localdb.Engine{Name: "Dynoxide 1.2.1", Socket: "d/engine.sock"}, "Dynoxide 1.2.1, reachable by your user only"},
		{localdb.Engine{Name: "DynamoDB Local 3.1.0", Socket: "d/engine.sock", Shared: true}, "DynamoDB Local 3.1.0, reachable by your user only, shared with another process"},
		{localdb.Engine{Name: "Dynoxide 1.2.1", Endpoint: "http://127.3.2.1:4000"}, "Dynoxide 1.2.1, reachable by every user of this machine"},
		{localdb.Engine{Name: "DynamoDB Local 3.1.0", Endpoint: "http://127.3.2.1:4000"}, "DynamoDB Local 3.1.0, reachable by everyone who reaches this machine"},
	} {
		s := Session{Target: local, Engine: &c.engine}
		if got := s.EngineName(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
