// Package serve implements the command that runs the whole API on this machine, with a demo
// company.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/scripts/studio"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/serve/devserver"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
)

const defaultAddr = "127.0.0.1:8080"

// callTimeout is the timeout for one attempt at a table operation. Three attempts fit in the 9 s of
// a request, so an operation succeeds even if its response is lost twice. In a Lambda function the
// timeout is one second, but a local engine takes up to two seconds for a megabyte.
const callTimeout = 2500 * time.Millisecond

// server holds the state of one run of the command.
type server struct {
	*terminal.Terminal

	table      *tableconn.Flags
	background sync.WaitGroup // done when the studio and the feed have stopped
}

// Command returns the command `workspace serve`.
func Command(t *terminal.Terminal, table *tableconn.Flags) *cobra.Command {
	s := &server{Terminal: t, table: table}
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API on this machine", Args: terminal.RequireArgs(),
		Long: `Serve the whole API on one port until Ctrl-C, with a local engine that speaks DynamoDB's
protocol. The first start creates a demo company with records; a program that came without
an engine also installs one. The company's key is printed at each start, and before it the address of the studio: a page
for you alone with the company's numbers, reviews and profile.

The table stores keys only as hashes, so the demo key is also in a file that only you can
read, together with this server's address: demo-key.json in the data folder. The other
commands send the key to that address and to no other. With --table or --endpoint the file is in your
user's data folder, with a different name for each table. The output says who can reach
the engine, which checks no key: on Linux only processes of your user.

If the demo company is missing, it is created again. In an AWS account (--table without
--endpoint) nothing is created without --demo; use a key of "workspace key issue".

Requests must have a loopback host, such as localhost, or, if --addr is not a loopback
address, an address. Behind a proxy with TLS, --public-url https://NAME makes it the server
of a team: requests must have the host NAME, there is no demo company, and /healthz reports
whether the table responds. With --company, the studio of that company is at
https://NAME/studio/. It asks for a token, which is in the file studio-token next to the
data. No key and no token is printed.

With --json the only output is one line, {"baseUrl","studioUrl","mcpUrl",
"companyId","key"}, and with --public-url "listen". Logs are JSON lines on standard
error.`,
		Example: `  workspace serve
  workspace serve --addr 127.0.0.1:0 --data ./data --json
  workspace serve --addr 0.0.0.0:8080
  workspace serve --public-url https://growth.example.com --company co_...`,
	}
	o := options{}
	cmd.Flags().StringVar(&o.addr, "addr", defaultAddr, "listen on this `host:port`; port 0 picks a free one")
	cmd.Flags().BoolVar(&o.demo, "demo", false, "create the demo company in an account's table too; --demo=false creates none")
	cmd.Flags().StringVar(&o.publicURL, "public-url", "", "serve this `URL` behind a proxy that terminates TLS: https://NAME")
	cmd.Flags().StringVar(&o.company, "company", "", "with --public-url, serve the studio of the company with this `id`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, port, err := net.SplitHostPort(o.addr); err != nil || port == "" {
			return terminal.NewCommandUsageError(cmd, "--addr: must be host:port, such as %s", defaultAddr)
		}
		if o.publicURL != "" && o.demo {
			return terminal.NewCommandUsageError(cmd, "--demo: a server with --public-url has no demo company")
		}
		if o.publicURL == "" && o.company != "" {
			return terminal.NewCommandUsageError(cmd, "--company needs --public-url; `%s` opens the studio of a key's company", s.Command("studio"))
		}
		o.noDemo = o.publicURL != "" || cmd.Flags().Changed("demo") && !o.demo
		err := s.serve(cmd.Context(), o)
		if cmd.Context().Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return nil // a signal stopped the command before the server was ready
		}
		return err
	}
	return cmd
}

// options are the values of the flags.
type options struct {
	addr, publicURL, company string
	demo, noDemo             bool
}

// shutdownTimeout is how long requests may still take after a signal.
const shutdownTimeout = 15 * time.Second

func (s *server) serve(ctx context.Context, o options) (err error) {
	public, err := parsePublicURL(o.publicURL)
	if err != nil {
		return err
	}
	// Listen first, so that nothing is started or created if the port is taken.
	listener, err := listen(ctx, o.addr)
	if err != nil {
		return err
	}
	defer listener.Close() // closing twice is safe
	session, err := tableconn.Open(ctx, s.Terminal, *s.table, callTimeout, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if err := session.RemindOfUpgrade(ctx, s.Terminal); err != nil {
		return err
	}
	// In the container image, the folder for temporary files is part of the volume, which is empty
	// at first.
	if err := os.MkdirAll(os.TempDir(), 0o700); err != nil {
		return fmt.Errorf("the folder for temporary files cannot be made: make it, or set TMPDIR to another: %w", err)
	}
	var demo storedKey
	if !o.noDemo && (o.demo || session.Engine != nil) { // in an AWS account, only if the user requests it
		if demo, err = openDemoKey(ctx, s.Terminal, *s.table, session, baseURL(listener.Addr())); err != nil {
			return err
		}
	}
	log := s.newLogger()
	slog.SetDefault(log) // package gateway logs to the default logger
	changes, err := openFeedRecorder(ctx, session, log)
	if err != nil {
		return err
	}
	devServer := devserver.New(functions.Handler(session.ServingTable, api.NewConfig(session.ServingTable, log)), log, session.ServingTable.NewID, functions.UploadCheck(session.ServingTable, log))
	server := devServer.HTTP()
	ctx, end := context.WithCancel(ctx)
	defer func() {
		end()
		s.background.Wait()
	}()
	front := newFrontHandler(server.Handler, session, log, listener.Addr(), public)
	var team *teamStudio
	if o.company != "" {
		if team, err = s.newTeamStudio(ctx, session, o.company, front, listener.Addr()); err != nil {
			return err
		}
	}
	server.Handler = front
	if changes != nil {
		s.background.Go(func() { changes.run(ctx) })
	}
	ended := make(chan error, 1)
	go func() { ended <- devServer.Serve(listener) }()
	if public != nil {
		err = s.announcePublic(session, public, team, listener.Addr())
	} else {
		base, studioURL := baseURL(listener.Addr()), ""
		if studioURL, err = s.startStudio(ctx, base, demo, log); err == nil {
			err = s.announce(session, demo, base, studioURL)
		}
	}
	if err != nil {
		return errors.Join(err, server.Close())
	}
	var engineDone <-chan struct{} // nil in an AWS account, where there is no engine that could stop
	if session.Engine != nil {
		engineDone = session.Engine.Done()
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-engineDone:
		_ = server.Close() // the engine has stopped, so every request would fail
		return fmt.Errorf("the engine stopped: %w", session.Engine.Err())
	case <-ctx.Done():
	}
	s.Note("stopping")
	// ctx is done, so give the last requests a context of their own.
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(shutdownCtx); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish: %w", err), server.Close())
	}
	return nil
}

// startStudio serves the studio for the demo company until ctx is done. It does nothing without a
// demo key. If clients reach the server by a network address, it writes a note instead: the studio
// would send its key unencrypted, which is safe only within this machine, and anyone who knew the
// studio's address could see the company.
func (s *server) startStudio(ctx context.Context, base string, d storedKey, log *slog.Logger) (url string, err error) {
	if d.Key == "" {
		return "", nil
	}
	st, err := studio.New(studio.Options{
		BaseURL: base, Key: d.Key, CompanyID: d.CompanyID, Demo: true, SaveSecret: secretfile.SecretSaver(filepath.Dir(d.file)), Now: s.Now, Log: log,
	})
	if err != nil {
		s.Note("no studio: %s", err)
		return "", nil
	}
	studioServer, err := st.Listen(ctx, "127.0.0.1:0", nil)
	if err != nil {
		return "", err
	}
	s.background.Go(func() {
		if err := studioServer.Serve(ctx); err != nil {
			log.Error("the studio ended", "error", err)
		}
	})
	return studioServer.Guard.URL(), nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is taken: choose another with --addr; --addr 127.0.0.1:0 picks a free port", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --addr", addr, err)
	}
	return l, nil
}

// baseURL returns the URL for clients on this machine.
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

func (s *server) newLogger() *slog.Logger {
	if s.JSON {
		return slog.New(slog.NewJSONHandler(s.Err, nil))
	}
	return slog.New(slog.NewTextHandler(s.Err, nil))
}

// Announcement is the first line of output with --json.
type Announcement struct {
	BaseURL   string `json:"baseUrl"`
	StudioURL string `json:"studioUrl"` // the studio for the demo company, or empty
	MCPURL    string `json:"mcpUrl"`
	CompanyID string `json:"companyId"`
	Key       string `json:"key"`
	Listen    string `json:"listen,omitempty"` // with --public-url: the address to which the proxy forwards requests
}

func (s *server) announce(session *tableconn.Session, d storedKey, base, studioURL string) error {
	first := Announcement{BaseURL: base, StudioURL: studioURL, MCPURL: base + "/mcp", CompanyID: d.CompanyID, Key: d.Key}
	if d.Key == "" {
		return s.Print(first, "data      %s\nbase URL  %s\n\nIssue a key with: %s\nCtrl-C ends.\n", session.Target, base,
			s.Command("key issue --company ID --scopes all")+s.table.Arguments())
	}
	studioText := ""
	if studioURL != "" {
		studioText = "studio    " + studioURL + "   <- open this in a browser\n\n"
	}
	return s.Print(first, studioText+strings.TrimLeft(`
engine    %s
data      %s
base URL  %s
company   %s
key       %s

The studio shows the demo company's numbers and reviews; %s/ is the reference of the
API. Or send a request from another terminal:

  export WORKSPACE_URL=%s WORKSPACE_KEY=%s
  curl -s -H "Authorization: Bearer $WORKSPACE_KEY" "$WORKSPACE_URL/v1/companies/%s/feedback?replyStatus=needs_review&limit=5"

The key works for the demo company only. It is stored in %s, which only you can read. Ctrl-C ends.
`, "\n"), session.EngineName(), session.Target, base, d.CompanyID, d.Key, base, base, d.Key, d.CompanyID, d.file)
}
