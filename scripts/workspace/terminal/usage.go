package terminal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewCommandUsageError is like NewUsageError, with a reference to the command's help.
func NewCommandUsageError(cmd *cobra.Command, format string, args ...any) error {
	return NewUsageError("%s (see `%s --help`)", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// DidYouMean returns a sentence that suggests subcommands with a similar name, or "" if there are
// none.
func DidYouMean(cmd *cobra.Command, name, prefix string) string {
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// flagSynonyms maps a name that users try by mistake to the flags that they probably mean. A flag
// is suggested only if the command has it.
var flagSynonyms = map[string]string{
	"port": "addr", "host": "addr", "listen": "addr", "address": "addr", "bind": "addr", "url": "base-url", "server": "base-url",
	"columns": "fields", "select": "fields", "filter": "jq", "query": "jq", "headers": "include",
	"output": "json", "format": "json", "force": "yes", "body": "input", "file": "input", "dir": "data", "folder": "data", "db": "data",
	"scope": "scopes", "ttl": "expires", "as": "profile", "profile": "as",
}

// SuggestFlags is a function to pass to cobra.Command.SetFlagErrorFunc. It suggests flags with a
// similar name, or with the same meaning.
func SuggestFlags(cmd *cobra.Command, err error) error {
	near := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		suggester := &cobra.Command{}
		add := func(f *pflag.Flag) {
			suggester.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		near = DidYouMean(suggester, unknown.GetSpecifiedName(), "--")
		if name := flagSynonyms[unknown.GetSpecifiedName()]; name != "" && cmd.Flag(name) != nil {
			near = "; did you mean --" + name + "?"
		}
	}
	return NewCommandUsageError(cmd, "%s%s", err, near)
}

// AsUsageError replaces cobra's error for an unknown command with a usage error. It returns any
// other error unchanged.
func AsUsageError(root *cobra.Command, err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "unknown command \"")
	var exitErr *exitError
	if !ok || errors.As(err, &exitErr) {
		return err
	}
	name, _, _ := strings.Cut(rest, `"`)
	return unknownCommandError(root, name)
}

func unknownCommandError(cmd *cobra.Command, name string) error {
	return NewCommandUsageError(cmd, "unknown command %q%s", name, DidYouMean(cmd, name, ""))
}

// RequireCommand validates the arguments of a command that only has subcommands. It returns an
// error for any argument, because the argument must be a mistyped subcommand.
func RequireCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommandError(cmd, args[0])
	}
	return nil
}

// childNames is the key of the annotation that lists the names of a command's children, in the
// order in which they were added.
const childNames = "children"

// AddCommands adds the children to a command that does nothing itself. It can be called again with
// more children.
func AddCommands(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	names := strings.Fields(cmd.Annotations[childNames])
	for _, c := range children {
		names = append(names, c.Name())
	}
	cmd.Annotations = map[string]string{childNames: strings.Join(names, " ")}
	// Ignore unknown flags, so that the error is about the missing or mistyped subcommand and not
	// about its flags.
	cmd.FParseErrWhitelist = cobra.FParseErrWhitelist{UnknownFlags: true}
	cmd.Args = RequireCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return NewCommandUsageError(cmd, "name a command: %s", strings.Join(names, ", "))
	}
	return cmd
}

// RequireArgs requires one argument for each name; names in brackets are optional.
func RequireArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && !strings.HasPrefix(name, "[") {
				return NewCommandUsageError(cmd, "name the %s: %s", name, cmd.UseLine())
			}
		}
		if len(args) > len(names) {
			return NewCommandUsageError(cmd, "too many arguments, starting with %q", args[len(names)])
		}
		return nil
	}
}
