//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// runtimeAPI is the server that a function's bootstrap talks to (Lambda Runtime API): it hands out events and takes the
// answers. For one process, with one event at a time.
type runtimeAPI struct {
	Address string

	server  *http.Server
	next    chan chan []byte // a program asks for an event; whoever has one sends it
	answers chan answer
	count   int
}

type answer struct {
	at   time.Time
	body []byte
	err  error // what the program reported instead
}

func newRuntimeAPI() (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the program under test: %w", err)
	}
	r := &runtimeAPI{Address: listener.Addr().String(), next: make(chan chan []byte, 1), answers: make(chan answer, 1)}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }() // it ends with Close
	return r, nil
}

// Close ends the server; a program that waits for an event is cut off.
func (r *runtimeAPI) Close() { _ = r.server.Close() }

const runtimePrefix = "/2018-06-01/runtime/"

func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	path := strings.TrimPrefix(request.URL.Path, runtimePrefix)
	if path == "invocation/next" {
		events := make(chan []byte, 1)
		select {
		case r.next <- events:
		case <-request.Context().Done():
			return
		}
		select {
		case event := <-events:
			r.count++
			h := w.Header()
			h.Set("Content-Type", "application/json")
			h.Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("00000000-0000-4000-8000-%012d", r.count))
			h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(now.Add(30*time.Second).UnixMilli(), 10))
			h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+region+":000000000000:function:bench")
			h.Set("Content-Length", strconv.Itoa(len(event)))
			_, _ = w.Write(event) // a program that died is found by its missing answer
		case <-request.Context().Done():
		}
		return
	}
	body, err := io.ReadAll(request.Body)
	if strings.HasSuffix(path, "/error") {
		err = errors.Join(err, fmt.Errorf("the program reported: %s", body))
	}
	r.answers <- answer{now, body, err}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

// ready waits until the program asks for an event, which ends its init, and returns what takes it.
func (r *runtimeAPI) ready(ctx context.Context) (chan<- []byte, error) {
	select {
	case events := <-r.next:
		return events, nil
	case a := <-r.answers:
		return nil, errors.Join(errors.New("the program answered before it was asked"), a.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("the program does not ask for an event: %w", context.Cause(ctx))
	}
}

// invoke sends an event and waits for the answer and for the program to ask for the next one. It returns how long the
// answer took.
func (r *runtimeAPI) invoke(ctx context.Context, events chan<- []byte, event []byte) (took time.Duration, body []byte, next chan<- []byte, err error) {
	begin := time.Now()
	events <- event
	select {
	case a := <-r.answers:
		if a.err != nil {
			return 0, nil, nil, a.err
		}
		next, err = r.ready(ctx)
		return a.at.Sub(begin), a.body, next, err
	case <-ctx.Done():
		return 0, nil, nil, fmt.Errorf("the program does not answer: %w", context.Cause(ctx))
	}
}
