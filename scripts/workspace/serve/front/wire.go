package front

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"growthworkspace/shared/fault"
)

// listener bounds the open connections. One more gets a 503 and is closed.
type listener struct {
	net.Listener
	server *Server

	mu   sync.Mutex
	open int
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(heavyBytes) // else the system buffers megabytes for each slow reader
		}
		n := l.add(1)
		wrapped := &conn{Conn: c, listener: l}
		if n <= l.server.connections {
			return wrapped, nil
		}
		// The refusals are bounded, too: from some number on, connections are closed without a word.
		if n <= l.server.connections+refusalsMax {
			go func() {
				if wrapped.refuse(fault.Unavailable.Status(), fault.ErrUnavailable) != nil {
					_ = wrapped.Close() // the client has left
				}
			}()
			continue
		}
		_ = wrapped.Close() // it was never used
	}
}

// refusalsMax is how many connections at a time are told that there are too many.
const refusalsMax = 64

func (l *listener) add(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	return l.open
}

// conn is a connection on which every response has the envelope. When a request is not valid HTTP, or asks for something that
// net/http does not do, its server writes a response in plain text to the connection, without calling a handler.
type conn struct {
	net.Conn
	listener *listener
	closed   sync.Once
}

// plain follows the status line of those responses. No handler's response has it there: those have a Date.
const plain = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write writes to the connection, and replaces a response of net/http's server by the envelope. The server writes such a
// response in one call.
func (c *conn) Write(p []byte) (int, error) {
	line, rest, _ := bytes.Cut(p, []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.")) || len(line) < len("HTTP/1.1 400") {
		return c.Conn.Write(p)
	}
	status, err := strconv.Atoi(string(line[len("HTTP/1.1 "):len("HTTP/1.1 400")]))
	own := bytes.HasPrefix(rest, []byte(plain[2:])) || status == http.StatusExpectationFailed // which no handler sends
	if err != nil || !own {
		return c.Conn.Write(p)
	}
	// The text after the second colon says more: "400 Bad Request: missing required Host header".
	_, detail, _ := bytes.Cut(line, []byte(": "))
	if err := c.refuse(status, fault.New(fault.BadRequest, "%s", reason(status, string(detail)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// reason is the message for a request that net/http's server refused. Its own text, if any, names the part.
func reason(status int, detail string) string {
	switch {
	case status == http.StatusExpectationFailed:
		return "header.Expect: must be 100-continue"
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return fmt.Sprintf("header: all headers together must have at most %d bytes", headerBytesMax)
	case status == http.StatusNotImplemented:
		return "header.Transfer-Encoding: must be chunked"
	case status == http.StatusHTTPVersionNotSupported:
		return "request: must be HTTP/1.1 or HTTP/1.0"
	case detail == "missing required Host header":
		return "header.Host: is required"
	case detail != "":
		return "request: " + detail
	}
	return "request: is not valid HTTP; a % in the path must begin an escape such as %20, and a header must have no control characters"
}

// refuse writes an error response and waits until the client has read it: closing a connection while bytes of the request are
// unread would discard the response.
func (c *conn) refuse(status int, err *fault.Error) error {
	requestID, body := c.listener.server.newID("req"), fault.Envelope(err)
	h := http.Header{"Connection": {"close"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
	envelopeHeader(h, requestID, len(body))
	if status >= http.StatusInternalServerError && err.Code == fault.Unavailable {
		h.Set("Retry-After", strconv.Itoa(fault.RetryAfterSeconds))
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = h.Write(&out) // a buffer accepts everything
	out.WriteString("\r\n")
	out.Write(body)
	c.listener.server.log.Warn("request refused", "status", status, "reason", err.Messages[0], "requestId", requestID)
	if err := c.SetDeadline(time.Now().Add(lingerTimeout)); err != nil {
		return err
	}
	if _, err := c.Conn.Write(out.Bytes()); err != nil {
		return err
	}
	_ = c.CloseWrite()
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // whatever the client sends, the connection ends
	return c.Close()
}

// A client that was refused may send this much longer, so that it reads the response.
const (
	lingerTimeout = 500 * time.Millisecond
	lingerBytes   = 1 << 20
)

// CloseWrite ends the stream to the client. net/http's server calls it before it closes a connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection.
func (c *conn) Close() error {
	c.closed.Do(func() { c.listener.add(-1) })
	return c.Conn.Close()
}
