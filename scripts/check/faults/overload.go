package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/shared/fault"
)

// loadOptions configures the check of an overloaded server.
type loadOptions struct {
	cases            []string      // the names of the cases to run; if empty, all cases
	caseDuration     time.Duration // how long each case lasts
	patience         time.Duration // how much longer a case may last until the first response, because the machine may be busy
	slowdownMax      float64       // the maximum median response time of a polite client under load, as a multiple of that without load
	acceptableMedian time.Duration // a median response time that passes even if it is more than slowdownMax allows
	residentMax      int64         // the maximum resident memory of the server process, in bytes
}

// residentMax is the maximum resident memory of a server process, in bytes.
const residentMax = 256 << 20

// checkOverload checks an overloaded server. It runs five cases, each on a new server with the
// limits of `workspace serve`:
//
//   - flood: 100 clients send malformed bodies of 250 KB while a polite client reads
//   - headers: 200 connections without a key send headers of 1 MB
//   - readers: 200 clients request the largest page of a list and do not read the response
//   - askers: like readers, but the clients disconnect and reconnect all the time, while a polite client reads
//   - clients: 200 clients with a key read records on connections that stay open
//
// In each case, the server's resident memory must stay below p.residentMax. No response may be a
// 500, and each error response must be in the API's format.
func checkOverload(ctx context.Context, t *checkRun, p loadOptions) error {
	company, err := t.companyWithItems(ctx)
	if err != nil {
		return err
	}
	for _, trial := range []struct {
		name string
		run  func(ctx context.Context, l *loadedServer, p loadOptions) error
	}{{"flood", malformedFlood}, {"headers", largeHeaders}, {"readers", slowReaders}, {"askers", reconnectingSlowReaders}, {"clients", keepAliveClients}} {
		if len(p.cases) > 0 && !slices.Contains(p.cases, trial.name) {
			continue
		}
		l := &loadedServer{checkRun: t, name: trial.name, company: company}
		if err := l.runWithServer(ctx, p, func() error { return trial.run(ctx, l, p) }); err != nil {
			return fmt.Errorf("%s: %w", trial.name, err)
		}
	}
	return nil
}

// loadedServer is a server under load.
type loadedServer struct {
	*checkRun
	*server
	name      string
	company   company
	shedCount atomic.Int64 // responses with 503
}

const itemsPath = "plan/boards/brd_1/items"

// boardItemCount is the number of items on the board. A list page with all 200 items is about 450
// KB.
const boardItemCount = 200

// companyWithItems creates a company with a board of boardItemCount items.
func (cr *checkRun) companyWithItems(ctx context.Context) (company, error) {
	c, err := cr.companyWithBoard(ctx, "")
	if err != nil {
		return company{}, err
	}
	var items []any
	for n := range boardItemCount {
		items = append(items, map[string]any{
			"id": fmt.Sprintf("itm_%d", n), "roadmapId": "brd_1", "slug": fmt.Sprintf("item-%d", n), "title": fmt.Sprintf("Item %d", n),
			"summary": strings.Repeat("a long summary ", 130), "status": "published", "createdAt": "2026-01-01T00:00:00Z",
		})
	}
	return c.company, cr.importRecords(ctx, c.id, "item", items...)
}

// runWithServer runs a case on a server of its own, and checks the server's memory.
func (l *loadedServer) runWithServer(ctx context.Context, p loadOptions, run func() error) (err error) {
	l.serveLimits = true
	if l.server, err = l.startServer(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.server.kill()) }()
	if err := run(); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		l.addFigure("%s: %d shed, memory is not measured on %s", l.name, l.shedCount.Load(), runtime.GOOS)
		return nil
	}
	most, err := peakMemory(l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	l.require(most < p.residentMax, "%s: the server had %d MB of resident memory, at most %d allowed", l.name, most>>20, p.residentMax>>20)
	l.addFigure("%s: %d MB, %d shed", l.name, most>>20, l.shedCount.Load())
	return nil
}

// peakMemory returns the peak resident memory of a running process, in bytes. It works only on
// Linux.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read a process's memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("read a process's memory: VmHWM: %w", err)
	}
	return kilobytes << 10, nil
}

// check requires that an error response is in the API's format and is not a 500. It counts a
// response with status 503 as a shed request.
func (l *loadedServer) check(out response) {
	if out.status < http.StatusBadRequest {
		return
	}
	refusal, err := fault.Parse(out.body)
	l.require(err == nil && out.header.Get("Service-Request-Id") != "", "%s: a response %d without the envelope: %.200q", l.name, out.status, out.body)
	l.require(out.status != http.StatusInternalServerError, "%s: a response 500", l.name)
	if out.status == fault.Unavailable.Status() && err == nil {
		l.shedCount.Add(1)
		l.require(refusal.Code == fault.Unavailable && out.retryAfter() > 0, "%s: a 503 %q without Retry-After", l.name, refusal.Code)
	}
}

// runClients calls the function do repeatedly in n goroutines for p.caseDuration. If no call has
// reported a response by then, it continues until the first response, for at most p.patience.
func (l loadOptions) runClients(ctx context.Context, n int, do func(ctx context.Context, n int) (responded bool)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var responses atomic.Int64
	begin := time.Now()
	end := time.AfterFunc(l.caseDuration, func() {
		if responses.Load() > 0 {
			cancel()
		}
	})
	defer end.Stop()
	repeatFor(ctx, n, l.caseDuration+l.patience, func(ctx context.Context, n int) {
		if do(ctx, n) && responses.Add(1) > 0 && time.Since(begin) >= l.caseDuration {
			cancel()
		}
	})
}

// repeatFor calls the function do repeatedly in n goroutines for the duration d.
func repeatFor(ctx context.Context, n int, d time.Duration, do func(ctx context.Context, n int)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			for ctx.Err() == nil {
				do(ctx, i)
			}
		})
	}
	wait.Wait()
}

// malformedFlood measures how fast a polite client can read while 100 clients send malformed
// bodies. It alternates between periods with and without the flood, so that other load on the
// machine affects both.
func malformedFlood(ctx context.Context, l *loadedServer, p loadOptions) error {
	quiet, loud, requests := l.compareUnderLoad(ctx, p, l.startFlood)
	l.require(requests > 0, "flood: no request of the flood had a response")
	l.addFigure("a polite client's median %.1f ms, %.1f beside %d malformed bodies of 250 KB from 100 clients", milliseconds(quiet), milliseconds(loud), requests)
	return nil
}

// compareUnderLoad measures a polite client's median response time without and with a load. It
// requires that this time is not much longer under load. The function startLoad starts the load,
// adds the number of its requests to `sent`, and returns a function that stops the load.
func (l *loadedServer) compareUnderLoad(ctx context.Context, p loadOptions, startLoad func(ctx context.Context, sent *atomic.Int64) (stop func())) (quiet, loud time.Duration, requests int64) {
	const rounds, warmRequests, backlogMax = 3, 5, time.Minute
	var withoutLoad, underLoad []time.Duration
	for n := range rounds {
		if n > 0 { // a server without limits is still busy with the load that has stopped
			usual := median(slices.Clone(withoutLoad))
			for begin := time.Now(); l.measureReads(ctx, 0, true)[0] > 2*usual && time.Since(begin) < backlogMax; {
			}
		}
		withoutLoad = append(withoutLoad, l.measureReads(ctx, p.caseDuration/(2*rounds), true)...)
		var sent atomic.Int64
		stop := startLoad(ctx, &sent)
		for begin := time.Now(); sent.Load() < warmRequests && time.Since(begin) < time.Minute; { // wait until the load has reached the server
			<-time.After(5 * time.Millisecond)
		}
		underLoad = append(underLoad, l.measureReads(ctx, p.caseDuration/(2*rounds), true)...)
		stop()
		requests += sent.Load()
	}
	quiet, loud = median(withoutLoad), median(underLoad)
	limit := max(p.acceptableMedian, time.Duration(p.slowdownMax*float64(quiet)))
	l.require(loud <= limit, "%s: a polite client's median is %v beside %v in the quiet, more than %.1f times", l.name, loud, quiet, p.slowdownMax)
	return quiet, loud, requests
}

// startFlood starts 100 clients that send malformed bodies until stop is called. It counts the
// responses.
func (l *loadedServer) startFlood(ctx context.Context, responses *atomic.Int64) (stop func()) {
	const clients = 100
	malformed := []byte(`{"title": "` + strings.Repeat("x", 125_000) + `", "summary": [` + strings.Repeat(`{"a":1},`, 15_600) + `}`)
	ctx, cancel := context.WithCancel(ctx)
	c := newClient(l.base, l.company)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for ctx.Err() == nil {
				out, err := c.send(ctx, http.MethodPost, itemsPath, malformed)
				if err != nil {
					continue // the flood has ended
				}
				responses.Add(1)
				l.check(out)
				l.require(out.status != http.StatusOK, "flood: a malformed body was accepted")
			}
		})
	}
	return func() { cancel(); wait.Wait() }
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// measureReads reads one record repeatedly, with a pause between reads, and returns how long each
// response took. If strict is set, no response may be a 503.
func (l *loadedServer) measureReads(ctx context.Context, d time.Duration, strict bool) (durations []time.Duration) {
	c := newClient(l.base, l.company)
	for end := time.Now().Add(d); time.Now().Before(end) || len(durations) == 0; {
		begin := time.Now()
		out, err := c.call(ctx, http.MethodGet, "plan/items/itm_1", nil)
		durations = append(durations, time.Since(begin))
		l.require(err == nil && (out.status == http.StatusOK || !strict && out.status == fault.Unavailable.Status()),
			"%s: a polite request: %d %v", l.name, out.status, err)
		l.check(out)
		<-time.After(5 * time.Millisecond)
	}
	return durations
}

// sendRaw connects to the server, sends the raw bytes of a request and then, unless readResponse is
// nil, calls readResponse with the connection.
func (l *loadedServer) sendRaw(ctx context.Context, request io.WriterTo, readResponse func(c net.Conn)) {
	u, err := url.Parse(l.base)
	if err != nil {
		l.violate("%s: the address %q: %v", l.name, l.base, err)
		return
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return // the case has ended, or the server has closed an excess connection
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	_, _ = request.WriteTo(c) // ignore the error, because the server may close the connection at any time
	if readResponse != nil {
		readResponse(c)
	}
}

// largeHeaders opens connections and sends headers of 1 MB on them, without a key.
func largeHeaders(ctx context.Context, l *loadedServer, p loadOptions) error {
	const connections = 200
	header := []byte("GET /v1/companies HTTP/1.1\r\nHost: localhost\r\nX-Large: " + strings.Repeat("x", 1<<20))
	var refused atomic.Int64
	p.runClients(ctx, connections, func(ctx context.Context, _ int) (responded bool) {
		l.sendRaw(ctx, bytes.NewBuffer(slices.Clone(header)), func(c net.Conn) {
			out, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return
			}
			defer out.Body.Close()
			switch out.StatusCode {
			case http.StatusRequestHeaderFieldsTooLarge:
				refused.Add(1)
				responded = true
			case fault.Unavailable.Status():
				l.shedCount.Add(1)
			default:
				l.violate("headers: a response %d, want 431 or 503", out.StatusCode)
			}
		})
		return responded
	})
	l.require(refused.Load() > 0, "headers: no connection got a 431")
	l.addFigure("%d connections with headers of 1 MB refused", refused.Load())
	return nil
}

// startReaders starts 200 clients that request the largest page of a list, read nothing and, after
// the given time, disconnect and start again. It counts the connections, on each of which a client
// sends the given number of requests.
func (l *loadedServer) startReaders(ctx context.Context, requests int, connected time.Duration, sent *atomic.Int64) (stop func()) {
	const clients = 200
	request := fmt.Sprintf("GET /v1/companies/%s/%s?limit=200 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
		l.company.id, itemsPath, l.company.key)
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		repeatFor(ctx, clients, time.Hour, func(ctx context.Context, _ int) {
			l.sendRaw(ctx, bytes.NewBufferString(strings.Repeat(request, requests)), func(c net.Conn) {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetReadBuffer(4 << 10)
				}
				sent.Add(1)
				select {
				case <-ctx.Done():
				case <-time.After(connected):
				}
			})
		})
	})
	return func() { cancel(); wait.Wait() }
}

// slowReaders measures how fast a polite client can read while others stay connected and read
// nothing.
func slowReaders(ctx context.Context, l *loadedServer, p loadOptions) error {
	var sent atomic.Int64
	stop := l.startReaders(ctx, 20, time.Hour, &sent)
	durations := l.measureReads(ctx, p.caseDuration, false)
	stop()
	l.addFigure("a polite client's median %.1f ms beside %d connections on which nobody reads", milliseconds(median(durations)), sent.Load())
	return nil
}

// reconnectingSlowReaders compares a polite client's response times without and with clients that
// read nothing, disconnect, and start again.
func reconnectingSlowReaders(ctx context.Context, l *loadedServer, p loadOptions) error {
	quiet, loud, requests := l.compareUnderLoad(ctx, p, func(ctx context.Context, sent *atomic.Int64) (stop func()) {
		return l.startReaders(ctx, 1, 200*time.Millisecond, sent)
	})
	l.addFigure("a polite client's median %.1f ms, %.1f beside 200 that requested %d large pages and read nothing", milliseconds(quiet), milliseconds(loud), requests)
	return nil
}

// keepAliveClients starts many well-behaved clients that keep their connections open.
func keepAliveClients(ctx context.Context, l *loadedServer, p loadOptions) error {
	const clients = 200
	shared := newClient(l.base, l.company)
	shared.http.Transport.(noRetryTransport).MaxIdleConnsPerHost = clients
	var done atomic.Int64
	p.runClients(ctx, clients, func(ctx context.Context, n int) (responded bool) {
		out, err := shared.call(ctx, http.MethodGet, fmt.Sprintf("plan/items/itm_%d", n%boardItemCount), nil)
		if err != nil {
			return false // the case has ended
		}
		done.Add(1)
		l.check(out)
		return out.status == http.StatusOK
	})
	served := done.Load() - l.shedCount.Load()
	l.require(served > 0, "clients: no request succeeded")
	l.addFigure("%d requests of 200 clients", done.Load())
	return nil
}
