//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"growthworkspace/infra"
	"growthworkspace/scripts/workspace/demo"
)

// relayIP is where the relay answers as DynamoDB.
const relayIP = "127.88.0.1"

// lambdas are the programs that a run compares, each at a memory size.
type lambdas struct {
	stage   *stage
	root    string
	trusted []string // environment of a program that trusts the benchmark's authority
	ca      *authority
	relay   *relay
	hosts   bool // in use
}

// newLambdas prepares a relay that is rtt away and answers as DynamoDB in the region.
func (b *bench) newLambdas(ctx context.Context, rtt time.Duration) (l *lambdas, err error) {
	s, err := newStage(ctx, nil, false, b.log)
	if err != nil {
		return nil, err
	}
	l = &lambdas{stage: s}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err := s.addProduct(ctx); err != nil {
		return nil, err
	}
	if l.root, err = os.Getwd(); err != nil {
		return nil, err
	}
	if l.ca, err = newAuthority(realHost); err != nil {
		return nil, err
	}
	if l.relay, err = newRelay(relayIP+":443", s.Engine.Endpoint, &l.ca.Leaf, rtt); err != nil {
		return nil, err
	}
	bundle, err := s.bundle(l.ca)
	if err != nil {
		return nil, err
	}
	l.trusted = []string{"SSL_CERT_FILE=" + bundle}
	known, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return nil, fmt.Errorf("the known hosts: %w", err)
	}
	hosts, err := s.write("hosts", append(known, "\n"+relayIP+" "+realHost+"\n"...))
	if err != nil {
		return nil, err
	}
	if err := useHosts(hosts); err != nil {
		return nil, err
	}
	l.hosts = true
	return l, nil
}

func (l *lambdas) Close() {
	if l.hosts {
		if err := forgetHosts(); err != nil {
			panic("bench: " + err.Error()) // the next run would ask nobody
		}
	}
	if l.relay != nil {
		l.relay.Close()
	}
	l.stage.Close()
}

// bundle is the system's certificates and the benchmark's root.
func (s *stage) bundle(a *authority) (string, error) {
	for _, name := range []string{"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"} {
		if system, err := os.ReadFile(name); err == nil {
			return s.write("bundle.pem", append(append(system, '\n'), a.Root...))
		}
	}
	return "", fmt.Errorf("no file of the system's certificates was found")
}

// ours are functions of this repository by the target's name, with what each is asked.
func (l *lambdas) ours(ctx context.Context) (map[string]target, error) {
	feedback := items("feedback")[0]
	binaries, err := l.stage.functions(ctx, l.root, l.ca, "feedback", "mcp")
	if err != nil {
		return nil, err
	}
	guarded, err := l.stage.event("/v1/companies/"+demo.CompanyID+"/feedback/"+feedback, true)
	if err != nil {
		return nil, err
	}
	tools, err := l.stage.toolEvent("service_get_feedback", map[string]any{"feedbackId": feedback})
	if err != nil {
		return nil, err
	}
	env := append([]string{"TABLE_NAME=" + tableName, "GOMAXPROCS=1", "GOGC=200", "GOMEMLIMIT=200MiB"}, l.trusted...) // as the stack sets them
	return map[string]target{
		"get_feedback":      {"get_feedback", binaries["feedback"], env, guarded, 200},
		"get_feedback, mcp": {"get_feedback, mcp", binaries["mcp"], env, tools, 200},
	}, nil
}

// unguarded is get_feedback without a key.
func (l *lambdas) unguarded(ctx context.Context, guarded target) (target, error) {
	binaries := filepath.Join(l.stage.Dir, "unguarded", "bootstrap")
	t := guarded
	t.name, t.binary = "unguarded", binaries
	return t, goBuild(ctx, l.root, binaries, filepath.Join(l.stage.Dir, "overlay.json"), "./scripts/prove/speed/unguarded")
}

// peers are the programs to compare with. One that cannot be had is left out, and said so.
func (b *bench) peers(ctx context.Context, l *lambdas) (targets []target, err error) {
	event, err := productEvent()
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		into := filepath.Join(l.stage.Dir, p.name)
		if err := os.MkdirAll(into, 0o700); err != nil {
			return nil, err
		}
		dir, err := p.fetch(ctx, b.peerFolder, into)
		if err != nil {
			fmt.Fprintf(b.log, "without %s: %v\n", p.name, err)
			continue
		}
		binary, err := p.build(ctx, dir, into)
		if err != nil {
			fmt.Fprintf(b.log, "without %s: %v\n", p.name, err)
			continue
		}
		targets = append(targets, target{p.name, binary, append(slices.Clone(p.env), l.trusted...), event, 200})
	}
	return targets, nil
}

// trial is a target at a memory size, and what its processes did.
type trial struct {
	target
	memory   int
	measures []measure
}

// interleave runs every trial once in each round, so that a busy neighbour hits all of them alike.
func (b *bench) interleave(ctx context.Context, r *relay, warm int, trials []*trial) error {
	for round := range b.rounds {
		for _, t := range trials {
			m, err := t.run(ctx, r, t.memory, warm)
			if err != nil {
				return err
			}
			t.measures = append(t.measures, m)
		}
		fmt.Fprintf(b.log, "round %d of %d\n", round+1, b.rounds)
	}
	return nil
}

// ratio is the median over the rounds of what a did divided by what b did in the same round.
func ratio(a, b *trial, of func(measure) float64) float64 {
	var ratios []float64
	for n := range a.measures {
		ratios = append(ratios, of(a.measures[n])/of(b.measures[n]))
	}
	return median(ratios)
}

func (t *trial) median(of func(measure) float64) float64 {
	var values []float64
	for _, m := range t.measures {
		values = append(values, of(m))
	}
	return median(values)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func coldTime(m measure) float64 { return milliseconds(m.cold) }
func warmCPU(m measure) float64  { return milliseconds(m.warmCPU) }
func resident(m measure) float64 { return m.resident }
func warmMedian(m measure) float64 {
	var values []float64
	for _, d := range m.warm {
		values = append(values, milliseconds(d))
	}
	return median(values)
}

// cold compares starts: process start to the first real answer, throttled after the init, with TLS to a table 1 ms away.
func (b *bench) cold(ctx context.Context) ([]goal, error) {
	l, err := b.newLambdas(ctx, time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ours, err := l.ours(ctx)
	if err != nil {
		return nil, err
	}
	others, err := b.peers(ctx, l)
	if err != nil {
		return nil, err
	}
	small := &trial{target: ours["get_feedback"], memory: 128}
	large := &trial{target: ours["get_feedback"], memory: cpuMemory}
	deployed := &trial{target: ours["get_feedback"], memory: infra.MemoryMB}
	tools := &trial{target: ours["get_feedback, mcp"], memory: 128}
	trials := []*trial{small, large, deployed, tools}
	for _, o := range others {
		trials = append(trials, &trial{target: o, memory: 128})
	}
	if err := b.interleave(ctx, l.relay, 0, trials); err != nil {
		return nil, err
	}
	for _, t := range trials {
		fmt.Fprintf(b.log, "%-24s %5d MB  init %7.1f  first %7.1f  cold %7.1f ms  CPU %6.1f ms  %d connections  %.1f MiB\n", t.name, t.memory,
			t.median(func(m measure) float64 { return milliseconds(m.init) }), t.median(func(m measure) float64 { return milliseconds(m.first) }), t.median(coldTime),
			t.median(func(m measure) float64 { return milliseconds(m.coldCPU) }), t.measures[0].dials, t.median(resident))
	}
	goals := []goal{
		{"cold start at 128 MB, to the same at 1,769 MB", ratio(small, large, coldTime), 1.2},
		{fmt.Sprintf("cold start at %d MB, as deployed, to the same at 1,769 MB", infra.MemoryMB), ratio(deployed, large, coldTime), 1.2},
		{"cold start of /mcp, to an area's", ratio(tools, small, coldTime), 2.5},
	}
	most := map[string]float64{"serverless-go-demo": 0.15, "serverless-rust-demo": 0.9}
	for _, t := range trials[4:] {
		goals = append(goals, goal{"cold start at 128 MB, to " + t.name, ratio(small, t, coldTime), most[t.name]})
	}
	return goals, nil
}

// warm compares single reads: with a key to without one, 4 ms from the table; and what the CPU spends on one.
func (b *bench) warm(ctx context.Context) ([]goal, error) {
	l, err := b.newLambdas(ctx, 4*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ours, err := l.ours(ctx)
	if err != nil {
		return nil, err
	}
	guarded := &trial{target: ours["get_feedback"], memory: cpuMemory}
	without, err := l.unguarded(ctx, guarded.target)
	if err != nil {
		return nil, err
	}
	others, err := b.peers(ctx, l)
	if err != nil {
		return nil, err
	}
	unguarded := &trial{target: without, memory: cpuMemory}
	trials := []*trial{guarded, unguarded}
	for _, o := range others {
		trials = append(trials, &trial{target: o, memory: cpuMemory})
	}
	if err := b.interleave(ctx, l.relay, 100, trials); err != nil {
		return nil, err
	}
	goals := []goal{{"warm read with key, quota and data, to one without a key (4 ms)", ratio(guarded, unguarded, warmMedian), 1.15}}
	for _, t := range trials {
		fmt.Fprintf(b.log, "%-24s median %6.2f ms  CPU %6.3f ms  %.1f MiB  %v\n", t.name, t.median(warmMedian), t.median(warmCPU), t.median(resident), t.measures[0].calls)
		if strings.Contains(t.name, "go-demo") {
			goals = append(goals, goal{"CPU of a warm read, to " + t.name, ratio(guarded, t, warmCPU), 0.8})
		}
	}
	return append(goals, goal{"resident memory, to 20 MiB", guarded.median(resident) / 20, 1}), nil
}
