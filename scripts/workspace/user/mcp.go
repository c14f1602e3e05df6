package user

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/bridge"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
	"growthworkspace/shared/mcpserver"
)

// bridgeFlags holds the values of the flags of `workspace mcp`.
type bridgeFlags struct {
	serviceFlags

	areas string // separated by commas; empty for all areas
	agent string // the agent whose own key is used; empty to use the user's key
}

// areasUsage is the help text of the flag --areas.
const areasUsage = "offer only the tools of these `areas`, separated by commas (default: all that the key can use)"

func (u *userCommands) mcpCommand() *cobra.Command {
	var f bridgeFlags
	cmd := &cobra.Command{
		Use: "mcp [--areas a,b]", Short: "Connect an agent: a bridge from standard input and output to the service's tools",
		Long: `Run a server of the Model Context Protocol (MCP) on standard input and output, for clients
that start programs. It forwards every message to <base URL>/mcp with the stored key, so
that the client's settings need no key. An agent sees the tools, prompts and errors of the
service.

"workspace mcp install" adds this command to a client. The key is that of
--agent, or else the one that "workspace api" would use. It is read for every message, so a
new login works at once. Problems are on standard error and in the responses. It ends when
the client closes standard input.`,
		Example: `  workspace mcp install claude-code --areas feedback,context
  workspace mcp --areas feedback,context
  workspace mcp --agent claude-code`,
	}
	u.table.RegisterDemo(cmd.Flags())
	f.registerBaseURL(cmd.Flags())
	cmd.Flags().StringVar(&f.areas, "areas", "", areasUsage)
	cmd.Flags().StringVar(&f.agent, "agent", "", "use the key that \"workspace mcp install\" created under this `name`")
	cmd.AddCommand(u.mcpInstallCommand())
	cmd.Args = terminal.RequireCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkAreas(cmd, f.areas); err != nil {
			return err
		}
		if f.agent != "" && !profileNamePattern.MatchString(f.agent) {
			return terminal.NewCommandUsageError(cmd, "--agent: must be a name such as claude-code")
		}
		if f.agent != "" && f.profile != "" {
			return terminal.NewCommandUsageError(cmd, "--agent: the agent has a key of its own; leave out --profile")
		}
		return u.bridge(cmd.Context(), f)
	}
	return cmd
}

// checkAreas returns a usage error unless areas is empty or a list of existing areas, separated by
// commas.
func checkAreas(cmd *cobra.Command, areas string) error {
	if areas == "" {
		return nil
	}
	known := mcpserver.Areas(functions.Operations(nil))
	for _, area := range strings.Split(areas, ",") {
		if !slices.Contains(known, area) {
			return terminal.NewCommandUsageError(cmd, "--areas: must be one or more of %s, separated by commas", strings.Join(known, ", "))
		}
	}
	return nil
}

func (u *userCommands) bridge(ctx context.Context, f bridgeFlags) error {
	log := func(format string, args ...any) { fmt.Fprintf(u.Err, "workspace mcp: "+format+"\n", args...) }
	if u.Interactive {
		log("waiting for messages of an MCP client; `%s` adds this command to one", u.Command("mcp install"))
	}
	query := ""
	if f.areas != "" {
		query = "?areas=" + url.QueryEscape(f.areas)
	}
	if c, err := u.bridgeCredential(f); err != nil {
		log("%s", err) // only log it here: the response to each message contains the error, too
	} else if isUnencrypted(c.BaseURL) {
		log("%s is not encrypted: anyone on the network can read the key", c.BaseURL)
	}
	b := &bridge.Bridge{
		In: u.In, Out: u.Out, Log: log,
		Target: func() (string, string, error) {
			c, err := u.bridgeCredential(f)
			return c.BaseURL + mcpserver.Path + query, c.Key, err
		},
		Explain: func(err error) error { return u.explainBridgeError(err, f) },
		HTTP: &http.Client{
			Transport:     http.DefaultTransport.(*http.Transport).Clone(), // a transport of its own, so that nothing else closes its connections
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return b.Run(ctx)
}

// bridgeCredential returns the agent's key if an agent is given, and otherwise the user's key. It
// returns an error if there is no such key.
func (u *userCommands) bridgeCredential(f bridgeFlags) (credential, error) {
	if f.agent != "" {
		return u.agentCredential(f.agent)
	}
	return u.requireCredential(f.serviceFlags)
}

// explainBridgeError converts the error of a failed request to one that says what to do.
func (u *userCommands) explainBridgeError(err error, f bridgeFlags) error {
	c, keyErr := u.bridgeCredential(f)
	if keyErr != nil {
		return keyErr
	}
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		remedy := u.Command("login%s --base-url %s", c.profileArgument("--as"), terminal.QuoteArgument(c.BaseURL))
		if f.agent != "" {
			remedy = u.Command("mcp install %s", f.agent)
		}
		return fmt.Errorf("%s refuses %s: it is unknown, revoked or expired. Ask a person to run `%s` (request %s)", c.BaseURL, c.source, remedy, refused.RequestID)
	}
	return u.explainCallError(err, connection{credential: c})
}

// agentKey is the stored form of a key that `workspace mcp install` created for one agent.
type agentKey struct {
	credential

	KeyID  string   `json:"keyId"`
	Scopes []string `json:"scopes"`
}

func agentKeyFile(name string) (string, error) {
	dir, err := settingsFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "agents", name+".json"), nil
}

// readAgentKey returns the stored key of an agent. Key is empty if none is stored.
func readAgentKey(name string) (k agentKey, err error) {
	file, err := agentKeyFile(name)
	if err == nil {
		_, err = secretfile.Read(file, &k)
	}
	return k, err
}

// agentCredential returns the key of an agent. It returns an error if none is stored.
func (u *userCommands) agentCredential(name string) (credential, error) {
	k, err := readAgentKey(name)
	if err == nil && k.Key == "" {
		err = fmt.Errorf("no key is stored for the agent %s: run `%s`", name, u.Command("mcp install %s", name))
	}
	k.source = "the key of the agent " + name
	return k.credential, err
}
