package user

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// Limits on the completion of ids. A person waits for the completion, and the shell shows its
// result.
const (
	completionTimeMax   = 2 * time.Second
	completedIDsMax     = 50
	completedParents    = 5 // boards whose items are listed if the command line does not name the board
	completedTitleChars = 50
)

// addCompletions adds completions for the arguments and the flags' values.
func (u *userCommands) addCompletions(cmd *cobra.Command, service *serviceFlags, c *operationCall) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		known, missing := c.pathValues(args)
		if len(missing) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return u.completeIDs(cmd.Context(), *service, c.Operation, missing[0], known, toComplete)
	}
	for _, f := range c.Input {
		values := f.Enum
		if f.Kind == schema.Boolean {
			values = []string{"true", "false"}
		}
		complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		if f.Enum == nil && f.Kind == schema.String {
			complete = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
				known, _ := c.pathValues(args)
				return u.completeIDs(cmd.Context(), *service, c.Operation, f.Name, known, toComplete)
			}
		}
		completeFlag(cmd, kebabCase(f.Name), complete)
	}
	if names := c.clearableFlags(); len(names) > 0 {
		completeFlag(cmd, "clear", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	}
}

// completeFlag makes the shell complete the values of a flag.
func completeFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic("workspace: " + err.Error()) // registering a second completion for a flag is a bug
	}
}

// completeFields completes the values of --fields.
func completeFields(cmd *cobra.Command, _ []string, toComplete string) (names []string, _ cobra.ShellCompDirective) {
	before := toComplete[:strings.LastIndex(toComplete, ",")+1]
	for _, op := range operations() {
		if op.ID != cmd.Name() {
			continue
		}
		for _, f := range recordFields(op.Record()) {
			names = append(names, before+f.name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// pathValues returns the path parameters that flags and arguments set, by name, and the names of
// the missing ones.
func (c *operationCall) pathValues(args []string) (known map[string]string, missing []string) {
	known = map[string]string{}
	for _, name := range c.fieldNames(schema.InPath) {
		switch values := c.fields[name].values; {
		case len(values) > 0:
			known[name] = values[0]
		case len(args) > 0:
			known[name], args = args[0], args[1:]
		default:
			missing = append(missing, name)
		}
	}
	return known, missing
}

// completeIDs returns the ids that a field of an operation can have, each with the title of its
// record. It returns none after any error, because a shell has no place to show one.
func (u *userCommands) completeIDs(ctx context.Context, service serviceFlags, op api.Operation, name string, known map[string]string, toComplete string) (out []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	kind := recordKinds().ReferredBy(op, name)
	if kind == nil || kind.List == nil {
		return nil, directive
	}
	field := idField
	if kind.Key != "" && name != kind.Parameter {
		field = kind.Key
	}
	key, err := u.findCredential(service)
	if err != nil || key.Key == "" || isUnencrypted(key.BaseURL) { // unlike a command, completion cannot warn before a key crosses a network unencrypted
		return nil, directive
	}
	remote, err := u.connectWith(key, service.company, client.WithAttempts(1), client.WithWaitMax(0))
	if err != nil {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeMax)
	defer cancel()
	records, err := listForCompletion(ctx, remote, kind.List, known)
	if err != nil {
		return nil, directive
	}
	for _, record := range records {
		if value := formatValue(record[field], " "); strings.HasPrefix(value, toComplete) {
			out = append(out, cobra.CompletionWithDesc(value, titleOf(record)))
		}
	}
	return out, directive
}

// titleOf returns a short string by which a person recognises a record.
func titleOf(record map[string]any) string {
	for _, name := range api.TitleFields {
		if record[name] != nil {
			return cutText(formatValue(record[name], " "), completedTitleChars)
		}
	}
	return ""
}

// operations returns all operations. Building them takes milliseconds, so it is done only once.
var operations = sync.OnceValue(func() []api.Operation { return functions.Operations(nil) })

// recordKinds returns the kinds of records.
var recordKinds = sync.OnceValue(func() api.Kinds { return api.NewKinds(operations()) })

// requestFor returns the request for an operation that reads, with the ids in its path.
func requestFor(op *api.Operation, ids map[string]string) client.Request {
	r := client.Request{Method: op.Method, Path: op.Path, Query: url.Values{}, Repeatable: true, Quota: string(op.Class)}
	for name, id := range ids {
		r.Path = strings.ReplaceAll(r.Path, "{"+name+"}", url.PathEscape(id))
	}
	return r
}

// listForCompletion returns the first records of a list. known contains the ids in the list's path.
// If one is missing, the records are those that belong to the first few parents.
func listForCompletion(ctx context.Context, r connection, list *api.Operation, known map[string]string) ([]map[string]any, error) {
	request := requestFor(list, known)
	for _, f := range list.Input {
		switch {
		case f.Name == "limit":
			request.Query.Set(f.Name, strconv.Itoa(completedIDsMax))
		case f.In == schema.InPath && known[f.Name] == "":
			return listChildren(ctx, r, list, f.Name)
		}
	}
	response, err := r.client.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	var page map[string]any
	if err := decodeJSON(response.Body, &page); err != nil {
		return nil, err
	}
	return recordsOf(page["items"]), nil
}

// listChildren returns the first records of a list for each of the first parents.
func listChildren(ctx context.Context, r connection, list *api.Operation, parameter string) (out []map[string]any, err error) {
	records, err := listForCompletion(ctx, r, recordKinds().ReferredBy(*list, parameter).List, nil)
	if err != nil {
		return nil, err
	}
	for _, parent := range records[:min(len(records), completedParents)] {
		id, _ := parent[idField].(string)
		children, err := listForCompletion(ctx, r, list, map[string]string{parameter: id})
		if err != nil {
			return nil, err
		}
		out = append(out, children...)
	}
	return out[:min(len(out), completedIDsMax)], nil
}
