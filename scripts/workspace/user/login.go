package user

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
)

// loginResult is the result of `workspace login`.
type loginResult struct {
	Profile   string  `json:"profile"`
	BaseURL   string  `json:"baseUrl"`
	CompanyID string  `json:"companyId"`
	KeyID     *string `json:"keyId"` // null if the service does not report the key's id
	File      string  `json:"file"`
}

func (u *userCommands) loginCommand() *cobra.Command {
	var as profileName
	cmd := &cobra.Command{
		Use: "login [--as NAME] [--base-url URL]", Short: "Store a key for `workspace api` and the other commands", Args: terminal.RequireArgs(),
		Long: `Read a secret key from standard input, verify it, and store it in a file of your settings
folder that only you can read. The key is used only for this base URL. WORKSPACE_KEY
overrides it.

With --as, store it as a profile: a second company, or the same company at another service.
Other commands use it with --profile NAME, or if WORKSPACE_PROFILE is NAME. "workspace
profiles" lists the profiles. A login replaces the key that its profile had. Without
--base-url, the service of a profile stays; that of the login without a name stays, too,
unless WORKSPACE_URL is set.`,
		Example: `  printf %s "$KEY" | workspace login --base-url https://api.example.com
  printf %s "$KEY" | workspace login --as prod --base-url https://api.example.com
  workspace login`,
	}
	base := cmd.Flags().String("base-url", "", "the service's `URL` (default: that of the profile of --as, WORKSPACE_URL, the login's, or "+defaultBaseURL+")")
	cmd.Flags().Var(&as, "as", "store the key in this profile (default: WORKSPACE_PROFILE, or "+defaultProfile+")")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		name, err := selectProfile(as)
		if err != nil {
			return err
		}
		serviceURL, err := loginURL(*base, name)
		if err != nil {
			return err
		}
		if at, err := url.Parse(serviceURL); err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" {
			return terminal.NewCommandUsageError(cmd, "--base-url: must be a URL such as https://api.example.com")
		}
		return u.login(cmd, name, serviceURL)
	}
	return cmd
}

// loginURL returns the base URL of the service for which `login` stores a key. The key is sent
// there, so a profile whose service is unknown needs --base-url.
func loginURL(flag, name string) (string, error) {
	if flag != "" {
		return trimURL(flag), nil
	}
	stored, err := readProfile(name)
	switch variable := os.Getenv(urlVariable); {
	case name == defaultProfile && variable != "":
		return trimURL(variable), nil // the variable takes precedence, as in the other commands
	case err != nil:
		return "", terminal.NewUsageError("--base-url: is required, because the service of the profile %s is unknown: %w", name, err)
	default:
		return trimURL(cmp.Or(stored.BaseURL, variable, defaultBaseURL)), nil
	}
}

func (u *userCommands) login(cmd *cobra.Command, name, base string) error {
	key, err := u.readKey()
	if err != nil {
		return err
	}
	file, err := profileFile(name)
	if err != nil {
		return err
	}
	if isUnencrypted(base) {
		return fmt.Errorf("%s is not encrypted, so anyone on the network could read the key: use https", base)
	}
	c := credential{BaseURL: base, Key: key, source: "the key on standard input"}
	remote, err := u.connectWith(c, "")
	if err != nil {
		return err
	}
	keyRecord, err := remote.keyRecord(cmd.Context())
	if err != nil {
		return u.explainCallError(err, remote)
	}
	company, err := remote.client.CompanyID(cmd.Context())
	if err != nil {
		return u.explainCallError(err, remote)
	}
	if err := secretfile.Write(file, c); err != nil {
		return err
	}
	result := loginResult{Profile: name, BaseURL: base, CompanyID: company, File: file}
	if keyRecord != nil {
		result.KeyID = &keyRecord.ID
	}
	return u.Print(result, "profile  %s\nservice  %s\ncompany  %s\nkey      %s\nfile     %s", name, base, company, terminal.FormatText(result.KeyID), file)
}

// readKey reads a key from standard input. It returns an error if the key is empty or publishable.
func (u *userCommands) readKey() (string, error) {
	key, err := u.ReadSecret()
	if err != nil {
		return "", err
	}
	switch _, err := auth.Parse(key); {
	case key == "":
		return "", errors.New("no key on standard input: printf %s \"$KEY\" | " + u.Command("login"))
	case errors.Is(err, auth.ErrPublishable):
		return "", errors.New("standard input has a publishable key, which gives no access to this API")
	}
	return key, nil // ignore other errors, because the keys of a different implementation may have a different format
}

// logoutResult is the result of `workspace logout`.
type logoutResult struct {
	Profile string `json:"profile"`
	Removed bool   `json:"removed"`
	File    string `json:"file"`
}

func (u *userCommands) logoutCommand() *cobra.Command {
	var as profileName
	cmd := &cobra.Command{
		Use: "logout [--as NAME]", Short: "Remove the key of `workspace login`", Args: terminal.RequireArgs(),
		Long: `Remove the file in which "workspace login" stored a key. The key itself keeps working:
revoke it with "workspace key revoke".`,
		Example: "  workspace logout\n  workspace logout --as prod",
	}
	cmd.Flags().Var(&as, "as", "remove the key of this profile (default: WORKSPACE_PROFILE, or "+defaultProfile+")")
	cmd.RunE = func(*cobra.Command, []string) error {
		name, err := selectProfile(as)
		if err != nil {
			return err
		}
		file, err := profileFile(name)
		if err != nil {
			return err
		}
		err = os.Remove(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == defaultProfile:
			return u.Print(logoutResult{name, false, file}, "no key is stored")
		case errors.Is(err, fs.ErrNotExist):
			return noProfileError(name)
		case err != nil:
			return fmt.Errorf("remove the key: %w", err)
		}
		return u.Print(logoutResult{name, true, file}, "removed %s", file)
	}
	return cmd
}
