package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompt explains one task to an agent. It lists the steps to take with the tools, and says where
// the agent stops to let a person decide. A key sees a prompt if it can call every tool in the
// steps that are not optional.
type Prompt struct {
	Name        string // unique, such as "triage-reviews"
	Title       string
	Description string // what the prompt does and when to use it, for the person or model that chooses one
	Arguments   []PromptArgument
	Steps       []PromptStep
	Stop        string // what is left for a person to do after the last step
}

// PromptArgument is an argument of a prompt. The steps refer to it as {name}.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
	Default     string // the value to use if the argument is left out
}

// PromptStep is one step of a prompt, in Markdown. It refers to tools by their full name.
type PromptStep struct {
	Text string

	// Optional means that the task makes sense without this step. An optional step is left out if
	// the key cannot call every tool in it.
	Optional bool
}

var toolNamePattern = regexp.MustCompile(`\bservice_[a-z_]+[a-z]`)

// Tools returns the names of the tools in a step, in order of appearance.
func (s PromptStep) Tools() []string { return toolNamePattern.FindAllString(s.Text, -1) }

// isFor reports whether a key can call every tool in the step. tools contains the tools that the
// key can call.
func (s PromptStep) isFor(tools map[string]bool) bool {
	return !slices.ContainsFunc(s.Tools(), func(name string) bool { return !tools[name] })
}

// IsFor reports whether a key sees the prompt. tools contains the tools that the key can call.
func (p Prompt) IsFor(tools map[string]bool) bool {
	return !slices.ContainsFunc(p.Steps, func(s PromptStep) bool { return !s.Optional && !s.isFor(tools) })
}

// Text returns the prompt in Markdown, without the steps that need tools the key cannot call. tools
// contains the tools that the key can call. An argument that is left out gets its default value.
func (p Prompt) Text(arguments map[string]string, tools map[string]bool) string {
	var values []string
	for _, a := range p.Arguments {
		value := strings.TrimSpace(arguments[a.Name])
		if value == "" {
			value = a.Default
		}
		values = append(values, "{"+a.Name+"}", value)
	}
	replacer := strings.NewReplacer(values...)
	var out strings.Builder
	n := 0
	for _, s := range p.Steps {
		if s.isFor(tools) {
			n++
			fmt.Fprintf(&out, "%d. %s\n", n, replacer.Replace(s.Text))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", replacer.Replace(p.Stop))
	return out.String()
}

// argumentCharsMax is the maximum length of an argument of a prompt, in characters.
const argumentCharsMax = 2000

// checkArguments returns the reason the arguments are invalid, or "" if they are valid.
func (p Prompt) checkArguments(arguments map[string]string) string {
	var names []string
	for _, a := range p.Arguments {
		names = append(names, a.Name)
		switch value, sent := arguments[a.Name]; {
		case a.Required && strings.TrimSpace(value) == "":
			return fmt.Sprintf("arguments.%s: is required: %s", a.Name, a.Description)
		case sent && utf8.RuneCountInString(value) > argumentCharsMax:
			return fmt.Sprintf("arguments.%s: must have at most %d characters", a.Name, argumentCharsMax)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(names, name) {
			return fmt.Sprintf("arguments: %q is unknown; the arguments of %s are %s", name, p.Name, strings.Join(names, ", "))
		}
	}
	return ""
}

// addPrompts registers the prompts with the SDK. The SDK would offer every prompt to every key, so
// sdkMiddleware leaves out those that a key does not see.
func (s *Server) addPrompts(server *mcp.Server) {
	for _, p := range s.prompts {
		out := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			out.Arguments = append(out.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		server.AddPrompt(out, func(ctx context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			x, _ := ctx.Value(messageExchangeKey{}).(*messageExchange)
			if problem := p.checkArguments(request.Params.Arguments); problem != "" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: problem}
			}
			text := p.Text(request.Params.Arguments, x.toolNames())
			return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	}
}

// toolNames returns the names of the tools that the key of the request can call.
func (m *messageExchange) toolNames() map[string]bool {
	out := map[string]bool{}
	for _, t := range m.tools.forScopes(m.response.Scopes) {
		out[t.Name] = true
	}
	return out
}

// seesPrompt reports whether the key of the request sees the prompt with this name.
func (m *messageExchange) seesPrompt(name string) bool {
	tools := m.toolNames()
	return slices.ContainsFunc(m.tools.server.prompts, func(p Prompt) bool { return p.Name == name && p.IsFor(tools) })
}
