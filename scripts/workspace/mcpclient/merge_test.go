package mcpclient

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var entry = Entry{Command: "/usr/local/bin/workspace", Args: []string{"mcp", "--areas", "feedback"}}

// Formats of the clients' files.
var (
	strict  = jsonFormat{object: "mcpServers"}
	relaxed = jsonFormat{object: "servers", writesType: true, allowsComments: true}
)

// Ensure an entry is added or replaced in the layout of the file, and no other byte of the file
// changes.
func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format          format
		text, want, old string
	}{
		"no file": {strict, "", `{
  "mcpServers": {
    "workspace": {
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    }
  }
}
`, ""},
		"no servers": {strict, "{\n\t\"theme\": \"dark\"\n}", `{
	"theme": "dark",
	"mcpServers": {
		"workspace": {
			"command": "/usr/local/bin/workspace",
			"args": [
				"mcp",
				"--areas",
				"feedback"
			]
		}
	}
}`, ""},
		"other servers": {strict, `{
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files"]}
    },
    "big": 12345678901234567890, "é": "\u00e9"
}`, `{
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files"]},
        "workspace": {
            "command": "/usr/local/bin/workspace",
            "args": [
                "mcp",
                "--areas",
                "feedback"
            ]
        }
    },
    "big": 12345678901234567890, "é": "\u00e9"
}`, ""},
		"on one line": {strict, `{"mcpServers":{"files":{"command":"npx"}},"a":1}`, `{"mcpServers":{"files":{"command":"npx"},
    "workspace": {
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    }
  },"a":1}`, ""},
		"line ends of Windows": {strict, "{\r\n  \"mcpServers\": {}\r\n}\r\n",
			"{\r\n  \"mcpServers\": {\r\n    \"workspace\": {\r\n      \"command\": \"/usr/local/bin/workspace\",\r\n      \"args\": [\r\n        \"mcp\",\r\n        \"--areas\",\r\n        \"feedback\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n", ""},
		"another entry": {strict, `{"mcpServers": {"workspace": {"url": "http://x/mcp"}, "b": {}}}`, `{"mcpServers": {"workspace": {
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    }, "b": {}}}`, `"workspace": {"url": "http://x/mcp"}`},
		"the same entry": {strict, `{"mcpServers": {"workspace": {"args": ["mcp", "--areas", "feedback"], "command": "/usr/local/bin/workspace", "env": {}}}}`, "same", ""},
		"comments": {relaxed, `// mine
{
	"servers": {
		// about files
		"files": {"type": "stdio", "command": "npx"}, /* after files */ // and more
	}, // after servers
	"inputs": [], // a trailing comma
}
// the end`, `// mine
{
	"servers": {
		// about files
		"files": {"type": "stdio", "command": "npx"}, /* after files */ // and more
		"workspace": {
			"type": "stdio",
			"command": "/usr/local/bin/workspace",
			"args": [
				"mcp",
				"--areas",
				"feedback"
			]
		}
	}, // after servers
	"inputs": [], // a trailing comma
}
// the end`, ""},
		"a comment after the last server": {relaxed, `{
  "servers": {
    "files": {"command": "npx"} // about files
  }
}`, `{
  "servers": {
    "files": {"command": "npx"}, // about files
    "workspace": {
      "type": "stdio",
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    }
  }
}`, ""},
		"only a comment": {relaxed, "{\n  \"servers\": { /* none yet */ }\n}", `{
  "servers": { /* none yet */
    "workspace": {
      "type": "stdio",
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    }
  }
}`, ""},
		"comments around the replaced entry": {relaxed, `{"servers": {/* a */ "workspace" /* b */ : /* c */ {"command": "old"} /* d */}}`,
			`{"servers": {/* a */ "workspace" /* b */ : /* c */ {
      "type": "stdio",
      "command": "/usr/local/bin/workspace",
      "args": [
        "mcp",
        "--areas",
        "feedback"
      ]
    } /* d */}}`, `"workspace": {"command": "old"}`},
		"the same entry, with comments": {relaxed, `{"servers": {"workspace": {"command": "/usr/local/bin/workspace", "args": ["mcp", /* only */ "--areas", "feedback"]}}}`, "same", ""},

		"no TOML": {tomlFormat{}, "", "[mcp_servers.workspace]\ncommand = '/usr/local/bin/workspace'\nargs = ['mcp', '--areas', 'feedback']\n", ""},
		"other tables": {tomlFormat{}, "model = \"m\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\" # not ours\n\n# the end\n",
			"model = \"m\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\" # not ours\n\n# the end\n\n[mcp_servers.workspace]\ncommand = '/usr/local/bin/workspace'\nargs = ['mcp', '--areas', 'feedback']\n", ""},
		"another table": {tomlFormat{}, "[mcp_servers.workspace]\nurl = \"http://x\"\nargs = [\n  \"a\",\n]\n\n# about env\n[mcp_servers.workspace.env]\nA = \"1\"\n[b]\n",
			"[mcp_servers.workspace]\ncommand = '/usr/local/bin/workspace'\nargs = ['mcp', '--areas', 'feedback']\n\n# about env\n[mcp_servers.workspace.env]\nA = \"1\"\n[b]\n",
			"[mcp_servers.workspace]\nurl = \"http://x\"\nargs = [\n  \"a\",\n]"},
		"a quoted name, at the end": {tomlFormat{}, "a = 1\r\n[ mcp_servers . \"workspace\" ]\r\ncommand = \"old\"\r\n",
			"a = 1\r\n[mcp_servers.workspace]\r\ncommand = '/usr/local/bin/workspace'\r\nargs = ['mcp', '--areas', 'feedback']\r\n", "[ mcp_servers . \"workspace\" ]\r\ncommand = \"old\""},
		"a text that looks like the table": {tomlFormat{}, "a = '''\n[mcp_servers.workspace]\n'''\n",
			"a = '''\n[mcp_servers.workspace]\n'''\n\n[mcp_servers.workspace]\ncommand = '/usr/local/bin/workspace'\nargs = ['mcp', '--areas', 'feedback']\n", ""},
		"the same table": {tomlFormat{}, "mcp_servers.workspace = {command = \"/usr/local/bin/workspace\", args = [\"mcp\", \"--areas\", \"feedback\"], startup_timeout_sec = 20} # mine", "same", ""},
	} {
		if c.want == "same" {
			c.want = c.text
		}
		merged, replaced, err := c.format.merge([]byte(c.text), entry)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(merged)); diff != "" || replaced != c.old {
			t.Errorf("%s: replaced %q, want %q; -want +got\n%s", name, replaced, c.old, diff)
		}
		again, replaced, err := c.format.merge(merged, entry)
		if err != nil || string(again) != string(merged) || replaced != "" {
			t.Errorf("%s: a second merge changes the text: %v\n%s", name, err, again)
		}
	}
}

// Ensure an invalid file causes an error with the line and column. If a merge would lose part of
// the file, the error must say what to do instead.
func TestErrMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format       format
		text         string
		line, column int // 0 if the file is valid
		want         string
	}{
		{strict, "{\n  \"a\": 1,\n}", 3, 1, "invalid character '}'"},
		{strict, "{\n  // mine\n}", 2, 3, "invalid character '/'"},
		{strict, "{\"é\": x}", 1, 8, "invalid character 'x'"},
		{strict, "{\"a\": 1", 1, 7, "unexpected end of JSON input"},
		{strict, "{} {}", 1, 4, "invalid character '{'"},
		{strict, "\ufeff{}", 1, 1, "invalid character"},
		{relaxed, "{\n  // mine\n  \"servers\": {,}\n}", 3, 15, "invalid character ','"},
		{relaxed, "{ /* open", 1, 3, ""},
		{relaxed, "{'a': 1}", 1, 2, "invalid character"},
		{tomlFormat{}, "a = 1\nb = \n", 2, 5, ""},
		{tomlFormat{}, "[a]\n[a]\n", 2, 2, "table a already exists"},
		{tomlFormat{}, "a = \"x", 1, 6, "unterminated basic string"},
		{strict, "[]", 0, 0, "the file must be an object"},
		{strict, "null", 0, 0, "the file must be an object"},
		{strict, `{"mcpServers": []}`, 0, 0, "mcpServers must be an object"},
		{strict, `{"mcpServers": {}, "mcpServers": {}}`, 0, 0, `it has two members "mcpServers": remove one`},
		{strict, `{"mcpServers": {"workspace": 1, "\u0077orkspace": 2}}`, 0, 0, `it has two members "workspace": remove one`},
		{relaxed, `{"servers": {"workspace": {"command": "old" /* mine */}}}`, 0, 0, "has comments, which would be lost: change it by hand to\n\"workspace\": {"},
		{tomlFormat{}, "[mcp_servers.workspace]\ncommand = \"old\" # mine\n", 0, 0, "has comments or is not a table of its own: change it by hand to\n[mcp_servers.workspace]\n"},
		{tomlFormat{}, "mcp_servers.workspace.command = \"old\"\n", 0, 0, "is not a table of its own"},
		{tomlFormat{}, "[mcp_servers.workspace]\nurl = \"https://example.com/mcp\"\n[mcp_servers.workspace.http_headers]\nAuthorization = \"Bearer x\"\n", 0, 0, "http_headers"},
		{tomlFormat{}, "mcp_servers = {}\n", 0, 0, "is not written as tables: add this by hand\n[mcp_servers.workspace]\n"},
		{tomlFormat{}, "mcp_servers = 1\n", 0, 0, "is not written as tables"},
	} {
		merged, _, err := c.format.merge([]byte(c.text), entry)
		var broken *syntaxError
		if err == nil || merged != nil || errors.As(err, &broken) != (c.line > 0) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error with a place: %t, and %q", c.text, err, c.line > 0, c.want)
			continue
		}
		if c.line > 0 && (broken.line != c.line || broken.column != c.column) {
			t.Errorf("%q: %v, want line %d, column %d", c.text, err, c.line, c.column)
		}
	}
}

// FuzzMerge checks that a merge into any text fails or gives a valid file, and that merging again
// changes nothing.
func FuzzMerge(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"servers": {"workspace": {}, "b": 1,},}`, "{\"servers\": {} // a\n}", "[mcp_servers.workspace]\na = 1", "[[mcp_servers]]", "mcp_servers.b.c = [1,\n2]\n[x]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []format{strict, relaxed, tomlFormat{}} {
			merged, _, err := format.merge([]byte(text), entry)
			if err != nil {
				continue
			}
			if format == strict && !json.Valid(merged) {
				t.Errorf("%q becomes %q, which is not JSON", text, merged)
			}
			if again, _, err := format.merge(merged, entry); err != nil || string(again) != string(merged) {
				t.Errorf("%T: %q becomes %q, then %q: %v", format, text, merged, again, err)
			}
		}
	})
}
