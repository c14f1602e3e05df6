package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// apiCommand holds a command for each declared operation: what an operation takes, its command takes.
func (a *app) apiCommand() *cobra.Command {
	var where remote
	cmd := &cobra.Command{
		Use: "api OPERATION [--field value ...]", Short: "Call an operation of the API",
		Long: `Call an operation of the API, of the local server or of any other. Without an
operation it lists them all.

The key is that of WORKSPACE_KEY, else the one of "workspace login", else, of a server
on this machine, that of the demo company. It is never an argument. Where the server
is: --base-url, WORKSPACE_URL, the login's, or ` + defaultBaseURL + `.

A field is a flag: itemId is --item-id. Ids of a path may also be arguments, in the
path's order. A list is a flag that is repeated, or a JSON array. --input FILE sends a
JSON body from a file, or from standard input with "-".

The answer is a table or a list of fields for people; with --json it is what the
service answered. --all follows the pages of a list.

  workspace completion bash | zsh | fish     completes operations, fields, values`,
		Example: `  workspace api list_feedback --reply-status needs_review
  workspace api get_plan_item itm_... --json
  workspace api create_broadcast_post --platform x --body "It is out." --hashtags launch --hashtags ios
  workspace api list_metric_points --metric-key growth.signups --from 2026-08-01 --all --json
  workspace api push_metric_points --input points.json`,
	}
	where.flags(cmd.PersistentFlags())
	for _, area := range functions.All() {
		cmd.AddGroup(&cobra.Group{ID: area.Name, Title: area.Name + ":"})
		for _, op := range area.Operations(nil) {
			cmd.AddCommand(a.operationCommand(&where, area.Name, op))
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			cmd.SuggestionsMinimumDistance = nearDistance
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return misuse(cmd, "no operation %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return misuse(cmd, "no operation %q; `workspace api` lists them", args[0])
		}
		return nil
	}
	// What is wrong is the operation, not the flags that would have been its own.
	cmd.FParseErrWhitelist = cobra.FParseErrWhitelist{UnknownFlags: true}
	cmd.RunE = func(*cobra.Command, []string) error { return a.listOperations() }
	return cmd
}

type listedOperation struct {
	ID      string `json:"id"`
	Area    string `json:"area"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Scope   string `json:"scope"` // empty: any key
	Summary string `json:"summary"`
}

func (a *app) listOperations() error {
	var all []listedOperation
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			all = append(all, listedOperation{op.ID, area.Name, op.Method, op.Path, string(op.Scope), op.Summary})
		}
	}
	if a.json {
		return a.printJSON(a.out, list[listedOperation]{all})
	}
	w, area := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0), ""
	for _, op := range all {
		if op.Area != area {
			if area != "" {
				fmt.Fprintln(w)
			}
			area = op.Area
			fmt.Fprintln(w, area)
		}
		fmt.Fprintf(w, "  %s\t%s\n", op.ID, op.Summary)
	}
	fmt.Fprintln(w, "\n`workspace api OPERATION --help` tells what an operation takes.")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the operations: %w", err)
	}
	return nil
}

func (a *app) operationCommand(where *remote, area string, op api.Operation) *cobra.Command {
	c := &operationCall{Operation: op, fields: map[string]*fieldFlag{}}
	cmd := &cobra.Command{
		Use: strings.Join(append([]string{op.ID}, c.positions()...), " "), Short: op.Summary, GroupID: area,
		Aliases: []string{strings.ReplaceAll(op.ID, "_", "-")},
		Long:    helpOf(op), Example: exampleOf(op),
		Args:              cobra.ArbitraryArgs, // counted when the flags are known
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(kebab(name))
	})
	c.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.take(cmd, args); err != nil {
			return err
		}
		if err := c.readInput(a.in); err != nil {
			return err
		}
		remote, err := a.connect(*where)
		if err != nil {
			return err
		}
		return c.explain(a.callOperation(cmd.Context(), remote, c), remote)
	}
	return cmd
}

// helpOf tells what a caller must know.
func helpOf(op api.Operation) string {
	text := op.Summary + "."
	if op.Description != "" {
		text += "\n\n" + wrap(strings.ReplaceAll(op.Description, "`", ""), 84)
	}
	scope := "any valid key"
	if op.Scope != "" {
		scope = "scope " + string(op.Scope)
	}
	return text + fmt.Sprintf("\n\n%s %s, %s", op.Method, op.Path, scope)
}

// position spells boardId as BOARD_ID.
func position(f schema.Field) string {
	return strings.ToUpper(strings.ReplaceAll(kebab(f.Name), "-", "_"))
}

func (c *operationCall) positions() (out []string) {
	for _, f := range c.Input {
		if f.In == schema.InPath {
			out = append(out, position(f))
		}
	}
	return out
}

// exampleOf is a line with what must be given.
func exampleOf(op api.Operation) string {
	line := "  workspace api " + op.ID
	for _, f := range op.Input {
		switch {
		case f.In == schema.InPath:
			line += " " + position(f)
		case f.Required:
			line += " --" + kebab(f.Name) + " " + sampleOf(f)
		}
	}
	return line
}

func sampleOf(f schema.Field) string {
	switch {
	case f.Fields != nil:
		return "'{...}'"
	case f.Enum != nil:
		return f.Enum[0]
	case f.Kind == schema.Boolean:
		return "true"
	}
	return "..."
}

// wrap breaks a text into lines.
func wrap(text string, width int) string {
	var out strings.Builder
	n := 0
	for word := range strings.FieldsSeq(text) {
		if n > 0 && n+1+len(word) > width {
			out.WriteByte('\n')
			n = 0
		} else if n > 0 {
			out.WriteByte(' ')
			n++
		}
		out.WriteString(word)
		n += len(word)
	}
	return out.String()
}

// callOperation makes the call and prints the answer.
func (a *app) callOperation(ctx context.Context, r connection, c *operationCall) error {
	if c.all {
		return a.printPages(ctx, r, c)
	}
	answer, err := r.client.Do(ctx, c.request(), c.options()...)
	if err != nil {
		return err
	}
	next := ""
	if c.IsList() {
		if next, err = answer.Next(); err != nil {
			return err
		}
	}
	if err := a.printAnswer(c, answer.Body, next); err != nil {
		return err
	}
	if tag := answer.ETag(); tag != "" {
		a.note("\nETag %s, for --if-match", tag)
	}
	return nil
}
