package user

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// userCommands holds what the user's commands share during one run of the program.
type userCommands struct {
	*terminal.Terminal

	table *tableconn.Flags // select the data folder, which may contain the demo company's key
}

// The environment variables that hold the key and the address of the service.
const (
	keyVariable = "WORKSPACE_KEY"
	urlVariable = "WORKSPACE_URL"
)

// defaultBaseURL is where `workspace serve` listens.
const defaultBaseURL = "http://127.0.0.1:8080"

// serviceFlags holds the values of the flags that specify the service.
type serviceFlags struct{ baseURL, company string }

func (r *serviceFlags) register(flags *pflag.FlagSet) {
	r.registerBaseURL(flags)
	flags.StringVar(&r.company, "company", "", "the `id` of the key's company (default: derived from the key, or requested from the service)")
}

// registerBaseURL registers --base-url alone, for commands that need no company.
func (r *serviceFlags) registerBaseURL(flags *pflag.FlagSet) {
	flags.StringVar(&r.baseURL, "base-url", "", "call the service at this `URL` (default: WORKSPACE_URL, the login's, or "+defaultBaseURL+")")
}

// credential is a key and its service.
type credential struct {
	BaseURL string `json:"baseUrl"`
	Key     string `json:"key"`

	source string // where the key comes from, for messages
}

// connection is a client, with its credential for use in error messages.
type connection struct {
	client *client.Client
	credential
}

// credential finds the service and a key for it. A key from login belongs to one service, and
// credential never returns it for a different --base-url.
func (u *userCommands) credential(r serviceFlags) (credential, error) {
	stored, err := readLogin()
	base := strings.TrimRight(cmp.Or(r.baseURL, os.Getenv(urlVariable), stored.BaseURL, defaultBaseURL), "/")
	c := credential{BaseURL: base}
	if key := os.Getenv(keyVariable); key != "" {
		c.Key, c.source = strings.TrimSpace(key), keyVariableSource
		return c, nil // ignore the error, because the login is not used
	}
	if err != nil {
		return c, fmt.Errorf("%w; `%s` stores a key again", err, u.Command("login"))
	}
	if stored.Key != "" && stored.BaseURL == base {
		c.Key, c.source = stored.Key, "the key of `workspace login`"
		return c, nil
	}
	if client.Loopback(base) {
		target, err := u.table.Resolve()
		if demo, found := target.DemoKey(); err == nil && found {
			c.Key, c.source = demo.Key, demoKeySource
		}
	}
	return c, nil
}

// keyVariableSource is the credential.source of a key in the environment.
const keyVariableSource = "the key of " + keyVariable

// demoKeySource is the credential.source of the demo company's key.
const demoKeySource = "the demo company's key of `workspace serve`"

// noKeyError returns an error that explains how to provide a key.
func (u *userCommands) noKeyError(base string) error {
	return fmt.Errorf("no key for %s: set %s, or run `%s` with the key on standard input", base, keyVariable, u.Command("login --base-url %s", terminal.QuoteArgument(base)))
}

// isUnencrypted reports whether a key that is sent to base would cross a network unencrypted.
func isUnencrypted(base string) bool {
	return !strings.HasPrefix(base, "https:") && !client.Loopback(base)
}

// connect returns a client for the service, with the credential that it uses.
func (u *userCommands) connect(r serviceFlags, options ...client.Option) (connection, error) {
	c, err := u.credential(r)
	if err != nil {
		return connection{}, err
	}
	if c.Key == "" {
		return connection{}, u.noKeyError(c.BaseURL)
	}
	return u.connectWith(c, r.company, options...)
}

func (u *userCommands) connectWith(c credential, company string, options ...client.Option) (connection, error) {
	if isUnencrypted(c.BaseURL) {
		u.Note("%s is not encrypted: anyone on the network can read the key", c.BaseURL)
	}
	options = append([]client.Option{
		client.WithCompany(company), client.WithUserAgent("workspace"), client.WithSleep(u.Wait),
	}, options...)
	api, err := client.New(c.BaseURL, c.Key, options...)
	if err != nil {
		return connection{}, errors.New(strings.TrimPrefix(err.Error(), "client: "))
	}
	return connection{api, c}, nil
}

// loginFile returns the path of the file in which login stores a key, in the user's settings
// folder.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("your settings folder is unknown: set %s: %w", keyVariable, err)
	}
	return filepath.Join(dir, "growth-workspace", "login.json"), nil
}

// readLogin returns the credential that login stored. Its key is empty if there is none.
func readLogin() (c credential, err error) {
	file, err := loginFile()
	if err != nil {
		return c, nil // without a settings folder, login cannot have stored a key
	}
	_, err = secretfile.Read(file, &c)
	return c, err
}

// keyRecord returns the service's record of the key, such as its scopes. It returns nil if the key
// works but the service does not have this operation.
func (c connection) keyRecord(ctx context.Context) (*client.Key, error) {
	key, err := c.client.GetCurrentKey(ctx)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		_, err := c.client.ListCompanies(ctx)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return &key, nil
}
