// Command workspace runs the service on this machine, calls its API, and operates its companies,
// keys and records: `go run ./scripts/workspace --help`.
//
// The packages user, operator and serve implement the commands. They use tableconn, which opens the
// table; jsonl, which imports and exports records; convert, which reads the files of other
// programs; follow, program and webhook, which deliver changes; bridge and mcpclient, which connect
// agents; secretfile, which stores keys; and terminal, which prints output. Package demo creates
// the company that `serve` starts with.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/operator"
	"growthworkspace/scripts/workspace/send"
	"growthworkspace/scripts/workspace/serve"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/localdb"
)

func main() {
	localdb.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal shuts down gracefully. A second signal ends the process immediately.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, terminal.ProgramCommand(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs a command line and returns the exit code: 0 for success, 1 for a failure or a finding, 2
// for wrong usage, 3 if the state of a record does not allow the change, or 4 if it is unknown
// whether there is a finding. program is the command with which the user started this program.
func run(ctx context.Context, program string, args []string, in io.Reader, out, errOut io.Writer) int {
	t := &terminal.Terminal{In: in, Out: out, Err: errOut, Interactive: terminal.IsTerminal(in), Now: time.Now, Program: program}
	root := rootCommand(t)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// An invalid flag stops the parser, possibly before it reaches --json.
	t.JSON = t.JSON || slices.Contains(args, "--json")
	return t.Fail(terminal.AsUsageError(root, err))
}

func rootCommand(t *terminal.Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "workspace",
		Short: "Run the Company Growth Workspace on this machine, and operate it anywhere",
		Long: `Run the Company Growth Workspace API on this machine, and operate it anywhere.

Two minutes to a first response:

  1. workspace serve
     starts a local engine and a demo company, and prints a key and a curl line
  2. paste that line into another terminal

Then a company of your own:

  3. workspace company create --name "Northwind Notes"
  4. workspace key issue --company co_... --scopes all
  5. WORKSPACE_KEY=... workspace api create_plan_board --name Roadmap

To use the API, on this machine or elsewhere: api calls its operations, mcp connects an
agent, doctor checks that it can be called from here, and check tests whether an
implementation follows the contract.

The data is in your user's data folder, or in the folder of --data. A running serve
and the other commands share it. --table NAME uses a table in DynamoDB instead, with
AWS's usual environment variables. --endpoint URL uses any engine that speaks
DynamoDB's protocol.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // terminal.AsUsageError writes these suggestions on one line instead
	}
	root.SetFlagErrorFunc(terminal.SuggestFlags)
	flags := root.PersistentFlags()
	flags.BoolVar(&t.JSON, "json", false, "print one JSON object, and errors as JSON")
	var table tableconn.Flags
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, c := range commands {
			c.GroupID = title
			root.AddCommand(c)
		}
	}
	users, developers := user.Commands(t, &table)
	users = append(users, send.Commands(t, &table)...)
	operators, server, changes := operator.Commands(t, &table), serve.Command(t, &table), operator.ChangesCommands(t, &table)
	for _, c := range slices.Concat(operators, changes, []*cobra.Command{server}) {
		table.Register(c.PersistentFlags())
	}
	changesIndex := slices.IndexFunc(users, func(c *cobra.Command) bool { return c.Name() == "changes" })
	terminal.AddCommands(users[changesIndex], changes...)
	add("For users of the API", users...)
	add("For operators", operators...)
	add("For developers", append(developers, server)...)
	add("About this program", versionCommand(t, root))
	root.SetHelpCommandGroupID("About this program")
	root.SetCompletionCommandGroupID("About this program")
	user.CompleteProfiles(root)
	t.NameProgram(root)
	return root
}
