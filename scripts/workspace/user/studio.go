package user

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	_ "time/tzdata" // for the company's time zone, because the machine may have no database of zones

	"github.com/spf13/cobra"

	"growthworkspace/scripts/studio"
	"growthworkspace/scripts/studio/localauth"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
)

func (u *userCommands) studioCommand() *cobra.Command {
	var service serviceFlags
	var addr string
	var noOpen bool
	cmd := &cobra.Command{
		Use: "studio", Short: "Open a page with the company's numbers, reviews and profile", Args: terminal.RequireArgs(),
		Long: `Open a web page on this machine for the company of the key: its metrics as charts, an inbox
for reviews and their replies, and its profile. It uses the service and the key that
"workspace api" would use, and works with a local server and with a deployed one.

The page is served on this machine only, until Ctrl-C. The key stays in this process and is
never in a page. Whoever knows the printed address can use the page: it ends with a token,
which changes with every start.

With --json the only output is one line, {"url"}, and no browser is opened.`,
		Example: `  workspace studio
  workspace studio --base-url https://api.example.com --addr 127.0.0.1:8090
  workspace studio --no-open`,
	}
	u.table.RegisterDemo(cmd.Flags())
	service.register(cmd.Flags())
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "serve the page on this loopback `host:port`; port 0 picks a free one")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "open no browser")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return u.studio(cmd.Context(), service, addr, !noOpen && !u.JSON)
	}
	return cmd
}

// studioResult is the first line of output with --json.
type studioResult struct {
	URL string `json:"url"`
}

func (u *userCommands) studio(ctx context.Context, service serviceFlags, addr string, useBrowser bool) error {
	c, err := u.requireCredential(service)
	if err != nil {
		return err
	}
	company := service.company
	if token, err := auth.Parse(c.Key); company == "" && err == nil {
		company = token.CompanyID
	}
	folder, err := settingsFolder()
	if err != nil {
		return err
	}
	s, err := studio.New(studio.Options{
		BaseURL: c.BaseURL, Key: c.Key, CompanyID: company, Demo: c.source == demoKeySource, SaveSecret: secretfile.SecretSaver(folder),
		Profile: c.namedProfile(), Now: u.Now, Log: slog.New(slog.NewTextHandler(u.Err, nil)),
	})
	if err != nil {
		return err
	}
	entered := make(chan struct{})
	server, err := s.Listen(ctx, addr, func() { close(entered) })
	if err != nil {
		return err
	}
	defer server.Close() // closing twice is safe
	if err := u.Print(studioResult{server.Guard.URL()}, "studio  %s\n\nThe page is for you alone: keep the address to yourself. Ctrl-C ends.\n", server.Guard.URL()); err != nil {
		return err
	}
	if useBrowser && terminal.Width(u.Out) > 0 {
		remove, err := openBrowser(ctx, server.Guard, entered)
		if err != nil {
			u.Note("no browser was opened (%s): open the address above", err)
		}
		defer remove()
	}
	return server.Serve(ctx)
}

// openBrowser opens the studio in the browser through a redirect file. The file is deleted once the
// browser has been admitted, or when remove is called.
func openBrowser(ctx context.Context, guard *localauth.Guard, entered <-chan struct{}) (remove func(), err error) {
	command := browserCommand()
	if command == nil {
		return func() {}, errors.New("there is no desktop")
	}
	file, remove, err := guard.RedirectFile()
	if err != nil {
		return func() {}, err
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	if err := cmd.Start(); err != nil {
		return remove, fmt.Errorf("start %s: %w", command[0], err)
	}
	go func() { _ = cmd.Wait() }() // ignore the error: a browser that fails is never admitted
	go func() {
		select {
		case <-entered:
			remove()
		case <-ctx.Done():
		}
	}()
	return remove, nil
}

// browserCommand returns the command that opens a file in the browser, or nil on a machine without
// a desktop.
func browserCommand() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}
