//go:build linux

package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/gateway"
)

// runtimeAPI is a server of Lambda's Runtime API for one process of a function. It sends one event
// at a time to the process and receives the response.
type runtimeAPI struct {
	*httptest.Server
	polls     chan struct{} // receives a value when the program requests the next event
	events    chan []byte
	responses chan []byte
	closed    chan struct{}
}

func newRuntimeAPI() *runtimeAPI {
	r := &runtimeAPI{polls: make(chan struct{}), events: make(chan []byte), responses: make(chan []byte, 1), closed: make(chan struct{})}
	r.Server = httptest.NewServer(r)
	return r
}

// Close stops the server. It first ends requests that wait for an event, because the embedded
// Server's Close waits for all requests to end.
func (r *runtimeAPI) Close() {
	close(r.closed)
	r.Server.Close()
}

const runtimePrefix = "/2018-06-01/runtime/"

// ServeHTTP implements http.Handler. An error that the program reports counts as a response.
func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.URL.Path != runtimePrefix+"invocation/next" {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			body = []byte(err.Error())
		}
		select {
		case r.responses <- body:
			w.WriteHeader(http.StatusAccepted)
		case <-r.closed:
		}
		return
	}
	select {
	case r.polls <- struct{}{}:
	case <-request.Context().Done():
		return
	case <-r.closed:
		return
	}
	select {
	case event := <-r.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "00000000-0000-4000-8000-000000000000")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 10))
		_, _ = w.Write(event) // ignore the error: if the program has crashed, invoke reports that there is no response
	case <-request.Context().Done():
	case <-r.closed:
	}
}

// waitUntilReady waits until the program requests an event. At that point, the program's
// initialisation has ended.
func (r *runtimeAPI) waitUntilReady(ctx context.Context) error {
	select {
	case <-r.polls:
		return nil
	case body := <-r.responses:
		return fmt.Errorf("the program responded before it got an event: %.300s", body)
	case <-ctx.Done():
		return fmt.Errorf("the program requests no event: %w", context.Cause(ctx))
	}
}

// invoke sends an event to a ready program and waits for the response, which must have the status
// 200. took is the time until the response. invoke returns once the program is ready again.
func (r *runtimeAPI) invoke(ctx context.Context, event []byte) (took time.Duration, err error) {
	begin := time.Now()
	select {
	case r.events <- event:
	case <-ctx.Done():
		return 0, fmt.Errorf("the program does not wait for an event: %w", context.Cause(ctx))
	}
	select {
	case body := <-r.responses:
		took = time.Since(begin)
		var got struct{ StatusCode int }
		if json.Unmarshal(body, &got) != nil || got.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("the response %.300s does not have the status 200", body)
		}
		return took, r.waitUntilReady(ctx)
	case <-ctx.Done():
		return 0, fmt.Errorf("the program does not respond: %w", context.Cause(ctx))
	}
}

// startUsage is the time and memory that one process of a function used.
type startUsage struct {
	init, firstInvocation, warmMedian time.Duration // the time until the process is ready, the time of the first invocation, and the median time of the later ones
	residentMiB                       float64       // peak memory in MiB
}

// warmInvocations is the number of invocations of a process after the first one. processTimeout is
// how long a process may run.
const (
	warmInvocations = 100
	processTimeout  = time.Minute
)

// measureStart starts a function's binary and invokes it with event.
func (s *engineBed) measureStart(ctx context.Context, binary string, event []byte) (m startUsage, err error) {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	api := newRuntimeAPI()
	defer api.Close()
	var output bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "_HANDLER=bootstrap", "AWS_LAMBDA_FUNCTION_NAME=prove", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_REGION=" + testbed.Region, "AWS_ACCESS_KEY_ID=prove", "AWS_SECRET_ACCESS_KEY=prove", "AWS_SESSION_TOKEN=prove",
		"TABLE_NAME=" + testbed.TableName, "AWS_ENDPOINT_URL_DYNAMODB=" + s.Engine.Endpoint, "GOGC=200", "GOMEMLIMIT=200MiB", // the deployed functions have the same GOGC and GOMEMLIMIT
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("start %s: %w", binary, err)
	}
	defer func() {
		_ = cmd.Process.Kill() // ignore the error; the program never exits on its own
		_ = cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, output.String())
		}
	}()
	if err := api.waitUntilReady(ctx); err != nil {
		return m, err
	}
	m.init = time.Since(begin)
	if m.firstInvocation, err = api.invoke(ctx, event); err != nil {
		return m, err
	}
	var warm []time.Duration
	for range warmInvocations {
		took, err := api.invoke(ctx, event)
		if err != nil {
			return m, err
		}
		warm = append(warm, took)
	}
	resident, err := testbed.PeakMemory(cmd.Process.Pid)
	m.warmMedian, m.residentMiB = median(warm), float64(resident)/(1<<20)
	return m, err
}

// median returns the middle value, or the smaller of the two middle values.
func median(values []time.Duration) time.Duration {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// measureStarts measures how fast two functions start and respond: an area's function and the /mcp
// function. Both read one review, and their processes run in turn. Unlike in Lambda, their CPU is
// not limited, and the engine is on the same machine and without TLS.
func (b *bench) measureStarts(ctx context.Context) (goals []goal, err error) {
	s, err := newEngineBed(ctx, b.log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	events, err := s.readEvents()
	if err != nil {
		return nil, err
	}
	names := []string{"feedback", "mcp"}
	for _, name := range names {
		if err := goBuild(ctx, filepath.Join(s.dir, name), "./functions/"+name+"/lambda"); err != nil {
			return nil, err
		}
	}
	cold, warm, resident := map[string][]time.Duration{}, map[string][]time.Duration{}, 0.0
	for range b.Rounds {
		for _, name := range names {
			m, err := s.measureStart(ctx, filepath.Join(s.dir, name), events[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			cold[name], warm[name] = append(cold[name], m.init+m.firstInvocation), append(warm[name], m.warmMedian)
			if name == names[0] {
				resident = max(resident, m.residentMiB)
			}
		}
	}
	for _, name := range names {
		fmt.Fprintf(b.log, "%-10s cold %6.1f ms, warm %6.2f ms\n", name, 1000*median(cold[name]).Seconds(), 1000*median(warm[name]).Seconds())
	}
	return []goal{
		{"cold start of /mcp, to an area's", float64(median(cold["mcp"])) / float64(median(cold["feedback"])), 2.5},
		{"resident memory of an area's function, to 20 MiB", resident / 20, 1},
	}, nil
}

// readEvents returns an event for each function, by the function's name. Each event reads one
// review.
func (s *engineBed) readEvents() (events map[string][]byte, err error) {
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "service_get_feedback", "arguments": map[string]any{"feedbackId": firstID("feedback")},
	}})
	if err != nil {
		return nil, err
	}
	get := httptest.NewRequest(http.MethodGet, "/v1/companies/"+demo.CompanyID+"/feedback/"+firstID("feedback"), nil)
	tool := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(call))
	tool.Header.Set("Content-Type", "application/json")
	tool.Header.Set("Accept", "application/json, text/event-stream")
	events = map[string][]byte{}
	for name, r := range map[string]*http.Request{"feedback": get, "mcp": tool} {
		r.Header.Set("Authorization", "Bearer "+s.secret)
		event, eventErr := gateway.NewEvent(r, gateway.NewRequestIDs(func(string) string { return "prove" }))
		text, textErr := json.Marshal(event)
		if err := errors.Join(eventErr, textErr); err != nil {
			return nil, err
		}
		events[name] = text
	}
	return events, nil
}
