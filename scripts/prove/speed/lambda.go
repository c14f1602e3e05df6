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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/prove/testbed"
)

// runtimeAPI is a server of Lambda's Runtime API for one process: it sends events to the function's bootstrap and receives
// the responses, one event at a time.
type runtimeAPI struct {
	*httptest.Server
	polls     chan struct{} // the program requests an event
	events    chan []byte
	responses chan response
}

// response is a program's response to an event; err is the error that it reported instead.
type response struct {
	at   time.Time
	body []byte
	err  error
}

func newRuntimeAPI() *runtimeAPI {
	r := &runtimeAPI{polls: make(chan struct{}), events: make(chan []byte), responses: make(chan response, 1)}
	r.Server = httptest.NewServer(r)
	return r
}

const runtimePrefix = "/2018-06-01/runtime/"

// ServeHTTP implements http.Handler.
func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	if request.URL.Path != runtimePrefix+"invocation/next" {
		body, err := io.ReadAll(request.Body)
		if strings.HasSuffix(request.URL.Path, "/error") {
			err = errors.Join(err, fmt.Errorf("the program reported: %s", body))
		}
		r.responses <- response{now, body, err}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"status":"OK"}`)
		return
	}
	select {
	case r.polls <- struct{}{}:
	case <-request.Context().Done():
		return
	}
	select {
	case event := <-r.events:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", "00000000-0000-4000-8000-000000000000")
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+testbed.Region+":000000000000:function:prove")
		h.Set("Content-Length", strconv.Itoa(len(event)))
		_, _ = w.Write(event) // if the program died, invoke misses its response
	case <-request.Context().Done():
	}
}

// ready waits until the program requests an event, which ends its init.
func (r *runtimeAPI) ready(ctx context.Context) error {
	select {
	case <-r.polls:
		return nil
	case out := <-r.responses:
		return errors.Join(errors.New("the program sent a response before it got an event"), out.err)
	case <-ctx.Done():
		return fmt.Errorf("the program does not request an event: %w", context.Cause(ctx))
	}
}

// invoke sends an event to a ready program, waits for the response and until the program is ready again. It returns the
// time until the response.
func (r *runtimeAPI) invoke(ctx context.Context, event []byte) (took time.Duration, body []byte, err error) {
	begin := time.Now()
	r.events <- event
	select {
	case out := <-r.responses:
		if out.err != nil {
			return 0, nil, out.err
		}
		return out.at.Sub(begin), out.body, r.ready(ctx)
	case <-ctx.Done():
		return 0, nil, fmt.Errorf("the program does not respond: %w", context.Cause(ctx))
	}
}

// target is a program under test.
type target struct {
	name   string
	binary string
	env    []string
	event  []byte // of each invocation; the response must have the status 200
}

// measure has the measurements of one process by name:
//
//	init, first, cold   ms until ready, of the first invocation, and their sum
//	coldCPU             ms of CPU of all threads until the first response
//	warm, warmCPU       ms of the median warm invocation, and ms of CPU of one
//	resident            MiB of memory at most
//	connections         to the table until the first response
type measure map[string]float64

// processTimeout bounds the life of one process.
const processTimeout = 5 * time.Minute

// think is the pause before each warm invocation. It is longer than sharePeriod, so that each invocation starts with a full
// share of the CPU, as in Lambda.
const think = 25 * time.Millisecond

// run starts the program, invokes it once cold and then warm times.
func (t target) run(ctx context.Context, r *relay, memory, warm int) (m measure, err error) {
	m = measure{}
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	api := newRuntimeAPI()
	defer api.Close()
	defer api.CloseClientConnections()
	cpu, err := newShare(memory)
	if err != nil {
		return m, err
	}
	dials := r.dials.Load()
	var output bytes.Buffer
	cmd := exec.Command(t.binary)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(t.binary), &output, &output
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TZ=:UTC", "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "_HANDLER=bootstrap",
		"AWS_REGION=" + testbed.Region, "AWS_DEFAULT_REGION=" + testbed.Region, "AWS_ACCESS_KEY_ID=prove", "AWS_SECRET_ACCESS_KEY=prove", "AWS_SESSION_TOKEN=prove",
		"AWS_LAMBDA_FUNCTION_NAME=prove", "AWS_LAMBDA_FUNCTION_VERSION=1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(memory), "AWS_EC2_METADATA_DISABLED=true",
	}, t.env...)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("start %s: %w", t.name, err)
	}
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill() // the program never ends by itself
		_ = cmd.Wait()
		if err = errors.Join(err, cpu.close()); err != nil {
			err = fmt.Errorf("%s: %w\n%s", t.name, err, tail(output.String()))
		}
	}()
	if err := api.ready(ctx); err != nil {
		return m, err
	}
	m["init"] = milliseconds(time.Since(begin))
	if err := cpu.limit(pid); err != nil { // Lambda also limits the CPU only after the init
		return m, err
	}
	invoke := func() (float64, error) {
		took, body, err := api.invoke(ctx, t.event)
		var got struct{ StatusCode int }
		if err == nil && (json.Unmarshal(body, &got) != nil || got.StatusCode != http.StatusOK) {
			err = fmt.Errorf("the response %.300s does not have the status 200", body)
		}
		return milliseconds(took), err
	}
	if m["first"], err = invoke(); err != nil {
		return m, err
	}
	m["cold"] = m["init"] + m["first"]
	if m["coldCPU"], err = cpuTime(pid); err != nil {
		return m, err
	}
	if m["connections"] = float64(r.dials.Load() - dials); warm > 0 {
		if m["warm"], m["warmCPU"], err = warmUp(pid, warm, invoke); err != nil {
			return m, err
		}
	}
	resident, err := testbed.Resident(pid)
	m["resident"] = float64(resident) / (1 << 20)
	return m, err
}

// warmUp invokes a program uncounted times and then warm measured times. It returns the median time and the CPU time of
// one measured invocation.
func warmUp(pid, warm int, invoke func() (float64, error)) (took, cpu float64, err error) {
	var times []float64
	before := 0.0
	for n := range uncounted + warm {
		if n == uncounted {
			if before, err = cpuTime(pid); err != nil {
				return 0, 0, err
			}
		}
		time.Sleep(think)
		took, err := invoke()
		if err != nil {
			return 0, 0, err
		}
		if n >= uncounted {
			times = append(times, took)
		}
	}
	after, err := cpuTime(pid)
	return median(times), (after - before) / float64(warm), err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func tail(text string) string { return text[max(0, len(text)-2000):] }

// cpuTime returns the CPU time of all threads of a process in ms.
func cpuTime(pid int) (total float64, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("the CPU time of process %d is unknown (%v)", pid, err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has just ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += milliseconds(time.Duration(n))
	}
	return total, nil
}
