// Package mcpclient knows the commonly used clients of the Model Context Protocol. For each client,
// it knows the settings file, the form of a server's entry in it, and the client's own command for
// adding a server. It plans a change, so that a person can see it first, and then makes the change.
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

// EntryName is the name of the service's entry in a client's settings.
const EntryName = "workspace"

// Entry is a client's entry for a server. The client starts the server with this command.
type Entry struct {
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

func (e Entry) equal(other Entry) bool {
	return e.Command == other.Command && slices.Equal(e.Args, other.Args)
}

// Client is a client of the protocol.
type Client struct {
	Name  string // the name on the command line
	Title string

	// SkillsFolder is the folder in which the client looks for agent skills, or "" if it does not
	// read skills from a folder.
	SkillsFolder string

	file   string // the settings file that lists the user's servers
	format format

	program       string // the client's command-line program; "" if it cannot add servers
	losesComments bool   // whether the program rewrites the file without its comments
	add           func(e Entry) []string
	remove        []string // arguments for removing an existing entry before adding the new one; nil if the command from add replaces it
}

// format is the format of a settings file.
type format interface {
	// merge returns text with the entry added. replaced is the text of the old entry, or "" if
	// there was none. If text already contains the entry, merge returns text unchanged. Otherwise
	// it changes nothing but the entry, and keeps comments. The error is a *syntaxError if the text
	// cannot be parsed.
	merge(text []byte, e Entry) (merged []byte, replaced string, err error)

	// render formats the entry for a person.
	render(e Entry) string
}

// syntaxError says where a settings file is invalid.
type syntaxError struct {
	line, column int
	problem      string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.problem)
}

// Names returns the names of all clients.
func Names() []string { return []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex"} }

// Lookup returns the client with the given name. It returns an error if the user's folders are
// unknown.
func Lookup(name string) (Client, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Client{}, err
	}
	configDir, err := os.UserConfigDir() // ~/.config, ~/Library/Application Support or %AppData%
	if err != nil {
		return Client{}, err
	}
	switch name {
	case "claude-code":
		return Client{
			Name: name, Title: "Claude Code", SkillsFolder: filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "skills"),
			file: filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), home), ".claude.json"), format: jsonFormat{object: "mcpServers", writesType: true},
			program: "claude", remove: []string{"mcp", "remove", "--scope", "user", EntryName},
			add: func(e Entry) []string {
				return append([]string{"mcp", "add", "--transport", "stdio", "--scope", "user", EntryName, "--", e.Command}, e.Args...)
			},
		}, nil
	case "claude-desktop":
		return Client{
			Name: name, Title: "Claude Desktop",
			file: filepath.Join(configDir, "Claude", "claude_desktop_config.json"), format: jsonFormat{object: "mcpServers"},
		}, nil
	case "cursor":
		return Client{
			Name: name, Title: "Cursor", SkillsFolder: filepath.Join(home, ".cursor", "skills"),
			file: filepath.Join(home, ".cursor", "mcp.json"), format: jsonFormat{object: "mcpServers"},
		}, nil
	case "vscode":
		return Client{
			Name: name, Title: "VS Code", SkillsFolder: filepath.Join(home, ".copilot", "skills"),
			file: filepath.Join(configDir, "Code", "User", "mcp.json"), format: jsonFormat{object: "servers", writesType: true, allowsComments: true},
			program: codeProgram(), losesComments: true, add: vsCodeAddArgs,
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

// codeProgram returns the name of VS Code's program. It returns "" on Windows, where the program is
// a batch file, which does not receive the quotation marks in JSON unchanged.
func codeProgram() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "code"
}

func vsCodeAddArgs(e Entry) []string {
	text, err := json.Marshal(struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Entry
	}{EntryName, "stdio", e})
	if err != nil {
		panic(err) // cannot fail: the value contains only strings
	}
	return []string{"--add-mcp", string(text)}
}

// Plan is a change to a client's settings that has not been made yet.
type Plan struct {
	File     string
	Entry    Entry
	Text     string // the entry, formatted for a person
	Replaced string // the entry to be replaced, with the service's keys redacted; "" if there is none
	Exists   bool   // whether the settings already contain the entry, so that there is nothing to do

	// Commands contains the command lines of the client's own program that make the change. If it
	// is empty, Apply changes the file directly.
	Commands [][]string

	client Client
}

// NewPlan plans the addition of an entry to the client's settings. It does not change anything. If
// the settings cannot be parsed, the error says where.
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

// mergeFile returns the text of the client's file, or nil if there is no file. It also returns the
// text with the entry added, and the text of the old entry.
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

// Apply makes the change. backup is the path of a copy of the file before the change. It is "" if
// there was no file, or if the client's program only adds an entry. now is part of the copy's name.
func (p Plan) Apply(ctx context.Context, now time.Time) (backup string, err error) {
	switch {
	case p.Exists:
		return "", nil
	case len(p.Commands) > 1: // the first command removes the old entry, and the second one may fail
		return p.replaceByCommands(ctx, now)
	case len(p.Commands) > 0:
		return "", p.runCommands(ctx)
	}
	text, merged, _, err := p.client.mergeFile(p.Entry) // read the file again: the client may have changed it since NewPlan
	if err != nil {
		return "", err
	}
	return ReplaceFile(p.File, text, merged, now)
}

// replaceByCommands copies the file and then runs the client's program.
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

// runCommands runs the client's program with each of the plan's command lines.
func (p Plan) runCommands(ctx context.Context) error {
	for _, words := range p.Commands {
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s failed: %w: %s", strings.Join(words, " "), err, auth.Redact(string(bytes.TrimSpace(out))))
		}
	}
	return nil
}

// ReplaceFile replaces the contents of a file atomically and keeps the file's permissions. text is
// the current content, and backup is the path of a copy of it in the same folder. If text is nil,
// ReplaceFile creates the file and its folder, and backup is "". If file is a symbolic link,
// ReplaceFile replaces the link's target.
func ReplaceFile(file string, text, replacement []byte, now time.Time) (backup string, err error) {
	file = targetOf(file)
	if text == nil {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		return "", writeFile(file, replacement, 0o600)
	}
	if backup, err = keepCopy(file, text, now); err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	return backup, writeFile(file, replacement, info.Mode().Perm())
}

// keepCopy writes text to a new file in the same folder as file, with the same permissions. It
// returns the path of the new file.
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

// linksMax is the maximum number of symbolic links that targetOf follows.
const linksMax = 40

// targetOf returns the target of a symbolic link, even if the target does not exist. It returns any
// other path unchanged.
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

// writeFile writes a file atomically and with the given permissions.
func writeFile(file string, text []byte, mode fs.FileMode) error {
	return secretfile.CreateWithMode(file, mode, func(w io.Writer) error { _, err := w.Write(text); return err })
}
