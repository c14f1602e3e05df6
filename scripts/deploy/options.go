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
	planOnly, confirmed    bool
	synthDir, from         string        // folders with a cloud assembly, to write and to deploy
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
	var names []string
	for _, p := range infra.New().Parameters {
		if p.Name == name {
			*s = append(*s, setting{name, value})
			return p.Check(value)
		}
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
configuration. The command smoke checks a deployed stack; see
go run ./scripts/deploy smoke --help.

Flags:
`

func parseFlags(args []string, errOut io.Writer) (options, error) {
	if len(args) > 0 && args[0] == "smoke" {
		return parseSmokeFlags(args[1:], errOut)
	}
	o := options{}
	flags := flag.NewFlagSet("deploy", flag.ContinueOnError)
	o.addStackFlags(flags)
	flags.StringVar(&o.table, "table", "", "use this existing `table`, such as a restored one")
	flags.StringVar(&o.arch, "arch", "", "arm64 or x86_64 (default: the deployed one; arm64 for a new stack)")
	flags.Var(&o.parameters, "param", "set a parameter of the stack, as `NAME=VALUE`; may be repeated. Other parameters keep\n"+
		"their deployed values; in a new stack they have their defaults")
	flags.BoolVar(&o.planOnly, "plan", false, "show the steps, what they change in resources and permissions, and change nothing")
	flags.StringVar(&o.synthDir, "synth", "", "write the stack's template into this `folder`, without calling AWS")
	flags.StringVar(&o.from, "from", "", "deploy what --synth has written into this `folder`, and build nothing")
	err := o.parse(flags, args, errOut, helpText, func() {
		fmt.Fprint(errOut, "\nParameters of the stack:\n")
		for _, p := range infra.New().Parameters {
			fmt.Fprintf(errOut, "  %s (default %q)\n    \t%s\n", p.Name, fmt.Sprint(p.Default), p.Description)
		}
	})
	if err != nil {
		return o, err
	}
	if o.planOnly && o.synthDir != "" {
		return o, errors.New("--plan and --synth cannot be combined")
	}
	if o.from != "" && (o.synthDir != "" || o.arch != "") {
		return o, errors.New("--from cannot be combined with --synth or --arch: the folder has the builds of one architecture")
	}
	if o.arch == "amd64" { // the name that Go uses for x86_64
		o.arch = "x86_64"
	}
	for _, s := range [][3]string{{"--table", infra.ParamTable, o.table}, {"--arch", infra.ParamArchitecture, o.arch}} {
		if s[2] == "" {
			continue
		}
		if err := o.parameters.Set(s[1] + "=" + s[2]); err != nil {
			return o, fmt.Errorf("%s: %w", s[0], err)
		}
	}
	return o, nil
}

// addStackFlags adds the flags that every command has.
func (o *options) addStackFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.stack, "stack", "growth-workspace", "the `name` of the stack")
	flags.StringVar(&o.region, "region", "", "the AWS `region` (default: that of the environment or the profile)")
	flags.StringVar(&o.profile, "profile", "", "the `profile` of AWS's configuration")
	flags.BoolVar(&o.confirmed, "yes", false, "do not ask for a confirmation")
}

// parse parses the arguments of a command. If they request help, parse prints it and returns
// errHelp. It returns an error for an argument that is not a flag, and for a stack name that AWS
// does not allow.
func (o *options) parse(flags *flag.FlagSet, args []string, errOut io.Writer, help string, printMore func()) error {
	flags.SetOutput(io.Discard) // discard the message, because run prints the error
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(errOut, help)
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		printMore()
		return errHelp
	case err != nil:
		return err
	case o.smoke == nil && flags.Arg(0) == "smoke":
		return errors.New("the command smoke must come before the flags: go run ./scripts/deploy smoke")
	case flags.NArg() > 0:
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	case !stackNamePattern.MatchString(o.stack):
		return fmt.Errorf("--stack %q: must be a letter, then letters, digits and hyphens", o.stack)
	}
	return nil
}

// with returns a copy of s in which the parameter has the given value.
func (s settings) with(name, value string) settings {
	return append(s.without(name), setting{name, value})
}

// without returns a copy of s without the given parameter.
func (s settings) without(name string) settings {
	return slices.DeleteFunc(slices.Clone(s), func(x setting) bool { return x.name == name })
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

// flags returns the settings as flags for the CDK.
func (s settings) flags(stack string) (out []string) {
	for _, p := range s {
		out = append(out, "--parameters", stack+":"+p.name+"="+p.value)
	}
	return out
}
