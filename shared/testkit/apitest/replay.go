package apitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// ReplayTransport is a transport that sends each call to the engine once and then replays the
// recorded response, so that benchmarks measure the program without the engine. Calls of the same
// DynamoDB operation with the same body share a response; the order of keys in the body does not
// matter. All updates share one response: they are the key checks, whose bodies contain the time.
// The zero value can be passed to NewWithTransport, and records nothing until StartRecording is
// called.
type ReplayTransport struct {
	mu        sync.Mutex
	responses map[callKey]recordedResponse // nil before StartRecording is called
}

// StartRecording starts recording.
func (r *ReplayTransport) StartRecording() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.responses = map[callKey]recordedResponse{}
}

// callKey identifies calls that share a response.
type callKey struct {
	name   string
	length int
	sum    uint64
}

// unorderedHash returns a hash of a JSON document that does not depend on the order of its parts,
// because the SDK writes maps in random order.
func unorderedHash(text []byte) (sum uint64) {
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

type recordedResponse struct {
	header http.Header
	status int
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (r *ReplayTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	recording := r.responses != nil
	r.mu.Unlock()
	if !recording {
		return Transport.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	key := callKey{name: request.Header.Get("X-Amz-Target")}
	if key.name != "DynamoDB_20120810.UpdateItem" {
		key.length, key.sum = len(body), unorderedHash(body)
	}
	r.mu.Lock()
	got, ok := r.responses[key]
	r.mu.Unlock()
	if !ok {
		request.Body = io.NopCloser(bytes.NewReader(body))
		if got, err = recordResponse(request); err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.responses[key] = got
		r.mu.Unlock()
	}
	return &http.Response{
		StatusCode: got.status, Header: got.header, ContentLength: int64(len(got.body)), Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(got.body)),
	}, nil
}

func recordResponse(request *http.Request) (recordedResponse, error) {
	out, err := Transport.RoundTrip(request)
	if err != nil {
		return recordedResponse{}, err
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return recordedResponse{}, fmt.Errorf("record a response: %w", err)
	}
	return recordedResponse{out.Header, out.StatusCode, body}, out.Body.Close()
}
