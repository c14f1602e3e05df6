package devserver

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

// listener limits the number of open connections. It responds to any further connection with a 503
// and closes it.
type listener struct {
	net.Listener
	server *Server

	mu        sync.Mutex
	openCount int
}

// refusalsMax is the maximum number of connections that may be receiving a 503 at the same time.
// The listener closes any others without a response.
const refusalsMax = 64

// How long and how much a client may keep sending after a 503. Closing the connection while bytes
// of the request are unread would discard the response.
const (
	lingerTimeout = 500 * time.Millisecond
	lingerBytes   = 1 << 20
)

// Accept returns the next connection that is within the limit.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(heavyBytesMin) // by default, the system would buffer megabytes for each slow client
		}
		n := l.addOpen(1)
		counted := &conn{Conn: c, listener: l}
		switch {
		case n <= l.server.connectionsMax:
			return counted, nil
		case n <= l.server.connectionsMax+refusalsMax:
			go counted.refuse()
		default:
			_ = counted.Close() // ignore the error, because the connection was never used
		}
	}
}

func (l *listener) addOpen(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.openCount += n
	return l.openCount
}

// conn is a connection whose Close lowers the listener's number of open connections.
type conn struct {
	net.Conn
	listener *listener
	closed   sync.Once
}

// refuse writes a 503 and closes the connection. It ignores errors, because they mean that the
// client has disconnected.
func (c *conn) refuse() {
	defer c.Close()
	requestID, body := gateway.NewRequestIDs(c.listener.server.newID).Public(), fault.Envelope(fault.ErrUnavailable)
	out := http.Response{
		StatusCode: fault.Unavailable.Status(), ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	fault.SetHeader(out.Header, requestID, len(body))
	fault.ErrUnavailable.SetHeader(out.Header)
	c.listener.server.log.Warn("connection refused", "extendedRequestId", requestID)
	if c.SetDeadline(time.Now().Add(lingerTimeout)) == nil && out.Write(c.Conn) == nil && c.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
}

// CloseWrite closes the sending side of the connection. net/http's server calls it before it closes
// a connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection.
func (c *conn) Close() error {
	c.closed.Do(func() { c.listener.addOpen(-1) })
	return c.Conn.Close()
}
