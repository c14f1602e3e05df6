package user

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// Remote selects services and keys for a command of another package. It uses the flags and the
// variables of `workspace api`, but --profile may name several profiles, one for each company.
type Remote struct {
	user     *userCommands
	flags    serviceFlags
	profiles profileNames
}

// NewRemote returns a Remote. Its flags must be registered before the command line is parsed.
func NewRemote(t *terminal.Terminal, table *tableconn.Flags) *Remote {
	return &Remote{user: &userCommands{t, table}}
}

// Register adds the flags that select the service and the key.
func (r *Remote) Register(flags *pflag.FlagSet) {
	r.flags.registerURL(flags)
	r.flags.registerCompany(flags)
	flags.Var(&r.profiles, "profile", "use the key and the service of this login, or of several, such as client-1,client-2 (default: WORKSPACE_PROFILE, or "+defaultProfile+")")
}

// RemoteService is a service that a command calls, with the key for it.
type RemoteService struct {
	*client.Client

	Name      string            // the service and the source of the key, for messages
	Arguments string            // the flags that select the service, each preceded by a space, for a command line that uses the same service
	Explain   func(error) error // adds advice for the user to an error of a call
}

// Services returns the services, one for each profile.
func (r *Remote) Services() (out []RemoteService, err error) {
	profiles := r.profiles
	switch {
	case len(profiles) == 0:
		profiles = profileNames{""}
	case len(profiles) > 1 && r.flags.company != "":
		return nil, terminal.NewUsageError("--company: cannot be combined with several profiles, because each has a key of one company")
	}
	for _, profile := range profiles {
		flags, arguments := r.flags, ""
		flags.profile = profile
		if profile != "" {
			arguments += " --profile " + string(profile)
		}
		if flags.baseURL != "" {
			arguments += " --base-url " + terminal.QuoteArgument(flags.baseURL)
		}
		if flags.company != "" {
			arguments += " --company " + flags.company
		}
		c, err := r.user.connect(flags)
		if err != nil {
			return nil, err
		}
		out = append(out, RemoteService{c.client, c.BaseURL + " with " + c.source, arguments, func(err error) error { return r.user.explainCallError(err, c) }})
	}
	return out, nil
}

// Service returns the service of a command on one record.
func (r *Remote) Service() (RemoteService, error) {
	if len(r.profiles) > 1 {
		return RemoteService{}, terminal.NewUsageError("--profile: name one profile, that of the record's company")
	}
	services, err := r.Services()
	if err != nil {
		return RemoteService{}, err
	}
	return services[0], nil
}

// ExplainRecord is like Explain, for a call on a record. A conflict gets an exit code of its own.
func (s RemoteService) ExplainRecord(err error, noun, id string) error {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return s.Explain(err)
	}
	switch text := terminal.EscapeControls(strings.Join(refused.Messages, "; ")); {
	case refused.Code == client.CodeConflict:
		return terminal.NewConflictError("%s %s: %s", noun, id, text)
	case refused.Code == client.CodeNotFound || refused.Code == client.CodeBadRequest:
		return fmt.Errorf("%s %s: %s", noun, id, text)
	}
	return s.Explain(err)
}
