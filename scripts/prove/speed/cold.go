//go:build linux

package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"growthworkspace/infra"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/gateway"
)

// The relay has this address and the name of DynamoDB.
const (
	relayIP  = "127.88.0.1"
	realHost = "dynamodb." + testbed.Region + ".amazonaws.com"
)

// lambdas is the environment of the compared programs: the table, the relay to it, and the certificates that they trust.
type lambdas struct {
	*bed
	root    string   // the folder of the repository
	trusted []string // the environment of a program that trusts the relay's certificate
	overlay string   // the file of a build overlay that embeds the root of the relay's certificate
	relay   *relay
	hosts   bool // the hosts file is mounted
}

// newLambdas starts a relay to the engine with a round-trip time of rtt.
func (b *bench) newLambdas(ctx context.Context, rtt time.Duration) (l *lambdas, err error) {
	s, err := newBed(ctx, nil, b.log)
	if err != nil {
		return nil, err
	}
	l = &lambdas{bed: s}
	if err := l.prepare(rtt); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lambdas) prepare(rtt time.Duration) error {
	root, leaf, err := newAuthority(realHost)
	if err != nil {
		return err
	}
	if l.relay, err = newRelay(relayIP+":443", l.Engine.Endpoint, leaf, rtt); err != nil {
		return err
	}
	bundle, err := l.withRoot("bundle.pem", root, "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem")
	if err != nil {
		return err
	}
	l.trusted = []string{"SSL_CERT_FILE=" + bundle}
	// Our functions embed the relay's root beside Amazon's, so that an embedded root verifies the relay, as it verifies
	// DynamoDB.
	const embedded = "shared/table/amazon.pem"
	if l.root, err = os.Getwd(); err != nil {
		return err
	}
	real := filepath.Join(l.root, embedded)
	with, err := l.withRoot("roots.pem", root, real)
	if err != nil {
		return fmt.Errorf("run this in the root of the repository: %w", err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{real: with}})
	if err != nil {
		return err
	}
	if l.overlay, err = l.write("overlay.json", text); err != nil {
		return err
	}
	return l.useHosts()
}

// withRoot writes the certificates of the first file that exists, and a root, into a new file. It returns the new file.
func (l *lambdas) withRoot(name string, root []byte, from ...string) (string, error) {
	for _, file := range from {
		if text, err := os.ReadFile(file); err == nil {
			return l.write(name, slices.Concat(text, []byte("\n"), root))
		}
	}
	return "", fmt.Errorf("no file of certificates: %v", from)
}

// useHosts mounts another /etc/hosts for the programs that the calling goroutine starts, and for no others, because some of
// them accept no endpoint but DynamoDB's name. It needs root.
func (l *lambdas) useHosts() error {
	known, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return fmt.Errorf("read the hosts file: %w", err)
	}
	hosts, err := l.write("hosts", append(known, "\n"+relayIP+" "+realHost+"\n"...))
	if err != nil {
		return err
	}
	runtime.LockOSThread() // a mount namespace belongs to a thread
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("create a mount namespace, which needs root: %w", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount the hosts file: %w", err)
	}
	l.hosts = true
	return nil
}

func (l *lambdas) close() {
	if l.hosts {
		if err := syscall.Unmount("/etc/hosts", syscall.MNT_DETACH); err != nil {
			panic("speed: unmount the hosts file: " + err.Error()) // the next run would reach no table
		}
	}
	if l.relay != nil {
		l.relay.close()
	}
	l.bed.close()
}

// function builds a program of this repository. The target receives the event.
func (l *lambdas) function(ctx context.Context, name, source string, event []byte) (target, error) {
	binary := filepath.Join(l.dir, name, "bootstrap")
	env := append([]string{"TABLE_NAME=" + testbed.TableName, "GOMAXPROCS=1", "GOGC=200", "GOMEMLIMIT=200MiB"}, l.trusted...) // as in the stack
	return target{name, binary, env, event}, goBuild(ctx, l.root, binary, l.overlay, source)
}

// event returns the proxy event of a request with the key.
func (l *lambdas) event(method, path string, body []byte, header ...string) ([]byte, error) {
	r, err := http.NewRequest(method, "https://api.example.com"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "192.0.2.1:443"
	r.Header.Set("Authorization", "Bearer "+l.secret)
	r.Header.Set("Accept", "application/json")
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	e, err := gateway.Event(r, "prove")
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// getFeedback returns a program of this repository, such as the feedback area's function, that reads one review.
func (l *lambdas) getFeedback(ctx context.Context, name, source string) (target, error) {
	event, err := l.event(http.MethodGet, "/v1/companies/"+demo.CompanyID+"/feedback/"+firstID("feedback"), nil)
	if err != nil {
		return target{}, err
	}
	return l.function(ctx, name, source, event)
}

// getFeedbackTool returns the function of /mcp, which reads the same review by a tool.
func (l *lambdas) getFeedbackTool(ctx context.Context) (target, error) {
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "service_get_feedback", "arguments": map[string]any{"feedbackId": firstID("feedback")},
	}})
	if err != nil {
		return target{}, err
	}
	event, err := l.event(http.MethodPost, "/mcp", call, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18")
	if err != nil {
		return target{}, err
	}
	return l.function(ctx, "get_feedback, mcp", "./functions/mcp/lambda", event)
}

// cold compares the time from the process start to the first response, with a CPU share after the init and TLS to a table
// 1 ms away.
func (b *bench) cold(ctx context.Context) ([]goal, error) {
	l, err := b.newLambdas(ctx, time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer l.close()
	area, err := l.getFeedback(ctx, "get_feedback", "./functions/feedback/lambda")
	if err != nil {
		return nil, err
	}
	mcp, err := l.getFeedbackTool(ctx)
	if err != nil {
		return nil, err
	}
	others, err := b.peers(ctx, l)
	if err != nil {
		return nil, err
	}
	small, large := &trial{target: area, memory: 128}, &trial{target: area, memory: cpuMemory}
	deployed, tools := &trial{target: area, memory: infra.MemoryMB}, &trial{target: mcp, memory: 128}
	trials := []*trial{small, large, deployed, tools}
	for _, o := range others {
		trials = append(trials, &trial{target: o, memory: 128})
	}
	if err := b.interleave(ctx, l.relay, 0, trials); err != nil {
		return nil, err
	}
	for _, t := range trials {
		fmt.Fprintf(b.log, "%-24s %5d MB  init %7.1f  first %7.1f  cold %7.1f ms  CPU %6.1f ms  %.0f connections  %.1f MiB\n", t.name, t.memory,
			t.median("init"), t.median("first"), t.median("cold"), t.median("coldCPU"), t.median("connections"), t.median("resident"))
	}
	goals := []goal{
		{"cold start at 128 MB, to the same at 1,769 MB", ratio(small, large, "cold"), 1.2},
		{fmt.Sprintf("cold start at %d MB, as deployed, to the same at 1,769 MB", infra.MemoryMB), ratio(deployed, large, "cold"), 1.2},
		{"cold start of /mcp, to an area's", ratio(tools, small, "cold"), 2.5},
	}
	for _, t := range trials[4:] {
		n := slices.IndexFunc(peers, func(p peer) bool { return p.name == t.name })
		goals = append(goals, goal{"cold start at 128 MB, to " + t.name, ratio(small, t, "cold"), peers[n].most})
	}
	return goals, nil
}

// warmInvocations is the number of measured warm invocations of each process.
const warmInvocations = 100

// warm compares single reads with and without a key, 4 ms from the table, and their CPU time.
func (b *bench) warm(ctx context.Context) ([]goal, error) {
	l, err := b.newLambdas(ctx, 4*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer l.close()
	area, err := l.getFeedback(ctx, "get_feedback", "./functions/feedback/lambda")
	if err != nil {
		return nil, err
	}
	open, err := l.getFeedback(ctx, "unguarded", "./scripts/prove/speed/unguarded")
	if err != nil {
		return nil, err
	}
	others, err := b.peers(ctx, l)
	if err != nil {
		return nil, err
	}
	guarded, unguarded := &trial{target: area, memory: cpuMemory}, &trial{target: open, memory: cpuMemory}
	trials := []*trial{guarded, unguarded}
	for _, o := range others {
		trials = append(trials, &trial{target: o, memory: cpuMemory})
	}
	if err := b.interleave(ctx, l.relay, warmInvocations, trials); err != nil {
		return nil, err
	}
	goals := []goal{{"warm read with key, quota and data, to one without a key (4 ms)", ratio(guarded, unguarded, "warm"), 1.15}}
	for _, t := range trials {
		fmt.Fprintf(b.log, "%-24s median %6.2f ms  CPU %6.3f ms  %.1f MiB\n", t.name, t.median("warm"), t.median("warmCPU"), t.median("resident"))
		if t.name == peers[0].name {
			goals = append(goals, goal{"CPU of a warm read, to " + t.name, ratio(guarded, t, "warmCPU"), 0.8})
		}
	}
	return append(goals, goal{"resident memory, to 20 MiB", guarded.median("resident") / 20, 1}), nil
}
