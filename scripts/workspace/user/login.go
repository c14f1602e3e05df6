package user

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
)

// loginResult is the result of login.
type loginResult struct {
	BaseURL   string  `json:"baseUrl"`
	CompanyID string  `json:"companyId"`
	KeyID     *string `json:"keyId"` // null if the service does not report the key's id
	File      string  `json:"file"`
}

func (u *userCommands) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "login [--base-url URL]", Short: "Store a key for `workspace api`", Args: terminal.RequireArgs(),
		Long: `Read a secret key from standard input, verify it, and store it in a file of your settings
folder that only you can read. The key is used only for this base URL. WORKSPACE_KEY
overrides it.`,
		Example: `  printf %s "$KEY" | workspace login --base-url https://api.example.com
  workspace login`,
	}
	base := cmd.Flags().String("base-url", "", "the service's `URL` (default: WORKSPACE_URL, or "+defaultBaseURL+")")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		where := strings.TrimRight(cmp.Or(*base, os.Getenv(urlVariable), defaultBaseURL), "/")
		if u, err := url.Parse(where); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return terminal.NewCommandUsageError(cmd, "--base-url: must be a URL such as https://api.example.com")
		}
		return u.login(cmd, where)
	}
	return cmd
}

func (u *userCommands) login(cmd *cobra.Command, base string) error {
	key, err := u.readKey()
	if err != nil {
		return err
	}
	file, err := loginFile()
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
	holder, err := remote.keyRecord(cmd.Context())
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
	result := loginResult{BaseURL: base, CompanyID: company, File: file}
	if holder != nil {
		result.KeyID = &holder.ID
	}
	return u.Print(result, "company  %s\nkey      %s\nfile     %s", company, terminal.FormatText(result.KeyID), file)
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

// logoutResult is the result of logout.
type logoutResult struct {
	Removed bool   `json:"removed"`
	File    string `json:"file"`
}

func (u *userCommands) logoutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout", Short: "Remove the key of `workspace login`", Args: terminal.RequireArgs(),
		Long: `Remove the file in which "workspace login" stored a key. The key itself keeps working:
revoke it with "workspace key revoke".`,
		Example: "  workspace logout",
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		file, err := loginFile()
		if err != nil {
			return err
		}
		err = os.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			return u.Print(logoutResult{false, file}, "no key is stored")
		}
		if err != nil {
			return fmt.Errorf("remove the key: %w", err)
		}
		return u.Print(logoutResult{true, file}, "removed %s", file)
	}
	return cmd
}
