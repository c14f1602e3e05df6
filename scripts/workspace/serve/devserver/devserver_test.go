package devserver

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fairqueue"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// get and post return an HTTP request as a string. The request makes the server close the
// connection after the response.
func get(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
}

func post(path string, size int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, size, strings.Repeat("x", size))
}

// requireShed requires that out is a 503 with an error in the API's format and the header
// Retry-After.
func requireShed(t *testing.T, out *http.Response, body string) {
	t.Helper()
	requireEnvelope(t, out, body, 503, fault.Unavailable)
	if out.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", out.Header.Get("Retry-After"))
	}
}

// stuckHandler is a handler that echoes request bodies and blocks requests to /stuck.
type stuckHandler struct{ entered, unblock chan struct{} }

func newStuckHandler(t *testing.T) *stuckHandler {
	t.Helper()
	s := &stuckHandler{make(chan struct{}, 32), make(chan struct{})}
	t.Cleanup(func() { close(s.unblock) })
	return s
}

// ServeHTTP implements http.Handler.
func (s *stuckHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stuck" {
		s.entered <- struct{}{}
		<-s.unblock
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}

// Ensure the server responds with 503 if no slot becomes free in time. Requests with large bodies
// do not take the slots of others.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		h := newStuckHandler(t)
		serve(t, m, h, func(s *Server) {
			s.queueTimeout, s.heavyQueueTimeout = 10*time.Millisecond, 10*time.Millisecond
			s.light, s.heavyBody = fairqueue.New(1), fairqueue.New(1)
		})
		m.send(t, post("/stuck", heavyBytesMin+1))
		<-h.entered
		out, body := m.exchange(t, post("/", heavyBytesMin+1))
		requireShed(t, out, body)
		if out, body := m.exchange(t, post("/", heavyBytesMin)); out.StatusCode != 200 || len(body) != heavyBytesMin {
			t.Errorf("a light request beside heavy ones: %s", out.Status)
		}
		m.send(t, get("/stuck"))
		<-h.entered
		out, body = m.exchange(t, get("/"))
		requireShed(t, out, body)
	})
}

// Ensure eleven requests of 2 MB that compete for one Idempotency-Key all reach the handler: the
// first takes seconds, and the ten that it then refuses wait for their turn instead of getting a 503.
func TestQueueOfLargeBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		var served atomic.Int64
		serve(t, m, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if served.Add(1) == 1 {
				time.Sleep(2 * time.Second)
				w.WriteHeader(http.StatusOK)
				return
			}
			time.Sleep(100 * time.Millisecond)
			w.WriteHeader(http.StatusBadRequest)
		}), func(s *Server) { s.heavyBody = fairqueue.New(1) })
		var rivals []net.Conn
		for range 11 {
			rivals = append(rivals, m.send(t, post("/", 2<<20)))
		}
		count := map[int]int{}
		for _, c := range rivals {
			out, _ := receive(t, c)
			count[out.StatusCode]++
		}
		if count[200] != 1 || count[400] != 10 {
			t.Errorf("responses by status: %v, want one 200 and ten 400", count)
		}
	})
}

// Ensure one company's requests do not take all slots: those that wait too long get a 503, and
// another company's request is handled at once.
func TestQueueOfACompany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		h := newStuckHandler(t)
		serve(t, m, h, func(s *Server) { s.light = fairqueue.New(8) })
		ids := id.NewGenerator(time.Now, rand.Reader)
		newHeader := func() string {
			key, err := auth.Mint(ids(id.CompanyPrefix), ids(id.KeyPrefix), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			return " HTTP/1.1\r\nAuthorization: Bearer " + key
		}
		pusher, polite := newHeader(), newHeader()
		as := func(header, request string) string { return strings.Replace(request, " HTTP/1.1", header, 1) }
		var waiting []net.Conn
		for range 32 {
			waiting = append(waiting, m.send(t, as(pusher, get("/stuck"))))
			synctest.Wait()
		}
		if len(h.entered) != 4 {
			t.Errorf("%d requests of one company are handled at the same time, want 4", len(h.entered))
		}
		begin := time.Now()
		if out, _ := m.exchange(t, as(polite, get("/"))); out.StatusCode != 200 || time.Since(begin) > 0 {
			t.Errorf("another company's request: %s after %s", out.Status, time.Since(begin))
		}
		for _, c := range waiting[4:] {
			out, body := receive(t, c)
			requireShed(t, out, body)
		}
	})
}

// pagesHandler is a handler that responds with as many bytes as the query parameter "size" says. It
// blocks on a request to /slow with the query parameter "wait".
type pagesHandler struct {
	callCount        atomic.Int64
	entered, unblock chan struct{}
}

// ServeHTTP implements http.Handler.
func (p *pagesHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.callCount.Add(1)
	if r.URL.Path == "/slow" && r.URL.Query().Get("wait") != "" {
		p.entered <- struct{}{}
		<-p.unblock
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("size")) // without a size, the body is empty
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(make([]byte, size))
}

// Ensure requests to a path whose last response was large have their own queue, so that they do not
// take the slots of others. After a small response, requests to the path use the common slots
// again.
func TestLargePages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		h := &pagesHandler{entered: make(chan struct{}, 8), unblock: make(chan struct{})}
		s := serve(t, m, h, func(s *Server) {
			s.queueTimeout, s.light, s.heavyResponse = 20*time.Millisecond, fairqueue.New(1), fairqueue.New(1)
		})
		large := fmt.Sprintf("/slow?size=%d", heavyBytesMin+1)
		if out, body := m.exchange(t, get(large)); out.StatusCode != 200 || len(body) != heavyBytesMin+1 {
			t.Fatalf("%s, %d bytes", out.Status, len(body))
		}
		waitingConn := m.send(t, get(large+"&wait=1"))
		<-h.entered
		if out, _ := m.exchange(t, get("/light")); out.StatusCode != 200 {
			t.Errorf("a light request beside a large one: %s", out.Status)
		}
		out, body := m.exchange(t, get(large))
		requireShed(t, out, body)
		close(h.unblock)
		if out, _ := receive(t, waitingConn); out.StatusCode != 200 {
			t.Errorf("a request that waited: %s, want 200", out.Status)
		}
		if out, _ := m.exchange(t, get("/slow")); out.StatusCode != 200 || s.sizes.get("GET /slow") != 0 {
			t.Errorf("a light response of the same path: %s", out.Status)
		}
	})
}

// Ensure the server responds with 503, without calling the handler, if the expected response does
// not fit in the budget. In this test, responses that slow clients have not read use up the budget.
// The server must still handle other requests.
func TestLargePagesOfSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		h := &pagesHandler{}
		s := serve(t, m, h)
		large := fmt.Sprintf("/large?size=%d", 2*heavyBytesMin)
		if out, _ := m.exchange(t, get(large)); out.StatusCode != 200 {
			t.Fatalf("a large page: %s, want 200", out.Status)
		}
		if !s.responseBudget.reserve(s.responseBudget.limit - heavyBytesMin) {
			t.Fatal("the budget is used")
		}
		before := h.callCount.Load()
		out, body := m.exchange(t, get(large))
		requireShed(t, out, body)
		if h.callCount.Load() != before {
			t.Error("the request was handled")
		}
		if out, _ := m.exchange(t, get("/light?size=10")); out.StatusCode != 200 {
			t.Errorf("a light request: %s", out.Status)
		}
		s.responseBudget.release(s.responseBudget.limit - heavyBytesMin)
		if out, _ := m.exchange(t, get(large)); out.StatusCode != 200 {
			t.Errorf("when the readers have read: %s", out.Status)
		}
	})
}

// Ensure sizeCache remembers a limited number of paths.
func TestSizes(t *testing.T) {
	t.Parallel()
	var s sizeCache
	for n := range 10 * sizesMax {
		s.set(fmt.Sprint("GET /", n), heavyBytesMin+1)
	}
	if len(s.sizesByPath) != sizesMax || s.get(fmt.Sprint("GET /", 10*sizesMax-1)) != heavyBytesMin+1 {
		t.Errorf("%d paths", len(s.sizesByPath))
	}
}

// Ensure a request waits in the queue and gets a slot that becomes free in time.
func TestQueueIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		h := newStuckHandler(t)
		serve(t, m, h, func(s *Server) { s.queueTimeout, s.light = time.Minute, fairqueue.New(1) })
		first := m.send(t, get("/stuck"))
		<-h.entered
		second := m.send(t, get("/"))
		h.unblock <- struct{}{}
		for _, c := range []net.Conn{first, second} {
			if out, _ := receive(t, c); out.StatusCode != 200 {
				t.Errorf("status %s, want 200", out.Status)
			}
		}
	})
}

// Ensure request bodies share a budget. The bytes of a body count from when they arrive until the
// request has been handled.
func TestBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		s := serve(t, m, newStuckHandler(t), func(s *Server) { s.bodyBudget.limit = 3 * heavyBytesMin })
		for range 3 {
			out, body := m.exchange(t, post("/", 2*heavyBytesMin))
			if out.StatusCode != 200 || len(body) != 2*heavyBytesMin {
				t.Errorf("a body within the budget: %s, %d bytes", out.Status, len(body))
			}
			out, body = m.exchange(t, post("/", 4*heavyBytesMin))
			requireShed(t, out, body)
		}
		// A client that declares a large body and sends nothing must not use more of the budget than
		// one buffer of heavyBytesMin bytes.
		m.send(t, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n")
		chunked := "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", 1000, strings.Repeat("x", 1000)), 100) + "0\r\n\r\n"
		if out, body := m.exchange(t, chunked); out.StatusCode != 200 || len(body) != 100_000 {
			t.Errorf("a chunked body: %s, %d bytes", out.Status, len(body))
		}
		if used := s.bodyBudget.used.Load(); used > heavyBytesMin {
			t.Errorf("%d bytes are taken", used)
		}
	})
}

// Ensure the server refuses a client that may not upload, and does so before the client has sent
// more than 256 KB. It accepts smaller bodies from anyone.
func TestUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		checked := make(chan struct{}, 8)
		s := serve(t, m, newStuckHandler(t), func(s *Server) {
			s.upload = func(*http.Request) error { checked <- struct{}{}; return fault.New(fault.Unauthorised, "no") }
		})
		if out, body := m.exchange(t, post("/", uploadBytesMin)); out.StatusCode != 200 || len(body) != uploadBytesMin || len(checked) > 0 {
			t.Errorf("256 KB: %s, %d bytes, %d checks", out.Status, len(body), len(checked))
		}
		for name, partialRequest := range map[string]string{
			"declared": "Content-Length: 4000000\r\n\r\n{", // the rest of the body is never sent
			"chunked":  "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", uploadBytesMin+1, strings.Repeat("x", uploadBytesMin+1)),
		} {
			out, body := m.exchange(t, "POST / HTTP/1.1\r\nHost: localhost\r\n"+partialRequest)
			requireEnvelope(t, out, body, 401, fault.Unauthorised)
			if out.Header.Get("WWW-Authenticate") != "Bearer" || !out.Close || len(checked) != 1 {
				t.Errorf("%s: %v, closes: %v, %d checks", name, out.Header, out.Close, len(checked))
			}
			<-checked
		}
		if used := s.bodyBudget.used.Load(); used > 0 {
			t.Errorf("%d bytes are taken", used)
		}
	})
}

// Ensure large responses share a memory budget.
func TestResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		s := serve(t, m, newStuckHandler(t), func(s *Server) { s.responseBudget.limit = 2 * heavyBytesMin })
		for range 3 {
			if out, body := m.exchange(t, post("/", 2*heavyBytesMin)); out.StatusCode != 200 || len(body) != 2*heavyBytesMin {
				t.Errorf("a response within the budget: %s, %d bytes", out.Status, len(body))
			}
			out, body := m.exchange(t, post("/", 2*heavyBytesMin+1))
			requireShed(t, out, body)
		}
		if used := s.responseBudget.used.Load(); used != 0 {
			t.Errorf("%d bytes are taken", used)
		}
	})
}

// Ensure a client that does not read its response is disconnected and does not hold on to its slot.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		large := []byte(strings.Repeat("x", 16<<20))
		wrote := make(chan error, 1)
		s := serve(t, m, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			if r.URL.Path == "/large" {
				_, err := w.Write(large)
				wrote <- err
			}
		}), func(s *Server) {
			s.queueTimeout, s.light, s.pieceTimeout = 10*time.Millisecond, fairqueue.New(1), 500*time.Millisecond
			s.responseBudget.limit = int64(len(large))
		})
		slow := m.send(t, get("/large"))
		if _, err := io.ReadFull(slow, make([]byte, 1)); err != nil { // the response has begun
			t.Fatal(err)
		}
		if out, _ := m.exchange(t, get("/")); out.StatusCode != 200 {
			t.Errorf("a request beside a slow reader: %s", out.Status)
		}
		if err := <-wrote; err == nil {
			t.Error("the response was written, though nobody read it")
		}
		if out, _ := m.exchange(t, get("/")); out.StatusCode != 200 || s.responseBudget.used.Load() != 0 {
			t.Errorf("after the slow reader: %s, %d bytes are taken", out.Status, s.responseBudget.used.Load())
		}
	})
}

// Ensure a client that sends its headers or its body too slowly is disconnected.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		serve(t, m, newStuckHandler(t), func(s *Server) {
			s.http.ReadHeaderTimeout, s.http.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
		})
		slowConn := m.send(t, "GET / HTTP/1.1\r\n")
		if text, err := io.ReadAll(slowConn); err != nil || len(text) > 0 {
			t.Errorf("headers that do not end: %q %v", text, err)
		}
		if out, _ := m.exchange(t, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nfive "); out.StatusCode != 400 {
			t.Errorf("a body that does not end: %s", out.Status)
		}
	})
}

// Ensure a connection beyond the limit gets a 503, and closing a connection makes room for another
// one.
func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryListener(t)
		serve(t, m, newStuckHandler(t), func(s *Server) { s.connectionsMax = 2 })
		const keepAliveRequest = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
		first, second := m.send(t, keepAliveRequest), m.send(t, keepAliveRequest)
		for _, c := range []net.Conn{first, second} {
			if out, _ := receive(t, c); out.StatusCode != 200 {
				t.Fatalf("status %s, want 200", out.Status)
			}
		}
		out, body := m.exchange(t, "")
		requireShed(t, out, body)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if out, _ := m.exchange(t, get("/")); out.StatusCode != 200 {
			t.Errorf("a closed connection still counts: %s", out.Status)
		}
	})
}
