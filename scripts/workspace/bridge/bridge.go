// Package bridge connects an MCP client to the service's MCP endpoint. The client starts the bridge
// as a program and talks to it over standard input and output. The bridge talks to the endpoint
// over HTTP.
//
// The bridge does not change the content of messages and responses, so what a client can do does
// not depend on the bridge. It adds the key, which the client never sees, and the headers that the
// protocol requires over HTTP. It does not retry.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

const (
	callsMax         = 16          // the maximum number of messages forwarded at the same time
	callTimeout      = time.Minute // more than enough: the service responds within 30 s
	responseBytesMax = 32 << 20    // longer than any response of the service
	versionMeta      = "io.modelcontextprotocol/protocolVersion"
	codeInternal     = -32603 // JSON-RPC: the message could not be forwarded
)

// Bridge forwards the messages of one client.
type Bridge struct {
	In  io.Reader
	Out io.Writer

	// Log is called once for each message that could not be forwarded. A client may show its output
	// to the user.
	Log func(format string, args ...any)

	// Target returns the address of the endpoint and the key. It is called for each message, so a
	// new key works immediately. If it returns an error, the error is the response to the message.
	Target func() (address, key string, err error)

	// Explain returns the error to show to the user for a failed request. Its argument is a
	// *client.Error if the service refused the request.
	Explain func(error) error

	HTTP *http.Client

	mu      sync.Mutex // guards Out, Log and version
	version string     // the protocol revision of the session; empty until initialize succeeds
}

// message contains the parts of a message that the bridge reads. They are enough to set the headers
// of the request and to respond to the message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Run forwards messages until the client closes In or ctx is canceled. Before it returns, it waits
// for the messages that are still being forwarded. It returns an error if In cannot be read or Out
// cannot be written.
func (b *Bridge) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan []byte)
	var readErr error // set before lines is closed
	go func() {
		readErr = readLines(ctx, b.In, lines)
		close(lines)
	}()
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, callsMax)
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case line, open := <-lines:
			if !open {
				calls.Wait()
				return errors.Join(readErr, cancelCause(ctx))
			}
			slots <- struct{}{}
			forward := func() {
				defer func() { <-slots }()
				if err := b.write(b.forward(ctx, line)); err != nil {
					cancel(err)
				}
			}
			if isInitialize(line) {
				forward() // wait, because the next message needs the revision that initialize negotiates
			} else {
				calls.Go(forward)
			}
		}
	}
}

// cancelCause returns the error that a failed write passed to cancel, or nil.
func cancelCause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// readLines sends every line that is not empty, until the end of the input or until ctx is
// canceled.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

func isInitialize(line []byte) bool {
	var m message
	return json.Unmarshal(line, &m) == nil && m.Method == "initialize"
}

// write writes a message as one line. It does nothing if text is empty.
func (b *Bridge) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return fmt.Errorf("the response is not JSON: %w", err) // cannot happen: post has checked the response
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.Out.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// forward sends one line: a message or a batch. It returns the response, or nil if there
// is none.
func (b *Bridge) forward(ctx context.Context, line []byte) []byte {
	messages := []message{{}}
	if line[0] != '[' {
		_ = json.Unmarshal(line, &messages[0]) // a line that is not a message is also sent: the service responds with the error
	} else {
		_ = json.Unmarshal(line, &messages)
	}
	body, err := b.post(ctx, line, messages)
	if err != nil {
		return b.errorResponse(messages, line[0] == '[', err)
	}
	if len(messages) == 1 && messages[0].Method == "initialize" {
		b.noteRevision(body)
	}
	return body
}

// noteRevision stores the protocol revision that the response to initialize contains.
func (b *Bridge) noteRevision(body []byte) {
	var out struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &out) == nil && out.Result.ProtocolVersion != "" {
		b.mu.Lock()
		b.version = out.Result.ProtocolVersion
		b.mu.Unlock()
	}
}

// setHeaders sets the headers that repeat parts of a message. Streamable HTTP requires them since
// revision 2026-07-28. A message of that revision states its own revision. The protocol version of
// any other message is the session's revision.
func (b *Bridge) setHeaders(header http.Header, messages []message) {
	b.mu.Lock()
	version := b.version
	b.mu.Unlock()
	if len(messages) == 1 {
		var params struct {
			Name string                     `json:"name"`
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		_ = json.Unmarshal(messages[0].Params, &params) // the service reports invalid params
		var messageVersion string
		if json.Unmarshal(params.Meta[versionMeta], &messageVersion) == nil && messageVersion != "" {
			version = messageVersion
			header.Set("Mcp-Method", messages[0].Method)
			if params.Name != "" {
				header.Set("Mcp-Name", params.Name)
			}
		}
		if messages[0].Method == "initialize" {
			version = ""
		}
	}
	if version != "" {
		header.Set("Mcp-Protocol-Version", version)
	}
}

// post sends a line and returns the JSON-RPC response. The response is empty if the line contains
// only messages that expect no response. If the service responds with anything other than JSON-RPC,
// post returns an error.
func (b *Bridge) post(ctx context.Context, line []byte, messages []message) ([]byte, error) {
	address, key, err := b.Target()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("User-Agent", "workspace-mcp")
	b.setHeaders(request.Header, messages)
	response, err := b.HTTP.Do(request)
	if err != nil {
		return nil, b.Explain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, responseBytesMax))
	if err != nil {
		return nil, b.Explain(err)
	}
	if isJSONRPC(body) || response.StatusCode == http.StatusAccepted && len(body) == 0 {
		return body, nil
	}
	return nil, b.Explain(errorOf(response, body))
}

// isJSONRPC reports whether a body is a JSON-RPC message or a batch. HTTP errors of the service
// have the error envelope instead.
func isJSONRPC(body []byte) bool {
	var one struct {
		Version string `json:"jsonrpc"`
	}
	var batch []json.RawMessage
	return json.Unmarshal(body, &one) == nil && one.Version != "" || json.Unmarshal(body, &batch) == nil
}

// errorOf converts an HTTP error response to the error that the Go client would return.
func errorOf(response *http.Response, body []byte) *client.Error {
	out := &client.Error{Status: response.StatusCode, RequestID: response.Header.Get("Service-Request-Id"), Attempts: 1}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		out.RetryAfter = time.Duration(seconds) * time.Second
	}
	var envelope struct {
		Errors []struct{ Code, Message string }
	}
	if json.Unmarshal(body, &envelope) == nil {
		for _, e := range envelope.Errors {
			out.Code = e.Code
			out.Messages = append(out.Messages, e.Message)
		}
	}
	return out
}

// errorResponse logs an error once for each message. It returns the error as the response to the
// messages that expect one, or nil if there are none.
func (b *Bridge) errorResponse(messages []message, isBatch bool, err error) []byte {
	var out []json.RawMessage
	for _, m := range messages {
		b.mu.Lock()
		b.Log("%s: %s", m.Method, err)
		b.mu.Unlock()
		if (m.Method == "") != (len(m.ID) == 0) {
			continue // a notification or a response: neither expects a response
		}
		id := m.ID
		if len(id) == 0 { // not a valid message: respond with a null id, as the service would
			id = json.RawMessage("null")
		}
		text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": codeInternal, "message": err.Error()}}) // cannot fail: id is valid JSON
		out = append(out, text)
	}
	switch {
	case len(out) == 0:
		return nil
	case !isBatch:
		return out[0]
	}
	text, _ := json.Marshal(out) // cannot fail: the parts are valid JSON
	return text
}
