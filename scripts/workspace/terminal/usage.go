package terminal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Misuse is Usage, with the command whose help explains it.
func Misuse(cmd *cobra.Command, format string, args ...any) error {
	return Usage("%s (see `%s --help`)", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// DidYouMean suggests the subcommands with a similar name. Empty when there are none.
func DidYouMean(cmd *cobra.Command, name, prefix string) string {
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// FlagError is for cobra.Command.SetFlagErrorFunc: it suggests flags as cobra suggests commands.
func FlagError(cmd *cobra.Command, err error) error {
	near := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		flags := &cobra.Command{}
		add := func(f *pflag.Flag) {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		near = DidYouMean(flags, unknown.GetSpecifiedName(), "--")
	}
	return Misuse(cmd, "%s%s", err, near)
}

// UnknownCommand replaces cobra's error for an unknown command by one of ours, and returns any other as it is.
func UnknownCommand(root *cobra.Command, err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "unknown command \"")
	var ours *exitError
	if !ok || errors.As(err, &ours) {
		return err
	}
	name, _, _ := strings.Cut(rest, `"`)
	return noCommand(root, name)
}

func noCommand(cmd *cobra.Command, name string) error {
	return Misuse(cmd, "unknown command %q%s", name, DidYouMean(cmd, name, ""))
}

// NoCommand is for cobra.Command.Args of a command whose arguments could only be other commands.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noCommand(cmd, args[0])
	}
	return nil
}

// Group adds the children to a command that does nothing itself.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	// Report the missing command, not the flags that would have been its own.
	cmd.FParseErrWhitelist = cobra.FParseErrWhitelist{UnknownFlags: true}
	cmd.Args = NoCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		names := make([]string, len(children))
		for i, c := range children {
			names[i] = c.Name()
		}
		return Misuse(cmd, "name a command: %s", strings.Join(names, ", "))
	}
	return cmd
}

// Takes requires one argument for each name; names in brackets are optional.
func Takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && !strings.HasPrefix(name, "[") {
				return Misuse(cmd, "name the %s: %s", name, cmd.UseLine())
			}
		}
		if len(args) > len(names) {
			return Misuse(cmd, "too many arguments, from %q on", args[len(names)])
		}
		return nil
	}
}
