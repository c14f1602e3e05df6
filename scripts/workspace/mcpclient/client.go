// Package mcpclient knows the commonly used clients of the Model Context Protocol. A client's
// settings are its own: this package never writes them. It runs the client's own command for adding
// a server, or returns the link or the text that a person opens or pastes.
package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
)

// EntryName is the name of the service's entry in a client's settings.
const EntryName = "workspace"

// Entry is a client's entry for a server. The client starts the server with this command.
type Entry struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (e Entry) equal(other Entry) bool {
	return e.Command == other.Command && slices.Equal(e.Args, other.Args)
}

// Words returns the command line of the entry.
func (e Entry) Words() []string { return append([]string{e.Command}, e.Args...) }

// Client is a client of the protocol.
type Client struct {
	Name  string // the name on the command line
	Title string

	// SkillsFolder is the folder in which the client looks for agent skills, or "" if it does not
	// read skills from a folder.
	SkillsFolder string

	file   string // the settings file that lists the user's servers, in JSON; "" if current reads the entry
	object string // the member of the file that contains the servers

	program string // the client's command-line program; "" if it cannot add servers
	add     func(e Entry) []string
	remove  []string // arguments for removing an existing entry before adding the new one; nil if the command from add replaces it
	get     []string // arguments for showing the entry as JSON, if file is ""

	link func(e Entry) string // the link that makes the client add the entry; nil if there is none
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
			file: filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), home), ".claude.json"), object: "mcpServers",
			program: "claude", remove: []string{"mcp", "remove", "--scope", "user", EntryName},
			add: func(e Entry) []string {
				return append([]string{"mcp", "add", "--transport", "stdio", "--scope", "user", EntryName, "--"}, e.Words()...)
			},
		}, nil
	case "claude-desktop":
		return Client{
			Name: name, Title: "Claude Desktop", file: filepath.Join(configDir, "Claude", "claude_desktop_config.json"), object: "mcpServers",
		}, nil
	case "cursor":
		return Client{
			Name: name, Title: "Cursor", SkillsFolder: filepath.Join(home, ".cursor", "skills"),
			file: filepath.Join(home, ".cursor", "mcp.json"), object: "mcpServers", link: cursorLink,
		}, nil
	case "vscode":
		return Client{
			Name: name, Title: "VS Code", SkillsFolder: filepath.Join(home, ".copilot", "skills"),
			file: filepath.Join(configDir, "Code", "User", "mcp.json"), object: "servers",
			program: codeProgram(), add: func(e Entry) []string { return []string{"--add-mcp", vsCodeServer(e)} }, link: vsCodeLink,
		}, nil
	case "codex":
		return Client{
			Name: name, Title: "Codex", SkillsFolder: filepath.Join(home, ".agents", "skills"),
			program: "codex", add: func(e Entry) []string { return append([]string{"mcp", "add", EntryName, "--"}, e.Words()...) },
			get: []string{"mcp", "get", EntryName, "--json"},
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

// vsCodeServer returns the entry in the form in which VS Code accepts it.
func vsCodeServer(e Entry) string {
	return encode(struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Entry
	}{EntryName, "stdio", e}, "")
}

// vsCodeLink returns the entry as a link of VS Code
// (https://code.visualstudio.com/api/extension-guides/ai/mcp).
func vsCodeLink(e Entry) string { return "vscode:mcp/install?" + url.PathEscape(vsCodeServer(e)) }

// cursorLink returns the entry as a link of Cursor (https://cursor.com/docs/mcp/install-links).
func cursorLink(e Entry) string {
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + EntryName + "&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(encode(e, ""))))
}

// encode returns a value of strings as JSON.
func encode(value any, indent string) string {
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	w.SetIndent("", indent)
	if err := w.Encode(value); err != nil {
		panic(err) // cannot fail: the value contains only strings
	}
	return strings.TrimSpace(out.String())
}

// Plan is a change to a client's settings that has not been made yet.
type Plan struct {
	Entry  Entry
	Exists bool // whether the settings already contain the entry, so that there is nothing to do

	// Commands contains the command lines of the client's own program that make the change. It is
	// empty if there is no such program on PATH.
	Commands [][]string

	// ByHand says what a person must do to make the change, if Commands is empty.
	ByHand string
}

// NewPlan plans the addition of an entry to the client's settings. It does not change anything.
func (c Client) NewPlan(ctx context.Context, e Entry) Plan {
	p := Plan{Entry: e}
	program := ""
	if c.program != "" {
		program, _ = exec.LookPath(c.program) // "" if it is not on PATH
	}
	stored, found := c.current(ctx, program)
	p.Exists = found && stored.equal(e)
	if program == "" {
		p.ByHand = c.byHand(e)
		return p
	}
	if found && c.remove != nil {
		p.Commands = append(p.Commands, append([]string{program}, c.remove...))
	}
	p.Commands = append(p.Commands, append([]string{program}, c.add(e)...))
	return p
}

// current returns the entry in the client's settings. found is false if there is none, or if the
// settings cannot be read: then the client's own command decides.
func (c Client) current(ctx context.Context, program string) (e Entry, found bool) {
	if c.file == "" {
		if program == "" {
			return e, false
		}
		var server struct {
			Entry
			Transport Entry `json:"transport"` // where newer versions have the command
		}
		text, err := exec.CommandContext(ctx, program, c.get...).Output()
		if err != nil || json.Unmarshal(text, &server) != nil {
			return e, false
		}
		if server.Transport.Command != "" {
			return server.Transport, true
		}
		return server.Entry, true
	}
	text, err := os.ReadFile(c.file)
	var members, servers map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &members) != nil || json.Unmarshal(members[c.object], &servers) != nil || servers[EntryName] == nil {
		return e, false
	}
	_ = json.Unmarshal(servers[EntryName], &e) // an entry of another form is not the wanted one
	return e, true
}

// byHand says how a person adds the entry.
func (c Client) byHand(e Entry) string {
	var ways []string
	if c.program != "" {
		var words []string
		for _, word := range append([]string{c.program}, c.add(e)...) {
			words = append(words, terminal.QuoteArgument(word))
		}
		ways = append(ways, fmt.Sprintf("%s is not on PATH. Run this where it is:\n\n  %s", c.program, strings.Join(words, " ")))
	}
	if c.link != nil {
		ways = append(ways, fmt.Sprintf("Open this link; %s asks before it adds the server:\n\n  %s", c.Title, c.link(e)))
	}
	if c.program == "" && c.file != "" {
		block := encode(map[string]any{c.object: map[string]any{EntryName: e}}, "  ")
		ways = append(ways, fmt.Sprintf("Add this to %s, beside what is there, and restart %s:\n\n%s", c.file, c.Title, block))
	}
	return strings.Join(ways, "\n\nOr: ")
}

// Apply runs the commands of the plan.
func (p Plan) Apply(ctx context.Context) error {
	for _, words := range p.Commands {
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s failed: %w: %s", strings.Join(words, " "), err, auth.Redact(string(bytes.TrimSpace(out))))
		}
	}
	return nil
}
