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

// Prompt is the know-how for one task: the steps that an agent takes with the tools, and where it
// stops because a person decides. A key sees a prompt if it can call every tool of its steps, apart
// from the optional ones.
type Prompt struct {
	Name        string // unique, such as triage-reviews
	Title       string
	Description string // what it does and when to use it, for the person or model that chooses
	Arguments   []PromptArgument
	Steps       []PromptStep
	Stop        string // what is left to a person, after the last step
}

// PromptArgument is an argument of a prompt. The steps contain it as {name}.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
	Default     string // the words that stand for the argument when it is left out
}

// PromptStep is one step of a prompt, in Markdown. It names tools by their full names.
type PromptStep struct {
	Text string

	// Optional means that the task makes sense without this step. The step is left out if the key
	// cannot call one of its tools.
	Optional bool
}

var toolNamePattern = regexp.MustCompile(`\bservice_[a-z_]+[a-z]`)

// Tools returns the names of the tools in a step, in their order.
func (s PromptStep) Tools() []string { return toolNamePattern.FindAllString(s.Text, -1) }

// isFor reports whether a key that can call tools can take a step.
func (s PromptStep) isFor(tools map[string]bool) bool {
	return !slices.ContainsFunc(s.Tools(), func(name string) bool { return !tools[name] })
}

// IsFor reports whether a key that can call tools sees the prompt.
func (p Prompt) IsFor(tools map[string]bool) bool {
	return !slices.ContainsFunc(p.Steps, func(s PromptStep) bool { return !s.Optional && !s.isFor(tools) })
}

// Text returns the prompt in Markdown for a key that can call tools. Arguments that are left out
// have their defaults.
func (p Prompt) Text(arguments map[string]string, tools map[string]bool) string {
	var values []string
	for _, a := range p.Arguments {
		value := strings.TrimSpace(arguments[a.Name])
		if value == "" {
			value = a.Default
		}
		values = append(values, "{"+a.Name+"}", value)
	}
	fill := strings.NewReplacer(values...)
	var out strings.Builder
	n := 0
	for _, s := range p.Steps {
		if s.isFor(tools) {
			n++
			fmt.Fprintf(&out, "%d. %s\n", n, fill.Replace(s.Text))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", fill.Replace(p.Stop))
	return out.String()
}

// argumentCharsMax is the maximum length of a prompt's argument.
const argumentCharsMax = 2000

// checkArguments returns the reason that arguments are invalid, or "".
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

// addPrompts registers the prompts with the SDK, which lists and gets them for every key;
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

// toolNames returns the names of the tools that the request can call.
func (x *messageExchange) toolNames() map[string]bool {
	out := map[string]bool{}
	for _, t := range x.tools.forScopes(x.response.Scopes) {
		out[t.Name] = true
	}
	return out
}

// seesPrompt reports whether the key of a request sees the prompt with this name.
func (x *messageExchange) seesPrompt(name string) bool {
	tools := x.toolNames()
	return slices.ContainsFunc(x.tools.server.prompts, func(p Prompt) bool { return p.Name == name && p.IsFor(tools) })
}
