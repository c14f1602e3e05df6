// Package mcpclient knows the clients of the Model Context Protocol that people use: where each
// keeps its settings, how an entry for a server looks there, and the client's own command that adds
// one. It plans a change, so that a person can see it first, and then makes it.
package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/shared/auth"
)

// EntryName is the name of the server in the settings of a client.
const EntryName = "workspace"

// Entry is a server that a client starts.
type Entry struct {
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

func (e Entry) equal(other Entry) bool {
	return e.Command == other.Command && slices.Equal(e.Args, other.Args)
}

// Client is a client of the protocol.
type Client struct {
	Name  string // as an argument of the command line
	Title string

	// SkillsFolder is where the client reads agent skills, or "" if it reads none from a folder.
	SkillsFolder string

	file   string // with the servers of the user
	format format

	program       string // its command that adds servers; "" if it has none
	losesComments bool   // the command writes the file anew, without its comments
	add           func(e Entry) []string
	remove        []string // arguments of the command that removes an existing entry before the add; nil if the add replaces it
}

// format is the format of a settings file.
type format interface {
	// merge returns the text with the entry, and the text of the entry that it replaces, or "". If
	// the text has the entry already, it returns it unchanged. Everything else in the text stays as
	// it is, comments included. The error is a *syntaxError if the text cannot be read.
	merge(text []byte, e Entry) (merged []byte, replaced string, err error)

	// render returns the entry as a person reads it.
	render(e Entry) string
}

// syntaxError says where a settings file is broken.
type syntaxError struct {
	line, column int
	problem      string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.problem)
}

// Names returns the names of all clients.
func Names() []string { return []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex"} }

// Lookup returns the client with a name. It returns an error if the user's folders are unknown.
func Lookup(name string) (Client, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Client{}, err
	}
	settings, err := os.UserConfigDir() // ~/.config, ~/Library/Application Support or %AppData%
	if err != nil {
		return Client{}, err
	}
	switch name {
	case "claude-code":
		return Client{
			Name: name, Title: "Claude Code", SkillsFolder: filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "skills"),
			file: filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), home), ".claude.json"), format: jsonFormat{object: "mcpServers", typed: true},
			program: "claude", remove: []string{"mcp", "remove", "--scope", "user", EntryName},
			add: func(e Entry) []string {
				return append([]string{"mcp", "add", "--transport", "stdio", "--scope", "user", EntryName, "--", e.Command}, e.Args...)
			},
		}, nil
	case "claude-desktop":
		return Client{
			Name: name, Title: "Claude Desktop",
			file: filepath.Join(settings, "Claude", "claude_desktop_config.json"), format: jsonFormat{object: "mcpServers"},
		}, nil
	case "cursor":
		return Client{
			Name: name, Title: "Cursor", SkillsFolder: filepath.Join(home, ".cursor", "skills"),
			file: filepath.Join(home, ".cursor", "mcp.json"), format: jsonFormat{object: "mcpServers"},
		}, nil
	case "vscode":
		return Client{
			Name: name, Title: "VS Code", SkillsFolder: filepath.Join(home, ".copilot", "skills"),
			file: filepath.Join(settings, "Code", "User", "mcp.json"), format: jsonFormat{object: "servers", typed: true, comments: true},
			program: codeProgram(), losesComments: true, add: addToCode,
		}, nil
	case "codex":
		return Client{
			Name: name, Title: "Codex", SkillsFolder: filepath.Join(home, ".agents", "skills"),
			file: filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "config.toml"), format: tomlFormat{},
			program: "codex",
			add: func(e Entry) []string {
				return append([]string{"mcp", "add", EntryName, "--", e.Command}, e.Args...)
			},
		}, nil
	}
	return Client{}, fmt.Errorf("no client %q; name one of %s", name, strings.Join(Names(), ", "))
}

// codeProgram returns VS Code's command, or "" on Windows. There it is a batch file, which does not
// get the quotes of JSON as they are.
func codeProgram() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "code"
}

func addToCode(e Entry) []string {
	text, err := json.Marshal(struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Entry
	}{EntryName, "stdio", e})
	if err != nil {
		panic(err) // cannot fail: it has only strings
	}
	return []string{"--add-mcp", string(text)}
}

// Plan is a change of a client's settings that has not been made yet.
type Plan struct {
	File     string
	Entry    Entry
	Text     string // the entry as a person reads it
	Replaced string // the entry that is there now, without the service's keys, or ""
	Exists   bool   // the settings have the entry already, so there is nothing to do

	// Commands has the command lines of the client's own program that make the change. If it is
	// empty, the file is changed directly.
	Commands [][]string

	client Client
}

// NewPlan plans to enter a server into the client's settings. It changes nothing. It returns an
// error that says where, if the settings cannot be read.
func (c Client) NewPlan(e Entry) (Plan, error) {
	p := Plan{File: c.file, Entry: e, Text: c.format.render(e), client: c}
	text, merged, replaced, err := c.mergeFile(e)
	if err != nil {
		return p, err
	}
	p.Replaced, p.Exists = auth.Redact(replaced), text != nil && bytes.Equal(text, merged)
	if c.program == "" || c.losesComments && hasJSONComments(text) {
		return p, nil
	}
	if program, err := exec.LookPath(c.program); err == nil {
		if c.remove != nil && replaced != "" {
			p.Commands = append(p.Commands, append([]string{program}, c.remove...))
		}
		p.Commands = append(p.Commands, append([]string{program}, c.add(e)...))
	}
	return p, nil
}

// mergeFile returns the text of the client's file, nil if there is none, and the text with the
// entry.
func (c Client) mergeFile(e Entry) (text, merged []byte, replaced string, err error) {
	text, err = os.ReadFile(c.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, "", fmt.Errorf("read the settings of %s: %w", c.Title, err)
	}
	merged, replaced, err = c.format.merge(text, e)
	var broken *syntaxError
	if errors.As(err, &broken) {
		return nil, nil, "", fmt.Errorf("%s is broken, so nothing was changed: %w", c.file, err)
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("%s was not changed: %w", c.file, err)
	}
	return text, merged, replaced, nil
}

// Apply makes the change. It returns the path of the copy of the file as it was before, or "" if
// there was none or if the client's program only adds an entry. now names the copy.
func (p Plan) Apply(ctx context.Context, now time.Time) (backup string, err error) {
	switch {
	case p.Exists:
		return "", nil
	case len(p.Commands) > 1: // the first one removes the old entry, and the next one can fail
		return p.replaceByCommands(ctx, now)
	case len(p.Commands) > 0:
		return "", p.runCommands(ctx)
	}
	text, merged, _, err := p.client.mergeFile(p.Entry) // the client may have changed it since NewPlan
	if err != nil {
		return "", err
	}
	return ReplaceFile(p.File, text, merged, now)
}

// replaceByCommands keeps a copy of the file and runs the client's program.
func (p Plan) replaceByCommands(ctx context.Context, now time.Time) (backup string, err error) {
	file := targetOf(p.File)
	text, err := os.ReadFile(file)
	if err == nil {
		backup, err = keepCopy(file, text, now)
	}
	if err != nil {
		return "", err
	}
	if err := p.runCommands(ctx); err != nil {
		return backup, fmt.Errorf("%w; the settings as they were before are in %s", err, backup)
	}
	return backup, nil
}

// runCommands runs the client's program.
func (p Plan) runCommands(ctx context.Context) error {
	for _, words := range p.Commands {
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s failed: %w: %s", strings.Join(words, " "), err, auth.Redact(string(bytes.TrimSpace(out))))
		}
	}
	return nil
}

// ReplaceFile replaces the text of a file atomically. It keeps the file's permissions, and a copy
// of the old text beside it, whose path it returns. If text is nil, it creates the file and its
// folder, and returns "". A symbolic link stays one.
func ReplaceFile(file string, text, with []byte, now time.Time) (backup string, err error) {
	file = targetOf(file)
	if text == nil {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		return "", writeFile(file, with, 0o600)
	}
	if backup, err = keepCopy(file, text, now); err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	return backup, writeFile(file, with, info.Mode().Perm())
}

// keepCopy writes the text of a file to another one beside it, with its permissions, and returns
// the path.
func keepCopy(file string, text []byte, now time.Time) (backup string, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	backup = file + ".bak-" + now.UTC().Format("20060102T150405.000Z")
	if err := writeFile(backup, text, info.Mode().Perm()); err != nil {
		return "", fmt.Errorf("keep a copy of the settings: %w", err)
	}
	return backup, nil
}

// linksMax is how many symbolic links targetOf follows.
const linksMax = 40

// targetOf returns the file that a symbolic link leads to, whether it exists or not, and any other
// file as it is.
func targetOf(file string) string {
	for range linksMax {
		target, err := os.Readlink(file)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(file), target)
		}
		file = target
	}
	return file
}

// writeFile writes a file atomically, with these permissions.
func writeFile(file string, text []byte, mode fs.FileMode) error {
	return secretfile.CreateWithMode(file, mode, func(w io.Writer) error { _, err := w.Write(text); return err })
}
