package user

import (
	"os"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// Remote selects a service and a key for a command of another package. It uses the flags and the
// variables of `workspace api`.
type Remote struct {
	user  *userCommands
	flags serviceFlags
}

// NewRemote returns a Remote. Its flags must be registered before the command line is parsed.
func NewRemote(t *terminal.Terminal, table *tableconn.Flags) *Remote {
	return &Remote{user: &userCommands{t, table}}
}

// Register adds the flags that select the service to a command and its subcommands.
func (r *Remote) Register(cmd *cobra.Command) { r.flags.registerBaseURL(cmd.PersistentFlags()) }

// HasFlag reports whether a flag selects the service.
func (r *Remote) HasFlag() bool { return r.Arguments() != "" }

// IsChosen reports whether a flag or the environment selects a service or a key.
func (r *Remote) IsChosen() bool {
	return r.HasFlag() || os.Getenv(keyVariable) != "" || os.Getenv(profileVariable) != ""
}

// HasLogin reports whether `workspace login` has stored a key.
func (r *Remote) HasLogin() bool {
	c, err := r.user.findCredential(r.flags)
	return err == nil && c.Key != "" && c.source != demoKeySource
}

// Arguments returns the flags that select the service as text, each preceded by a space, to append
// to a command line that uses the same service.
func (r *Remote) Arguments() (out string) {
	if r.flags.profile != "" {
		out += " --profile " + string(r.flags.profile)
	}
	if r.flags.baseURL != "" {
		out += " --base-url " + terminal.QuoteArgument(r.flags.baseURL)
	}
	return out
}

// RemoteService is a service that a command calls, with the key for it.
type RemoteService struct {
	*client.Client

	Name    string            // the service and the source of the key, for messages
	Explain func(error) error // adds advice for the user to an error of a call
}

// Connect returns the service. companyID is the company of the key; if it is empty, it is read from
// the key.
func (r *Remote) Connect(companyID string) (RemoteService, error) {
	r.flags.company = companyID
	c, err := r.user.connect(r.flags)
	if err != nil {
		return RemoteService{}, err
	}
	return RemoteService{
		Client: c.client, Name: c.BaseURL + " with " + c.source,
		Explain: func(err error) error { return r.user.explainCallError(err, c) },
	}, nil
}
