package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError says that the command line itself is wrong: exit code 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// misuse returns a usageError that ends in where to read on.
func misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...) + fmt.Sprintf(" (see `%s --help`)", cmd.CommandPath())}
}

// nearDistance is how many letters a name may be off to be suggested.
const nearDistance = 2

func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			return misuse(cmd, "%s; did you mean --%s?", err, near)
		}
	}
	return misuse(cmd, "%s", err)
}

func nearFlag(cmd *cobra.Command, name string) (near string) {
	best := nearDistance + 1
	visit := func(f *pflag.Flag) {
		d := distance(name, f.Name)
		if strings.HasPrefix(f.Name, name) && len(name) > 1 {
			d = min(d, nearDistance)
		}
		if d < best {
			near, best = f.Name, d
		}
	}
	cmd.LocalFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	return near
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// unknownCommand turns cobra's refusal of a command into ours. Every other error stays what it is.
func unknownCommand(root *cobra.Command, err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "unknown command \"")
	var known *usageError
	if !ok || errors.As(err, &known) {
		return err
	}
	name, _, _ := strings.Cut(rest, `"`)
	return noCommand(root, name)
}

func noCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = nearDistance
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return misuse(cmd, "unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return misuse(cmd, "unknown command %q", name)
}

// group makes a command whose only use is to hold others.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	// What is wrong is the missing command, not the flags that would have been its own.
	cmd.FParseErrWhitelist = cobra.FParseErrWhitelist{UnknownFlags: true}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		names := make([]string, len(children))
		for i, c := range children {
			names[i] = c.Name()
		}
		return misuse(cmd, "name a command: %s", strings.Join(names, ", "))
	}
	return cmd
}

// takes requires one argument for each name; names in brackets may be left out.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && !strings.HasPrefix(name, "[") {
				return misuse(cmd, "name the %s: %s", name, cmd.UseLine())
			}
		}
		if len(args) > len(names) {
			return misuse(cmd, "too many arguments, from %q on", args[len(names)])
		}
		return nil
	}
}
