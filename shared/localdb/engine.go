// Package localdb finds, installs and starts a program that speaks DynamoDB's protocol, so that the
// service can run and be tested on a machine without AWS.
//
// The engines are third-party programs. The package tries these in order: an endpoint supplied by
// the caller; Dynoxide, a small binary on top of SQLite, from this program's folder or from npm;
// DynamoDB Local, from Maven. Versions are pinned. Each engine is installed only once, in the
// user's cache.
//
// A data folder has one engine, whose process holds the folder's lock. The first process that opens
// the folder, the owner, starts the engine. The engine stops when the owner closes it, exits or
// crashes. If the owner shares the engine, other processes use it too, and [Engine.Done] tells them
// when the engine has stopped. Otherwise, they wait until the engine has stopped.
//
// Read the files in this order: engine.go (the API), address.go (who may reach an engine),
// netns_linux.go (the proxy in a network namespace), folder.go (data folders), process.go (starting
// and stopping a process), source.go, dynoxide.go, beside.go and local.go (where the programs come
// from).
package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// The engine names that [Options.Prefer] accepts and that are stored in a data folder.
const (
	Dynoxide      = "dynoxide"
	DynamoDBLocal = "dynamodb-local"
)

// ErrNoEngine is wrapped by the error that [Open] returns when no engine is available on this
// machine. The error message says what to install.
var ErrNoEngine = errors.New("no engine that speaks DynamoDB's protocol can be had here")

// Options selects the engine that [Open] opens. The zero value opens an installed engine, in
// memory.
type Options struct {
	// Endpoint is the address of a running engine, which may be DynamoDB itself. If it is set, Data
	// and Prefer are ignored. This package does not read AWS_ENDPOINT_URL_DYNAMODB; the caller must
	// do that.
	Endpoint string

	// Data is the folder in which data is stored; it is created if missing. If it is empty, the
	// data is kept in memory: it is lost when the engine exits, and no other process can use it.
	Data string

	// Format is the newest format of the records in Data that the caller can use. Open returns an
	// error if the folder's format is newer or not a number. If Open starts the engine, the folder
	// gets this format. If Format is zero, Open accepts any format and does not change it.
	Format int

	// Share allows other processes to join the engine of Data. If it is false, they wait until this
	// process has closed the engine, so that a short command never stops an engine that another
	// command is using.
	Share bool

	// Install permits running npm and mvn to fetch an engine. If it is false, only engines that are
	// already installed are used.
	Install bool

	// Prefer is [Dynoxide], [DynamoDBLocal] or "", which means the usual order.
	Prefer string

	// Log receives one human-readable line for each slow step, such as an installation. It may be
	// nil.
	Log io.Writer
}

// Engine is an engine that responded when it was opened. Its fields don't change, and its methods
// are safe for concurrent use.
type Engine struct {
	// Name is a human-readable name, such as "Dynoxide 1.2.1".
	Name string
	// Endpoint is the base URL for a client of DynamoDB.
	Endpoint string
	// Socket is the path of the socket file that leads to the engine, for [Transport]. It is empty
	// if Endpoint can be used directly.
	Socket string
	// Shared reports whether another process started the engine.
	Shared bool

	folder        *folder
	endpointGiven bool // whether the caller supplied Endpoint
	stop          context.CancelFunc
	stopped       chan struct{} // closed when watch returns; by then, an engine that this process started has ended
	done          chan struct{}
	doneErr       error // why done was closed
	stopErr       error // the error from stopping the engine
}

// mainCalled reports whether [Main] was called.
var mainCalled atomic.Bool

// Main must be the first call in the main function of every program that opens a data folder, and
// in TestMain. On Linux, such a program starts itself again as the proxy for the engine's socket.
// If there is no shell, it also starts itself as the guard, which kills the engine when this
// process exits. In the proxy and the guard, Main does not return.
func Main() {
	mainCalled.Store(true)
	runProxy()
	runGuard()
}

// Open finds and starts an engine, or joins the one that serves the data folder, and returns once
// it responds. ctx applies only to the opening: the engine outlives it. The error says what to do,
// and wraps [ErrNoEngine] if no engine is available. To open a data folder, the program must have
// called [Main].
func Open(ctx context.Context, o Options) (*Engine, error) {
	return open(ctx, o, newHost(o.Log))
}

func open(ctx context.Context, o Options, h *host) (*Engine, error) {
	if o.Endpoint != "" {
		return openEndpoint(ctx, o.Endpoint)
	}
	if o.Prefer != "" && engineTitles[o.Prefer] == "" {
		return nil, fmt.Errorf("unknown engine %q: name %s or %s", o.Prefer, Dynoxide, DynamoDBLocal)
	}
	if o.Data != "" {
		if !mainCalled.Load() {
			return nil, errors.New("open a data folder: this program does not call engine.Main first in main")
		}
		return openFolder(ctx, o, h)
	}
	p, err := h.find(ctx, o.Prefer, o.Install)
	if err != nil {
		return nil, err
	}
	proc, err := h.start(ctx, p, "", "", nil)
	if err != nil {
		return nil, err
	}
	e := &Engine{Name: p.title, Endpoint: proc.address.endpoint}
	e.watch(proc.waitExit, proc.stop)
	return e, nil
}

// openEndpoint checks an endpoint supplied by the caller, so that a typo is reported here instead
// of later as a failed request. Any HTTP response is sufficient.
func openEndpoint(ctx context.Context, endpoint string) (*Engine, error) {
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
	e := &Engine{Name: "given endpoint", Endpoint: endpoint, Shared: true, endpointGiven: true}
	e.watch(func(ctx context.Context) error { <-ctx.Done(); return nil }, leaveRunning)
	return e, nil
}

// Done returns a channel that is closed when the engine exits on its own, or with the process that
// started it; [Engine.Err] then says which. Close does not close the channel. If the caller
// supplied the endpoint, the channel is never closed.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err returns why Done was closed, including the last part of the engine's output. It returns nil
// before that.
func (e *Engine) Err() error {
	select {
	case <-e.done:
		return e.doneErr
	default:
		return nil
	}
}

// Close stops the process that this Engine started, if any: first gracefully, and after five
// seconds by force. It may be called more than once.
func (e *Engine) Close() error {
	e.stop()
	<-e.stopped
	return e.stopErr
}

// watch monitors the engine until it ends or Close is called. wait returns why the engine ended, or
// nil if its context is done first. watch then calls end, which stops an engine that this process
// started.
func (e *Engine) watch(wait func(context.Context) error, end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	e.stop, e.stopped, e.done = cancel, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(e.stopped)
		err := wait(ctx)
		e.stopErr = end()
		if err != nil && ctx.Err() == nil {
			e.doneErr = err
			close(e.done)
		}
	}()
}

// leaveRunning is the end function for watch if this process did not start the engine. It leaves
// the engine running.
func leaveRunning() error { return nil }
