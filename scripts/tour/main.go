// Command tour calls a running service the way a client does, over every area, /mcp and /openapi.json, and says what is
// not as it should be. It is for a stack that was just deployed, for functions in local containers, for any base URL:
//
//	WORKSPACE_KEY=sk_live_… go run ./scripts/tour --url URL --company ID
//
// The company must hold the records of functions/testdata/company.jsonl, which `workspace import` writes. The tour makes
// what it changes, publishes the board, and takes away what it made; give it a company of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv("WORKSPACE_KEY"), os.Stdout, os.Stderr))
}

// callTimeout is longer than any answer takes: a function in a fresh container starts in seconds.
const callTimeout = 30 * time.Second

// run is the whole program: it returns the exit code, 0, 1 for a service that is not right or 2 for wrong usage.
func run(ctx context.Context, args []string, key string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("tour", flag.ContinueOnError)
	flags.SetOutput(errOut)
	base := flags.String("url", "", "the base `URL`, without a final slash")
	company := flags.String("company", "", "the `id` of a company with the records of functions/testdata/company.jsonl")
	connect := flags.String("connect", "", "connect to this `host:port`, whatever the URL's host (for an emulator's host names)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *base == "" || *company == "" || key == "" || flags.NArg() > 0 {
		fmt.Fprintln(errOut, "tour: give --url, --company and the key in WORKSPACE_KEY")
		return 2
	}
	t := &tour{base: strings.TrimSuffix(*base, "/"), company: *company, key: key, out: out, client: client(*connect), emulated: *connect != ""}
	if err := t.run(ctx); err != nil {
		fmt.Fprintln(errOut, "tour:", err)
		return 1
	}
	fmt.Fprintf(out, "tour: %d calls, all as they should be\n", t.calls)
	return 0
}

func client(connect string) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if connect != "" {
		dial := transport.DialContext
		transport.DialContext = dialTo(dial, connect)
	}
	return &http.Client{Timeout: callTimeout, Transport: transport}
}

// run makes every stop; the first that fails ends the tour.
func (t *tour) run(ctx context.Context) error {
	for _, stop := range []struct {
		name  string
		visit func(ctx context.Context) error
	}{
		{"border", t.border}, {"company", t.companies}, {"plan", t.plan}, {"feedback", t.feedback}, {"metrics", t.metrics},
		{"optimise", t.optimise}, {"broadcast", t.broadcast}, {"context", t.brand}, {"openapi", t.openapi}, {"mcp", t.mcp},
	} {
		before := t.calls
		if err := stop.visit(ctx); err != nil {
			return fmt.Errorf("%s: %w", stop.name, err)
		}
		fmt.Fprintf(t.out, "%-10s %2d calls\n", stop.name, t.calls-before)
	}
	return nil
}
