package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"growthworkspace/infra"
)

// options holds the values of the flags.
type options struct {
	stack, region, profile string
	table, arch            string
	parameters             settings
	diff, planOnly         bool
	destroy, confirmed     bool
	adoptTable             bool
	synthDir               string
	sam                    *samOptions   // the flags of the plan command; nil for other commands
	smoke                  *smokeOptions // the flags of the smoke command; nil for other commands
}

// setting is a parameter of the stack and its new value.
type setting struct{ name, value string }

type settings []setting

func (s *settings) String() string { return "" }

// Set adds a setting of the form NAME=VALUE, as flag.Value requires. It checks the value, because
// CloudFormation would reject it only after everything was built and uploaded.
func (s *settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("must be NAME=VALUE")
	}
	for _, p := range infra.New().Parameters {
		if p.Name == name {
			*s = append(*s, setting{name, value})
			return p.Check(value)
		}
	}
	var names []string
	for _, p := range infra.New().Parameters {
		names = append(names, p.Name)
	}
	return fmt.Errorf("there is no parameter %q; the parameters are %s", name, strings.Join(names, ", "))
}

var (
	errHelp          = errors.New("help was requested")
	stackNamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,99}$`)
)

const helpText = `usage: go run ./scripts/deploy [flags]

Builds the functions, prepares the account for the CDK if necessary, and
deploys or upgrades the stack. It prints what it is going to do and asks for
a confirmation. Credentials come from AWS's usual environment variables and
configuration. The command plan is for stacks that SAM deployed, and the command
smoke checks a deployed stack; see go run ./scripts/deploy plan --help, and
go run ./scripts/deploy smoke --help.

Flags:
`

func parseFlags(args []string, errOut io.Writer) (options, error) {
	if len(args) > 0 && args[0] == "plan" {
		return parsePlanFlags(args[1:], errOut)
	}
	if len(args) > 0 && args[0] == "smoke" {
		return parseSmokeFlags(args[1:], errOut)
	}
	o := options{}
	flags := flag.NewFlagSet("deploy", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // discard the message, because run prints the error
	o.addStackFlags(flags)
	flags.StringVar(&o.table, "table", "", "use this existing `table`, such as a restored one")
	flags.BoolVar(&o.adoptTable, "adopt", false, "make the existing table a resource of the stack, so that later changes of its indexes and\n"+
		"settings reach it")
	flags.StringVar(&o.arch, "arch", "", "arm64 or x86_64 (default: the deployed one; arm64 for a new stack)")
	flags.Var(&o.parameters, "param", "set a parameter of the stack, as `NAME=VALUE`; may be repeated. Other parameters keep\n"+
		"their deployed values; in a new stack they have their defaults")
	flags.BoolVar(&o.diff, "diff", false, "show what would change, and change nothing")
	flags.BoolVar(&o.planOnly, "plan", false, "show the steps, what they change in resources and permissions, and change nothing")
	flags.BoolVar(&o.destroy, "destroy", false, "delete the stack; the table stays")
	flags.BoolVar(&o.confirmed, "yes", false, "do not ask for a confirmation")
	flags.StringVar(&o.synthDir, "synth", "", "write the stack's template into this `folder`, without calling AWS")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, helpText)
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		fmt.Fprint(errOut, "\nParameters of the stack:\n")
		for _, p := range infra.New().Parameters {
			fmt.Fprintf(errOut, "  %s (default %q)\n    \t%s\n", p.Name, fmt.Sprint(p.Default), p.Description)
		}
		return o, errHelp
	case err != nil:
		return o, err
	}
	if err := o.checkArguments(flags); err != nil {
		return o, err
	}
	switch {
	case countTrue(o.diff, o.planOnly, o.destroy, o.synthDir != "") > 1:
		return o, errors.New("--diff, --plan, --destroy and --synth cannot be combined")
	case o.destroy && (o.table != "" || o.arch != "" || len(o.parameters) > 0):
		return o, errors.New("--destroy deletes the stack as it is, so it cannot be combined with --table, --arch and --param")
	case o.adoptTable && (o.diff || o.planOnly || o.destroy || o.synthDir != ""):
		return o, errors.New("--adopt changes the stack, so it cannot be combined with --diff, --plan, --destroy and --synth")
	}
	if o.arch == "amd64" { // the name that Go uses for x86_64
		o.arch = "x86_64"
	}
	for flagName, s := range map[string]setting{"--table": {infra.ParamTable, o.table}, "--arch": {infra.ParamArchitecture, o.arch}} {
		if s.value == "" {
			continue
		}
		if err := o.parameters.Set(s.name + "=" + s.value); err != nil {
			return o, fmt.Errorf("%s: %w", flagName, err)
		}
	}
	return o, nil
}

// addStackFlags adds the flags that every command has.
func (o *options) addStackFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.stack, "stack", "growth-workspace", "the `name` of the stack")
	flags.StringVar(&o.region, "region", "", "the AWS `region` (default: that of the environment or the profile)")
	flags.StringVar(&o.profile, "profile", "", "the `profile` of AWS's configuration")
}

// checkArguments returns an error for an argument that is not a flag, and for a stack name that AWS
// does not allow.
func (o *options) checkArguments(flags *flag.FlagSet) error {
	if command := flags.Arg(0); o.sam == nil && o.smoke == nil && (command == "plan" || command == "smoke") {
		return fmt.Errorf("the command %[1]s must come before the flags: go run ./scripts/deploy %[1]s", command)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if !stackNamePattern.MatchString(o.stack) {
		return fmt.Errorf("--stack %q: must be a letter, then letters, digits and hyphens", o.stack)
	}
	return nil
}

func countTrue(values ...bool) (n int) {
	for _, v := range values {
		if v {
			n++
		}
	}
	return n
}

// with returns a copy of s in which the parameter has the given value.
func (s settings) with(name, value string) settings {
	return append(s.without(name), setting{name, value})
}

// without returns a copy of s without the given parameters.
func (s settings) without(names ...string) settings {
	return slices.DeleteFunc(slices.Clone(s), func(x setting) bool { return slices.Contains(names, x.name) })
}

// lookup returns the value of a parameter in s, and reports whether there is one.
func (s settings) lookup(name string) (value string, ok bool) {
	for _, x := range s {
		if x.name == name {
			value, ok = x.value, true
		}
	}
	return value, ok
}
