// Package stand is what the gates stand on: an engine with a data file that can be killed and started again, servers
// that are processes of their own, and companies with a board and a key.
package stand

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/scripts/prove/faults/wire"
	"growthworkspace/shared/engine"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// tableName is the table of a stand.
const tableName = "fault"

// Stand is an engine with a table. Its engine is Dynoxide, whose data outlive a kill.
type Stand struct {
	Table     *table.Client     // without faults, patient
	Transport http.RoundTripper // to the engine, without faults

	dir    string
	log    io.Writer
	engine *engine.Engine
}

// Open starts an engine over a data file in the folder and makes the table.
func Open(ctx context.Context, dir string, log io.Writer) (*Stand, error) {
	s := &Stand{dir: filepath.Join(dir, "data"), log: log, Transport: wire.Pooled()}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	s.Table = newClient(s.engine.Endpoint, s.Transport, patience)
	if err := s.Table.Create(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stand) start(ctx context.Context) (err error) {
	s.engine, err = engine.Open(ctx, engine.Options{Data: s.dir, Install: true, Prefer: engine.Dynoxide, Log: s.log})
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	return nil
}

// Close ends the engine.
func (s *Stand) Close() error { return s.engine.Close() }

// patience is the attempt timeout of the stand's own calls, which a busy machine must not fail.
const patience = 30 * time.Second

// attemptTimeout is that of `workspace serve`: longer than the one second of a function, because a busy machine whose
// engine takes longer now and then says nothing about the service.
const attemptTimeout = 5 * time.Second

// Client returns a table client as the local server has it, over a transport.
func (s *Stand) Client(transport http.RoundTripper) *table.Client {
	return newClient(s.engine.Endpoint, transport, attemptTimeout)
}

func newClient(endpoint string, transport http.RoundTripper, timeout time.Duration) *table.Client {
	return table.New(table.Options{
		Name: tableName, Region: "eu-central-1", Endpoint: endpoint, Transport: transport, Timeout: timeout,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Now:         time.Now, NewID: id.NewGenerator(time.Now, rand.Reader),
	})
}

// KillEngine kills the engine with no warning and waits until it is gone.
func (s *Stand) KillEngine(ctx context.Context) error {
	// The file is the engine package's own note of which process serves the folder.
	text, err := os.ReadFile(filepath.Join(s.dir, "engine.json"))
	if err != nil {
		return fmt.Errorf("look for the engine's process: %w", err)
	}
	var state struct{ PID int }
	if err := json.Unmarshal(text, &state); err != nil || state.PID == 0 {
		return fmt.Errorf("look for the engine's process in %q: %w", text, err)
	}
	process, err := os.FindProcess(state.PID)
	if err != nil {
		return fmt.Errorf("find the engine's process %d: %w", state.PID, err)
	}
	if err := process.Kill(); err != nil {
		return fmt.Errorf("kill the engine's process %d: %w", state.PID, err)
	}
	select {
	case <-s.engine.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RestartEngine starts a killed engine again, at the same address.
func (s *Stand) RestartEngine(ctx context.Context) error {
	before := s.engine.Endpoint
	if err := s.engine.Close(); err != nil {
		return fmt.Errorf("close the killed engine: %w", err)
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.engine.Endpoint != before {
		return fmt.Errorf("the engine moved from %s to %s", before, s.engine.Endpoint)
	}
	return nil
}
