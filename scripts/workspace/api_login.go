package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"growthworkspace/shared/auth"
)

type loggedIn struct {
	BaseURL   string  `json:"baseUrl"`
	CompanyID string  `json:"companyId"`
	KeyID     *string `json:"keyId"` // null where the service does not say
	File      string  `json:"file"`
}

func (a *app) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "login [--base-url URL]", Short: "Keep a key for `workspace api`", Args: takes(),
		Long: `Read a secret key from standard input, try it, and keep it in a file of your settings
folder that you alone can read. It is then used for this base URL, and for no other.
WORKSPACE_KEY comes before it.`,
		Example: `  printf %s "$KEY" | workspace login --base-url https://api.example.com
  workspace login`,
	}
	base := cmd.Flags().String("base-url", "", "the service's `URL` (default: WORKSPACE_URL, or "+defaultBaseURL+")")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		where := strings.TrimRight(cmp.Or(*base, os.Getenv(urlVariable), defaultBaseURL), "/")
		if u, err := url.Parse(where); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return misuse(cmd, "--base-url: must be a URL such as https://api.example.com")
		}
		return a.login(cmd, where)
	}
	return cmd
}

func (a *app) login(cmd *cobra.Command, base string) error {
	key, err := a.readKey()
	if err != nil {
		return err
	}
	file, err := loginFile()
	if err != nil {
		return err
	}
	if overheard(base) {
		return fmt.Errorf("%s is not encrypted, so everybody on the way could read the key: use https", base)
	}
	c := credential{BaseURL: base, Key: key, source: "the key on standard input"}
	remote, err := a.connectWith(c, "")
	if err != nil {
		return err
	}
	holder, err := remote.holder(cmd.Context())
	if err != nil {
		return explainCall(err, remote)
	}
	company, err := remote.client.CompanyID(cmd.Context())
	if err != nil {
		return explainCall(err, remote)
	}
	if err := writePrivate(file, c); err != nil {
		return err
	}
	result := loggedIn{BaseURL: base, CompanyID: company, File: file}
	if holder != nil {
		result.KeyID = &holder.ID
	}
	return a.print(result, "company  %s\nkey      %s\nkept in  %s", company, shown(result.KeyID), file)
}

// readKey reads a key from standard input; from a terminal without showing it.
func (a *app) readKey() (string, error) {
	text := []byte(nil)
	err := error(nil)
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(a.errOut, "Key: ")
		text, err = term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.errOut)
	} else {
		text, err = io.ReadAll(io.LimitReader(a.in, secretBytesMax))
	}
	if err != nil {
		return "", fmt.Errorf("read the key from standard input: %w", err)
	}
	key := strings.TrimSpace(string(text))
	switch _, err := auth.Parse(key); {
	case key == "":
		return "", errors.New("no key on standard input: printf %s \"$KEY\" | workspace login")
	case errors.Is(err, auth.ErrPublishable):
		return "", errors.New("what is on standard input is a publishable key: it opens nothing here")
	}
	return key, nil // another implementation's keys may have another form: it says whether it knows this one
}

type loggedOut struct {
	Removed bool   `json:"removed"`
	File    string `json:"file"`
}

func (a *app) logoutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout", Short: "Forget the key of `workspace login`", Args: takes(),
		Long: `Remove the file in which "workspace login" keeps its key. The key itself works on:
"workspace key revoke" ends it.`,
		Example: "  workspace logout",
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		file, err := loginFile()
		if err != nil {
			return err
		}
		err = os.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			return a.print(loggedOut{false, file}, "no key is kept")
		}
		if err != nil {
			return fmt.Errorf("forget the key: %w", err)
		}
		return a.print(loggedOut{true, file}, "removed %s", file)
	}
	return cmd
}
