// Package engine finds, installs and starts a program that speaks DynamoDB's
// protocol, so that the service runs and is tested on a machine without AWS.
//
// The engines are other people's kept projects, tried in this order: an
// endpoint that the caller names; Dynoxide, one small binary over SQLite, from
// npm; DynamoDB Local, from Maven or as its Docker image. Versions are pinned,
// and each is installed once into the user's cache.
//
// One data folder has one engine. The process that opens a folder first starts
// it; whoever opens the same folder meanwhile is led to the same endpoint. When
// the first process leaves, or dies, one of the others starts the engine anew
// at the same address, so an open [Engine] stays usable for as long as its
// holder lives.
//
// Reading order: engine.go (the contract), folder.go (who owns a data folder),
// share.go (life beside another owner), process.go (start and end of a
// process), source.go, dynoxide.go and local.go (where the programs come from).
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// The names that [Options.Prefer] takes, and that a data folder remembers.
const (
	Dynoxide      = "dynoxide"
	DynamoDBLocal = "dynamodb-local"
)

// ErrNone is in the chain of the error that [Open] returns when no engine can
// be had on this machine; the error's text says what to install.
var ErrNone = errors.New("no engine that speaks DynamoDB's protocol can be had here")

// Options say which engine [Open] opens. The zero value opens what is already
// installed, in memory.
type Options struct {
	// Endpoint is the address of an engine that runs already, DynamoDB itself
	// included. It comes before everything else; Data and Prefer then mean
	// nothing. The caller fills in AWS_ENDPOINT_URL_DYNAMODB too: this package
	// reads no environment for it.
	Endpoint string

	// Data is the folder in which data persists; it is made when missing. Empty
	// means in memory: the data ends with the engine, and nobody shares it.
	Data string

	// Install allows npm, mvn and docker to be run to fetch an engine. Without
	// it only what is in the user's cache or on PATH is used.
	Install bool

	// Prefer is "" (the usual order), [Dynoxide] or [DynamoDBLocal].
	Prefer string

	// Log gets one line for a person per slow step, such as an installation.
	// It may be nil.
	Log io.Writer
}

// Engine is an engine that answered when it was opened. Its fields don't
// change; its methods may be called from several goroutines.
type Engine struct {
	// Name is for people: "Dynoxide 1.2.1".
	Name string
	// Endpoint is the base URL for a client of DynamoDB.
	Endpoint string
	// Shared tells that somebody else started the engine: Close leaves it.
	Shared bool

	done      chan struct{}
	closeOnce sync.Once
	closeErr  error
	stop      context.CancelFunc // ends the follower of a shared engine
	following sync.WaitGroup

	mu      sync.Mutex
	closing bool
	failed  bool
	err     error
	proc    *process
	folder  *folder
	lock    *fileLock
}

// Open finds and starts an engine, or joins the one that already serves the
// data folder, and returns once it answers. ctx bounds the opening alone: the
// engine outlives it. The error says what to do; it has [ErrNone] in its chain
// when there is nothing to start.
func Open(ctx context.Context, o Options) (*Engine, error) {
	return open(ctx, o, newHost(o.Log))
}

func open(ctx context.Context, o Options, h *host) (*Engine, error) {
	if o.Endpoint != "" {
		return given(ctx, o.Endpoint)
	}
	if o.Prefer != "" && o.Prefer != Dynoxide && o.Prefer != DynamoDBLocal {
		return nil, fmt.Errorf("unknown engine %q: name %s or %s", o.Prefer, Dynoxide, DynamoDBLocal)
	}
	if o.Data != "" {
		return openFolder(ctx, o, h)
	}
	p, err := h.find(ctx, o.Prefer, o.Install)
	if err != nil {
		return nil, err
	}
	proc, err := h.start(ctx, p, "", 0)
	if err != nil {
		return nil, err
	}
	e := &Engine{Name: p.title, Endpoint: proc.endpoint, done: make(chan struct{})}
	e.attach(proc, nil, nil)
	return e, nil
}

// given checks an endpoint that the caller named, so that a mistyped one is
// reported here and not as a failed request later. Any HTTP answer will do.
func given(ctx context.Context, endpoint string) (*Engine, error) {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("endpoint %q: must be a URL such as http://127.0.0.1:8000", endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("nothing answers at the endpoint %s: start it, or name no endpoint to have an engine started: %w", endpoint, err)
	}
	_ = res.Body.Close()
	return &Engine{Name: "given endpoint", Endpoint: endpoint, Shared: true, done: make(chan struct{})}, nil
}

// Done is closed when the engine ended by itself and could not be started
// again; [Engine.Err] then says why. Close does not close it, and neither does
// the end of an endpoint that the caller named.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is why Done was closed, with the end of the engine's own output; nil
// before that.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close ends the process that this Engine started, and only that one: first
// politely, after five seconds by force. It may be called more than once.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	if e.stop != nil {
		e.stop()
		e.following.Wait()
	}
	e.mu.Lock()
	proc, f, lock := e.proc, e.folder, e.lock
	e.mu.Unlock()
	if proc == nil {
		return nil
	}
	err := proc.end()
	if f != nil {
		// The folder keeps the name and the address, so that the next engine
		// is of the same kind and, when it can, at the same place.
		err = errors.Join(err, f.write(state{Name: proc.program.kind, Endpoint: proc.endpoint}))
		lock.release()
	}
	return err
}

// attach makes the process ours and watches for its end.
func (e *Engine) attach(proc *process, f *folder, lock *fileLock) {
	e.mu.Lock()
	e.proc, e.folder, e.lock = proc, f, lock
	e.mu.Unlock()
	go func() {
		<-proc.exited
		e.fail(proc.ended("ended by itself"))
	}()
}

// fail closes Done with its reason, unless the engine is being closed.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing || e.failed {
		return
	}
	e.failed, e.err = true, err
	close(e.done)
}
