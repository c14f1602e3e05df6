package user

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// userCommands holds what the user's commands share during one run of the program.
type userCommands struct {
	*terminal.Terminal

	table *tableconn.Flags // the flags that select the data folder, which may contain the demo company's key
}

// The environment variables that hold the key and the address of the service.
const (
	keyVariable = "WORKSPACE_KEY"
	urlVariable = "WORKSPACE_URL"
)

// defaultBaseURL is where `workspace serve` listens without --addr.
const defaultBaseURL = "http://127.0.0.1:8080"

// serviceFlags holds the values of the flags that specify the service.
type serviceFlags struct {
	baseURL, company string
	profile          profileName
}

func (s *serviceFlags) register(flags *pflag.FlagSet) {
	s.registerBaseURL(flags)
	s.registerCompany(flags)
}

func (s *serviceFlags) registerCompany(flags *pflag.FlagSet) {
	flags.StringVar(&s.company, "company", "", "the `id` of the key's company (default: derived from the key, or requested from the service)")
}

// registerBaseURL registers --base-url, and --profile, which includes a base URL. It is for
// commands that need no company.
func (s *serviceFlags) registerBaseURL(flags *pflag.FlagSet) {
	s.registerURL(flags)
	flags.Var(&s.profile, "profile", "use the key and the service of this login (default: WORKSPACE_PROFILE, or "+defaultProfile+")")
}

func (s *serviceFlags) registerURL(flags *pflag.FlagSet) {
	flags.StringVar(&s.baseURL, "base-url", "", "call the service at this `URL` (default: WORKSPACE_URL, the login's, that of the last serve, or "+defaultBaseURL+")")
}

// credential is a key and its service.
type credential struct {
	BaseURL string `json:"baseUrl"`
	Key     string `json:"key"`

	source  string // where the key comes from, for messages
	profile string // the name of the profile that has the key; empty if the key comes from elsewhere
}

// connection is a client, with its credential for use in error messages.
type connection struct {
	client *client.Client
	credential
}

// findCredential finds the service and a key for it. A key from `login` belongs to one service, and
// findCredential never returns it for a different --base-url. The demo company's key belongs to the
// address at which `serve` listened.
//
// A profile that --profile or WORKSPACE_PROFILE names must exist. No variable replaces the key or
// the service of --profile.
func (u *userCommands) findCredential(r serviceFlags) (credential, error) {
	name, err := selectProfile(r.profile)
	if err != nil {
		return credential{}, err
	}
	stored, err := readProfile(name)
	named := r.profile != "" || name != defaultProfile
	switch base := trimURL(r.baseURL); {
	case err != nil:
		err = fmt.Errorf("%w; `%s` stores a key again", err, u.Command("login%s --base-url URL", stored.profileArgument("--as")))
	case stored.Key == "" && named:
		err = fmt.Errorf("%w; `%s` stores one", noProfileError(name), u.Command("login --as %s --base-url URL", name))
	case r.profile != "" && base != "" && base != stored.BaseURL:
		err = terminal.NewUsageError("--base-url: the key of the profile %s is for %s alone; leave out --base-url, or store a key for the other service with `%s`",
			name, stored.BaseURL, u.Command("login --as NAME --base-url %s", terminal.QuoteArgument(base)))
	}
	if err != nil && (named || cmp.Or(r.baseURL, os.Getenv(urlVariable)) == "") {
		return credential{}, err // without the profile, not even the service is known
	}
	if r.profile != "" {
		return stored, nil
	}
	demo := u.demoKey()
	base := trimURL(cmp.Or(r.baseURL, os.Getenv(urlVariable), stored.BaseURL, demo.BaseURL, defaultBaseURL))
	c := credential{BaseURL: base}
	if key := os.Getenv(keyVariable); key != "" {
		c.Key, c.source = strings.TrimSpace(key), keyVariableSource
		return c, nil // ignore the error, because the login's key is not used
	}
	if err != nil {
		return c, err
	}
	if stored.Key != "" && stored.BaseURL == base {
		return stored, nil
	}
	if demo.BaseURL == base && client.Loopback(base) {
		c.Key, c.source = demo.Key, demoKeySource
	}
	return c, nil
}

// demoKey returns the demo company's key in the data folder, or an empty one if there is none.
func (u *userCommands) demoKey() tableconn.DemoKey {
	target, err := u.table.Resolve()
	if err != nil {
		return tableconn.DemoKey{} // without a data folder, there is no such key
	}
	demo, _ := target.DemoKey()
	return demo
}

// trimURL returns a base URL without slashes at its end.
func trimURL(base string) string { return strings.TrimRight(base, "/") }

// keyVariableSource is the credential.source of a key in the environment.
const keyVariableSource = "the key of " + keyVariable

// demoKeySource is the credential.source of the demo company's key.
const demoKeySource = "the demo company's key of `workspace serve`"

// noKeyError returns an error that explains how to provide a key. It names the profiles that have
// one for this service.
func (u *userCommands) noKeyError(base string) error {
	text := fmt.Sprintf("no key for %s: set %s, or run `%s` with the key on standard input", base, keyVariable, u.loginCommandLine(base))
	if names := profilesOf(base); len(names) > 0 {
		text += fmt.Sprintf("; --profile %s has one", strings.Join(names, " or --profile "))
	}
	if demo := u.demoKey(); demo.Key != "" {
		text += fmt.Sprintf("; the demo company's key is only for the address at which `%s` listened, %s", u.Command("serve"), cmp.Or(demo.BaseURL, "which is not known"))
	}
	return errors.New(text)
}

// loginCommandLine returns the command that stores a key for a service. That command does not
// replace a key that the selected profile has for another service.
func (u *userCommands) loginCommandLine(base string) string {
	asFlag := ""
	if stored, err := readProfile(defaultProfile); err != nil || stored.Key != "" && stored.BaseURL != base || os.Getenv(profileVariable) != "" {
		asFlag = " --as NAME"
	}
	return u.Command("login%s --base-url %s", asFlag, terminal.QuoteArgument(base))
}

// isUnencrypted reports whether a key that is sent to base would cross a network unencrypted.
func isUnencrypted(base string) bool {
	return !strings.HasPrefix(base, "https:") && !client.Loopback(base)
}

// requireCredential is like findCredential, but returns an error if there is no key.
func (u *userCommands) requireCredential(r serviceFlags) (credential, error) {
	c, err := u.findCredential(r)
	if err == nil && c.Key == "" {
		err = u.noKeyError(c.BaseURL)
	}
	return c, err
}

// connect returns a client for the service, with the credential that it uses.
func (u *userCommands) connect(r serviceFlags, options ...client.Option) (connection, error) {
	c, err := u.requireCredential(r)
	if err != nil {
		return connection{}, err
	}
	return u.connectWith(c, r.company, options...)
}

func (u *userCommands) connectWith(c credential, company string, options ...client.Option) (connection, error) {
	options = append([]client.Option{
		client.WithCompany(company), client.WithUserAgent("workspace"), client.WithSleep(u.Wait),
	}, options...)
	api, err := client.New(c.BaseURL, c.Key, options...)
	if err != nil {
		return connection{}, errors.New(strings.TrimPrefix(err.Error(), "client: "))
	}
	if isUnencrypted(c.BaseURL) {
		u.Note("%s is not encrypted: anyone on the network can read the key", c.BaseURL)
	}
	return connection{api, c}, nil
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
