package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// app is one call of the command line: its streams and the flags that all commands share.
type app struct {
	in     io.Reader
	out    io.Writer // what was asked for, and with --json one object and nothing else
	errOut io.Writer // notes, progress, logs and errors
	json   bool
	place  place
	now    func() time.Time
}

// run is the whole program: it returns the exit code, 0, 1 for a failure, 2 for wrong usage or 3 where a record's state
// refuses what was asked for.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, errOut: errOut, now: time.Now}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	err = unknownCommand(root, err)
	// A flag that does not parse stops the parser before it gets to --json.
	if a.json || slices.Contains(args, "--json") {
		text, _ := json.Marshal(detailOf(err)) // of texts and numbers, it cannot fail
		fmt.Fprintf(errOut, "%s\n", text)
	} else {
		fmt.Fprintf(errOut, "workspace: %s\n", err)
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	var state *stateError
	if errors.As(err, &state) {
		return 3
	}
	return 1
}

// detailOf is an error as JSON: its text, and what else is known of it.
func detailOf(err error) any {
	var known interface{ detail() any }
	if errors.As(err, &known) {
		return known.detail()
	}
	return map[string]string{"error": err.Error()}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "workspace",
		Short: "Run the Company Growth Workspace on this machine, and operate it anywhere",
		Long: `Run the Company Growth Workspace API on this machine, and operate it anywhere.

Two minutes from nothing to an answer:

  1. go run ./scripts/workspace serve
     starts a local engine and a demo company, and prints a key and a curl line
  2. paste that line into another terminal

Then a company of your own:

  3. workspace company create --name "Northwind Notes"
  4. workspace key issue --company co_... --scopes all
  5. workspace import --company co_... records.jsonl

The API itself, of this machine or any other: workspace api calls its operations,
workspace doctor says whether it can be called from here, workspace check holds an
implementation to the contract.

Where the data is: in your user's data folder, or where --data says; a running
serve and the other commands share it. --table NAME goes to DynamoDB instead,
with AWS's usual environment; --endpoint URL to any engine that speaks its
protocol.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // ours are in one line: see unknownCommand
		CompletionOptions:  cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print one JSON object, and errors as JSON")
	a.place.flags(flags)
	root.AddCommand(a.serveCommand(), a.companyCommand(), a.keyCommand(), a.importCommand(), a.exportCommand(),
		a.dueCommand(), a.approvedCommand(), a.snapshotCommand(), a.apiCommand(), a.loginCommand(), a.logoutCommand(),
		a.doctorCommand(), a.checkCommand())
	return root
}

// print shows the result of a command: as JSON, or as text for a person.
func (a *app) print(result any, text string, args ...any) error {
	if a.json {
		return a.printJSON(a.out, result)
	}
	if _, err := fmt.Fprintf(a.out, strings.TrimSuffix(text, "\n")+"\n", args...); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

func (a *app) printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// note tells a person what is going on. With --json it is quiet.
func (a *app) note(format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.errOut, format+"\n", args...)
	}
}

// list is how every list is printed as JSON.
type list[T any] struct {
	Items []T `json:"items"`
}
