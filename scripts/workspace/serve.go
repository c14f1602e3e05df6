package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/functions/openapi"
)

const defaultAddr = "127.0.0.1:8080"

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API on this machine", Args: takes(),
		Long: `Serve the whole API on one port, over a local engine that speaks DynamoDB's protocol,
until Ctrl-C. The first start installs the engine with npm, once, and makes a demo
company full of records; its key is printed at each start.

Keys are stored as hashes only, so the demo key is kept in a file that you alone can
read: demo-key.json in the data folder. While it serves, the page at / shows the key to
whoever opens it on this machine; do not put a proxy in front of it. With --table or --endpoint there is no data
folder; the file is then in your user's data folder, under a name of its own for each
place. If the demo company is gone, it is made again. In an account (--table without
--endpoint) nothing is made unless you say --demo; use a key of "workspace key issue".

With --json the first line of output is {"baseUrl","mcpUrl","companyId","key"} and
nothing follows; logs are JSON lines on standard error.`,
		Example: `  workspace serve
  workspace serve --addr 127.0.0.1:0 --data ./data --json
  workspace serve --addr 0.0.0.0:8080`,
	}
	addr := cmd.Flags().String("addr", defaultAddr, "listen on this `host:port`; port 0 picks a free one")
	withDemo := cmd.Flags().Bool("demo", false, "make the demo company in an account's table too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, port, err := net.SplitHostPort(*addr); err != nil || port == "" {
			return misuse(cmd, "--addr: must be host:port, such as %s", defaultAddr)
		}
		err := a.serve(cmd.Context(), *addr, *withDemo)
		if cmd.Context().Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return nil // ended by a signal before it served
		}
		return err
	}
	return cmd
}

// shutdownTimeout is how long requests may take to finish; it is longer than any may take.
const shutdownTimeout = 15 * time.Second

func (a *app) serve(ctx context.Context, addr string, withDemo bool) (err error) {
	// The port comes first: nothing is started or made when it cannot be had.
	listener, err := listen(ctx, addr)
	if err != nil {
		return err
	}
	defer listener.Close() // again, where the server has not
	s, err := a.open(ctx, serveTimeout)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	var d demoKey
	if withDemo || s.engine != nil { // an account holds what its operator put there
		if d, err = a.demo(ctx, s); err != nil {
			return err
		}
	}
	var greeting openapi.Demo
	if s.engine != nil { // every user of this machine sees the page, so it never shows a key of an account
		greeting = d.greeting(listener.Addr())
	}
	log := a.logger()
	slog.SetDefault(log) // for what the event adapter says
	server := &http.Server{
		Handler:           functions.Greeting(s.serving, log, greeting),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := a.announce(s, d, baseURL(listener.Addr())); err != nil {
		return errors.Join(err, server.Close())
	}
	var dead <-chan struct{} // of an account: never
	if s.engine != nil {
		dead = s.engine.Done()
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-dead:
		_ = server.Close() // without the engine no request can be answered
		return fmt.Errorf("the engine is gone: %w", s.engine.Err())
	case <-ctx.Done():
	}
	a.note("stopping")
	// ctx has ended: what is left has its own deadline.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(rest); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), server.Close())
	}
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is taken: name another with --addr, such as --addr 127.0.0.1:0 for any free port", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; name another address with --addr", addr, err)
	}
	return l, nil
}

// baseURL is where a client on this machine finds the service.
func baseURL(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return "http://" + addr.String()
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(tcp.Port))
}

func (a *app) logger() *slog.Logger {
	if a.json {
		return slog.New(slog.NewJSONHandler(a.errOut, nil))
	}
	return slog.New(slog.NewTextHandler(a.errOut, nil))
}

type announcement struct {
	BaseURL   string `json:"baseUrl"`
	MCPURL    string `json:"mcpUrl"`
	CompanyID string `json:"companyId"`
	Key       string `json:"key"`
}

func (a *app) announce(s *session, d demoKey, base string) error {
	first := announcement{base, base + "/mcp", d.CompanyID, d.Key}
	if d.Key == "" {
		return a.print(first, "data      %s\nbase URL  %s\n\nIssue a key with: workspace key issue --company ID --scopes all\nCtrl-C ends.\n", s.target, base)
	}
	return a.print(first, strings.TrimLeft(`
engine    %s
data      %s
base URL  %s
company   %s
key       %s

Look around at %s/ in a browser, or try it in another terminal:

  curl -s -H 'Authorization: Bearer %s' '%s/v1/companies/%s/feedback?replyStatus=needs_review&limit=5'

The key opens the demo company only, and the page shows it to users of this machine.
It is kept in %s, which you alone can read. Ctrl-C ends.
`, "\n"), s.name(), s.target, base, d.CompanyID, d.Key, base, d.Key, base, d.CompanyID, d.file)
}
