package user

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// apiCommand returns a command with a subcommand for each declared operation. Each subcommand has a
// flag for each of the operation's fields.
func (u *userCommands) apiCommand() *cobra.Command {
	var service serviceFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use: "api OPERATION [--field value ...]", Short: "Call an operation of the API",
		Long: `Call an operation of the API, on the local server or any other. Without an operation,
list all operations.

The key is the first of: WORKSPACE_KEY, the key of "workspace login", and, at the address
at which "workspace serve" listened, the demo company's key. It is never an argument. The
server is the first of: --base-url, WORKSPACE_URL, the server of "workspace login", that
address, and ` + defaultBaseURL + `. --profile uses the key and the server of one login instead,
whatever the variables say.

Each field is a flag: itemId is --item-id. The ids of a path may also be arguments, in
the path's order. For a list, repeat the flag or give a JSON array. --clear FIELD
clears a field of an update. --input FILE sends the JSON body in a file, or from
standard input with "-". A flag whose value is JSON accepts @FILE and - likewise.

The response is printed as a table or a list of fields. A table has the columns that
fit; --fields a,b shows these fields whole, and --csv all of them. With --json the
response is printed as the service sent it, and with --include also its status, its
headers (ETag) and the cursor of the next page. --jq prints parts of the JSON.
--all fetches every page of a list. A delete asks first; in a script it needs
--yes. On a terminal, a write also says how to undo it.

  workspace completion bash | zsh | fish     completes operations, fields, values, ids`,
		Example: `  workspace api list_feedback --reply-status needs_review
  workspace api get_plan_item itm_... --json
  workspace api create_broadcast_post --platform x --body "It is out." --hashtags launch --hashtags ios
  workspace api list_feedback --all --fields postedAt,rating,body --csv > reviews.csv
  workspace api list_metric_points --metric-key growth.signups --from 2026-08-01 --all --jq '.items | length'
  workspace api push_metric_points --input points.json`,
	}
	service.register(cmd.PersistentFlags())
	output.register(cmd)
	u.table.RegisterDemo(cmd.PersistentFlags())
	for _, area := range functions.All() {
		cmd.AddGroup(&cobra.Group{ID: area.Name, Title: area.Name + ":"})
		for _, op := range area.Operations(nil) {
			cmd.AddCommand(u.operationCommand(&service, &output, area.Name, op))
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		near := cmp.Or(terminal.DidYouMean(cmd, args[0], ""), fmt.Sprintf("; `%s api` lists them", cmd.Root().DisplayName()))
		return terminal.NewCommandUsageError(cmd, "no operation %q%s", args[0], near)
	}
	// Ignore unknown flags, so that the error is about the unknown operation and not about its
	// flags.
	cmd.FParseErrWhitelist = cobra.FParseErrWhitelist{UnknownFlags: true}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output.isUsed() {
			return terminal.NewCommandUsageError(cmd, "name an operation: --fields, --csv, --jq and --include are for its response")
		}
		return u.listOperations()
	}
	return cmd
}

type listedOperation struct {
	ID      string `json:"id"`
	Area    string `json:"area"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Scope   string `json:"scope"` // empty if any key may call the operation
	Summary string `json:"summary"`
}

func (u *userCommands) listOperations() error {
	var all []listedOperation
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			all = append(all, listedOperation{op.ID, area.Name, op.Method, op.Path, string(op.Scope), op.Summary})
		}
	}
	var lines []string
	for i, op := range all {
		if i == 0 || op.Area != all[i-1].Area {
			lines = append(lines, "", op.Area)
		}
		lines = append(lines, "  "+op.ID+"\t"+op.Summary)
	}
	return u.Print(terminal.ItemList[listedOperation]{Items: all}, "%s\n`%s` shows the fields of an operation.",
		terminal.AlignColumns(lines[1:]), u.Command("api OPERATION --help"))
}

func (u *userCommands) operationCommand(service *serviceFlags, output *outputFlags, area string, op api.Operation) *cobra.Command {
	c := &operationCall{Operation: op, fields: map[string]*fieldFlag{}}
	cmd := &cobra.Command{
		Use: strings.Join(append([]string{op.ID}, c.argumentNames()...), " "), Short: op.Summary, GroupID: area,
		Aliases: []string{strings.ReplaceAll(op.ID, "_", "-")},
		Long:    helpOf(op), Example: exampleOf(op),
		Args: cobra.ArbitraryArgs, // setArguments counts them
	}
	cmd.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(kebabCase(name))
	})
	c.addFlags(cmd)
	u.addCompletions(cmd, service, c)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.setArguments(cmd, args); err != nil {
			return err
		}
		format, err := c.formatOf(cmd, *output, u.JSON)
		if err != nil {
			return err
		}
		if err := c.readInput(cmd, u.In); err != nil {
			return err
		}
		if err := c.requireYes(cmd, u.Terminal); err != nil {
			return err
		}
		remote, err := u.connect(*service)
		if err != nil {
			return err
		}
		if err := c.confirm(u.Terminal, remote); err != nil {
			return err
		}
		return c.explainError(u, u.callOperation(cmd, remote, c, format), remote)
	}
	return cmd
}

func helpOf(op api.Operation) string {
	text := op.Summary + "."
	if op.Description != "" {
		text += "\n\n" + wrapText(strings.ReplaceAll(op.Description, "`", ""), 84)
	}
	scope := "any valid key"
	if op.Scope != "" {
		scope = "scope " + string(op.Scope)
	}
	if op.DraftScope != "" {
		scope += ", for a draft " + string(op.DraftScope)
	}
	return text + objectFieldsHelp(op) + responseFieldsHelp(op) + fmt.Sprintf("\n\n%s %s, %s", op.Method, op.Path, scope)
}

// responseFieldsHelp lists the fields of the response, which are the values that --fields accepts.
func responseFieldsHelp(op api.Operation) string {
	what := "The fields of the response"
	if op.IsList() {
		what = "The fields of each record"
	}
	return "\n\n" + wrapText(what+", for --fields: "+strings.Join(namesOf(recordFields(op.Record())), ", ")+".", 84)
}

// objectFieldsHelp describes the fields of the objects that an operation's flags accept as JSON.
func objectFieldsHelp(op api.Operation) (text string) {
	for _, f := range op.Input {
		if f.Fields == nil {
			continue
		}
		var lines []string
		for _, inner := range f.Fields {
			lines = append(lines, "  "+inner.Name+"\t"+string(inner.Kind)+"\t"+usageOf(inner))
		}
		text += fmt.Sprintf("\n\nThe fields of an object of --%s:\n\n%s", kebabCase(f.Name), strings.TrimRight(terminal.AlignColumns(lines), "\n"))
	}
	return text
}

// argumentName turns boardId into BOARD_ID.
func argumentName(f schema.Field) string {
	return strings.ToUpper(strings.ReplaceAll(kebabCase(f.Name), "-", "_"))
}

func (c *operationCall) argumentNames() (out []string) {
	for _, f := range c.Input {
		if f.In == schema.InPath {
			out = append(out, argumentName(f))
		}
	}
	return out
}

// exampleOf returns a command line with the required fields.
func exampleOf(op api.Operation) string {
	line := "  workspace api " + op.ID
	for _, f := range op.Input {
		switch {
		case f.In == schema.InPath:
			line += " " + argumentName(f)
		case f.Required:
			line += " --" + kebabCase(f.Name) + " " + sampleValue(f)
		}
	}
	return line
}

func sampleValue(f schema.Field) string {
	switch {
	case f.Fields != nil:
		return "'" + sampleObject(f) + "'"
	case f.Enum != nil:
		return f.Enum[0]
	case f.Kind == schema.Boolean:
		return "true"
	}
	return "..."
}

// sampleObject returns a JSON object with the required fields.
func sampleObject(f schema.Field) string {
	var parts []string
	for _, inner := range f.Fields {
		if !inner.Required {
			continue
		}
		sample := sampleValue(inner)
		if inner.Kind == schema.Number || inner.Kind == schema.Integer {
			sample = "0"
		} else if inner.Kind != schema.Boolean {
			sample = `"` + sample + `"`
		}
		parts = append(parts, fmt.Sprintf("%q:%s", inner.Name, sample))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wrapText breaks text into lines.
func wrapText(text string, width int) string {
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

// callOperation calls the operation and prints the response.
func (u *userCommands) callOperation(cmd *cobra.Command, r connection, c *operationCall, format responseFormat) error {
	ctx := cmd.Context()
	if c.allPages {
		body, err := readPages(ctx, r, c)
		if err != nil {
			return err
		}
		return u.printResponse(ctx, c, client.Response{Body: body}, "", format)
	}
	undo := u.prepareUndo(ctx, cmd, r, c, format)
	response, err := r.client.Do(ctx, c.request(), c.options()...)
	if err == nil {
		err = checkIsJSON(response.Body)
	}
	if err != nil {
		return err
	}
	next := ""
	if c.IsList() {
		if next, err = response.Next(); err != nil {
			return err
		}
	}
	if err := u.printResponse(ctx, c, response, next, format); err != nil {
		if c.Effect != api.Read { // say that the change was made, because the user must not repeat the command
			err = fmt.Errorf("the change was made, but its response cannot be printed: %w", err)
		}
		return err
	}
	if format.isJSON {
		return nil
	}
	if c.Method == http.MethodDelete && response.HasMore() {
		u.Note("\nmore remains: repeat the command")
	}
	if tag := response.ETag(); tag != "" {
		u.Note("\nETag %s, for --if-match", tag)
	}
	if hint := undo.text(u, response.Body); hint != "" {
		u.Note("\n%s", hint)
	}
	return nil
}
