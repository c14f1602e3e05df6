package apitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Replay is a transport that sends each call to the engine once and then repeats the recorded
// response, so that benchmarks measure the program without the engine. Calls of the same operation
// with the same body share a response; the order of keys in the body does not matter. All updates
// share one response, because they admit keys and their bodies contain the time. The zero value is
// ready for NewOver and records nothing until Begin.
type Replay struct {
	mu    sync.Mutex
	known map[alike]recorded // nil: before Begin
}

// Begin starts recording.
func (r *Replay) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = map[alike]recorded{}
}

// alike identifies calls that share a response.
type alike struct {
	name   string
	length int
	sum    uint64
}

// sumOf returns a hash of a JSON document that does not depend on the order of its parts, because
// the SDK writes maps in any order.
func sumOf(text []byte) (sum uint64) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	part := uint64(offset)
	for _, c := range text {
		if c == ',' || c == '{' || c == '}' {
			sum += part * part
			part = offset
			continue
		}
		part = (part ^ uint64(c)) * prime
	}
	return sum
}

type recorded struct {
	header http.Header
	status int
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (r *Replay) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	begun := r.known != nil
	r.mu.Unlock()
	if !begun {
		return Transport.RoundTrip(request)
	}
	sent, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	key := alike{name: request.Header.Get("X-Amz-Target")}
	if key.name != "DynamoDB_20120810.UpdateItem" {
		key.length, key.sum = len(sent), sumOf(sent)
	}
	r.mu.Lock()
	got, ok := r.known[key]
	r.mu.Unlock()
	if !ok {
		request.Body = io.NopCloser(bytes.NewReader(sent))
		if got, err = record(request); err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.known[key] = got
		r.mu.Unlock()
	}
	return &http.Response{
		StatusCode: got.status, Header: got.header, ContentLength: int64(len(got.body)), Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(got.body)),
	}, nil
}

func record(request *http.Request) (recorded, error) {
	out, err := Transport.RoundTrip(request)
	if err != nil {
		return recorded{}, err
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return recorded{}, fmt.Errorf("record a response: %w", err)
	}
	return recorded{out.Header, out.StatusCode, body}, out.Body.Close()
}
