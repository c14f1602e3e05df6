package user

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
)

// profileVariable is the environment variable that selects a profile.
const profileVariable = "WORKSPACE_PROFILE"

// defaultProfile is the name of the profile that `login` writes without --as.
const defaultProfile = "default"

// profileNamePattern matches the name of a profile, or of an agent. The name is part of a file name.
var profileNamePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const profileNameCharsMax = 40

// profileName is the value of a flag that names a profile.
type profileName string

func (n *profileName) String() string { return string(*n) }

func (*profileName) Type() string { return "name" }

func (n *profileName) Set(text string) error {
	if !profileNamePattern.MatchString(text) || len(text) > profileNameCharsMax {
		return fmt.Errorf("must be a name such as prod or client-2, of lower-case letters, digits and hyphens, with at most %d characters", profileNameCharsMax)
	}
	*n = profileName(text)
	return nil
}

// profileNames is the value of a flag that names one profile or more, separated by commas.
type profileNames []profileName

func (n *profileNames) String() string {
	text := make([]string, len(*n))
	for i, name := range *n {
		text[i] = string(name)
	}
	return strings.Join(text, ",")
}

func (*profileNames) Type() string { return "names" }

func (n *profileNames) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		var name profileName
		if err := name.Set(part); err != nil {
			return err
		}
		if slices.Contains(*n, name) {
			return fmt.Errorf("names %s twice", name)
		}
		*n = append(*n, name)
	}
	return nil
}

// selectProfile returns the name of the profile that a command uses: the flag's value, the value of
// WORKSPACE_PROFILE, or the default.
func selectProfile(flag profileName) (name string, err error) {
	if flag != "" {
		return string(flag), nil
	}
	if text := os.Getenv(profileVariable); text != "" {
		if err := flag.Set(text); err != nil {
			return "", terminal.NewUsageError("%s: %s", profileVariable, err)
		}
	}
	return cmp.Or(string(flag), defaultProfile), nil
}

// settingsFolder returns the folder in which the program stores the user's keys.
func settingsFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("your settings folder is unknown: set %s: %w", keyVariable, err)
	}
	return filepath.Join(dir, "growth-workspace"), nil
}

// profileFile returns the path of the file in which `login` stores the key of a profile.
func profileFile(name string) (string, error) {
	dir, err := settingsFolder()
	switch {
	case err != nil:
		return "", err
	case name == defaultProfile:
		return filepath.Join(dir, "login.json"), nil
	}
	return filepath.Join(dir, "profiles", name+".json"), nil
}

// readProfile returns the credential that `login` stored in a profile. Its key is empty if there is
// none.
func readProfile(name string) (c credential, err error) {
	file, err := profileFile(name)
	if err != nil {
		return c, nil // without a settings folder, `login` cannot have stored a key
	}
	_, err = secretfile.Read(file, &c)
	c.profile, c.source = name, "the key of `workspace login`"
	if name != defaultProfile {
		c.source = "the key of the profile " + name
	}
	return c, err
}

// listProfileNames returns the names of the profiles that have a file, the default first.
func listProfileNames() ([]string, error) {
	dir, err := settingsFolder()
	if err != nil {
		return nil, err
	}
	var out []string
	if _, err := os.Stat(filepath.Join(dir, "login.json")); err == nil {
		out = append(out, defaultProfile)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "profiles")) // sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the profiles: %w", err)
	}
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		if isJSON && name != defaultProfile && profileNamePattern.MatchString(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// noProfileError returns the error for a profile that does not exist. It lists the existing
// profiles.
func noProfileError(name string) error {
	names, err := listProfileNames()
	if err != nil {
		return err
	}
	stored := "none"
	if len(names) > 0 {
		stored = strings.Join(names, ", ")
	}
	return fmt.Errorf("there is no profile %s (stored profiles: %s)", name, stored)
}

// profilesOf returns the names of the profiles whose key is for a service. It ignores the files
// that it cannot read, because it only helps to make a suggestion.
func profilesOf(baseURL string) (out []string) {
	names, _ := listProfileNames()
	for _, name := range names {
		if c, err := readProfile(name); err == nil && c.BaseURL == baseURL {
			out = append(out, name)
		}
	}
	return out
}

// namedProfile returns the name of the credential's profile. It returns "" for the default profile
// and for a key from elsewhere.
func (c credential) namedProfile() string {
	if c.profile == defaultProfile {
		return ""
	}
	return c.profile
}

// profileArgument returns the argument, preceded by a space, with which another command uses the
// same profile. It is empty if there is no named profile.
func (c credential) profileArgument(flag string) string {
	if c.namedProfile() == "" {
		return ""
	}
	return " " + flag + " " + c.profile
}

// CompleteProfiles makes the shell complete the names of profiles, for every flag of cmd and its
// subcommands that takes the name of a profile.
func CompleteProfiles(cmd *cobra.Command) {
	names := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, _ := listProfileNames() // a completion cannot show an error
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	complete := func(f *pflag.Flag) {
		switch f.Value.(type) {
		case *profileName, *profileNames:
			completeFlag(cmd, f.Name, names)
		}
	}
	cmd.Flags().VisitAll(complete)
	cmd.PersistentFlags().VisitAll(complete)
	for _, child := range cmd.Commands() {
		CompleteProfiles(child)
	}
}

// listedProfile is a profile in the output of `workspace profiles`.
type listedProfile struct {
	Name      string  `json:"name"`
	BaseURL   *string `json:"baseUrl"`   // null if the file cannot be read
	CompanyID *string `json:"companyId"` // null if the key does not contain it
	Selected  bool    `json:"selected"`  // whether commands without --profile use it
	Problem   *string `json:"problem"`   // why the file cannot be read; null if it can
	File      string  `json:"file"`
}

func (u *userCommands) profilesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "profiles", Short: "List the keys that `workspace login` has stored", Args: terminal.RequireArgs(),
		Long: `List the profiles: the keys that "workspace login" has stored on this machine, each with its
service and its company. It sends no request and prints no key.

A star marks the profile that commands use without --profile: that of WORKSPACE_PROFILE, or
"default", which "workspace login" writes without --as.`,
		Example: "  workspace profiles\n  workspace profiles --json",
	}
	cmd.RunE = func(*cobra.Command, []string) error { return u.listProfiles() }
	return cmd
}

func (u *userCommands) listProfiles() error {
	selected, err := selectProfile("")
	if err != nil {
		return err
	}
	names, err := listProfileNames()
	if err != nil {
		return err
	}
	items := []listedProfile{}
	for _, name := range names {
		p := listedProfile{Name: name, Selected: name == selected}
		if p.File, err = profileFile(name); err != nil {
			return err
		}
		c, err := readProfile(name)
		if err != nil {
			text := err.Error()
			p.Problem = &text
		} else {
			p.BaseURL = &c.BaseURL
		}
		if token, err := auth.Parse(c.Key); err == nil {
			p.CompanyID = &token.CompanyID
		}
		items = append(items, p)
	}
	err = terminal.PrintList(u.Terminal, terminal.ItemList[listedProfile]{Items: items}, items,
		fmt.Sprintf("no profiles yet: store a key with `%s`", u.Command("login")), "\tNAME\tSERVICE\tCOMPANY",
		func(p listedProfile) []string {
			mark := ""
			if p.Selected {
				mark = "*"
			}
			return []string{mark, p.Name, terminal.FormatText(p.BaseURL), terminal.FormatText(p.CompanyID)}
		})
	if err != nil {
		return err
	}
	for _, p := range items {
		if p.Problem != nil {
			u.Note("\n%s", *p.Problem)
		}
	}
	if !slices.Contains(names, selected) && selected != defaultProfile {
		u.Note("\n%s selects %s, which is not stored.", profileVariable, selected)
	}
	if base := trimURL(os.Getenv(urlVariable)); base != "" && slices.ContainsFunc(items, func(p listedProfile) bool { return p.Selected && p.BaseURL != nil && *p.BaseURL != base }) {
		u.Note("\n%s is set: commands call %s, and do not use the key of %s without --profile.", urlVariable, base, selected)
	}
	if os.Getenv(keyVariable) != "" {
		u.Note("\n%s is set: commands use its key, unless --profile names a profile.", keyVariable)
	}
	return nil
}
