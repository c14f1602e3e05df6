package user

import (
	"cmp"
	"context"
	"errors"
	"net/http"
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
	register := func(name string, complete cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic("workspace: " + err.Error()) // registering a second completion for a flag is a bug
		}
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
		register(kebabCase(f.Name), complete)
	}
	if names := c.clearableFlags(); len(names) > 0 {
		register("clear", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
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
	list, found := idListOperation(op, name)
	if !found {
		return nil, directive
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
	records, err := listForCompletion(ctx, remote, list, known)
	if err != nil {
		return nil, directive
	}
	for _, record := range records {
		if value := formatValue(record[cmp.Or(keyFields[name], idField)], " "); strings.HasPrefix(value, toComplete) {
			out = append(out, cobra.CompletionWithDesc(value, titleOf(record)))
		}
	}
	return out, directive
}

// keyFields is for fields that refer to a record by a field other than its id. It maps the name of
// the referring field to the name of the record's field.
var keyFields = map[string]string{"metricKey": "key"}

// titleOf returns a short string by which a person recognises a record.
func titleOf(record map[string]any) string {
	for _, name := range []string{"name", "title", "body", "summary", "startedAt"} {
		if record[name] != nil {
			return cutText(formatValue(record[name], " "), completedTitleChars)
		}
	}
	return ""
}

// idListOperation returns the operation that lists the records to which a field of op can refer.
func idListOperation(op api.Operation, name string) (list api.Operation, found bool) {
	if name == "metricKey" {
		return operationWhere(func(o api.Operation) bool { return o.ID == "list_metric_definitions" })
	}
	parameter := "/{" + name + "}"
	parent, _, isInPath := strings.Cut(op.Path, parameter)
	if !isInPath { // a query or body field, such as siteId, has the same name as a parameter in another operation's path
		match, found := operationWhere(func(o api.Operation) bool {
			before, _, found := strings.Cut(o.Path, parameter)
			return found && strings.Count(before, "{") == 1
		})
		if !found {
			return list, false
		}
		parent, _, _ = strings.Cut(match.Path, parameter)
	}
	if list, found = operationWhere(func(o api.Operation) bool { return o.IsList() && o.Path == parent }); found {
		return list, true
	}
	// Items are listed by board: …/boards/{boardId}/items, and not …/items.
	get, found := operationWhere(func(o api.Operation) bool { return o.Method == http.MethodGet && o.Path == parent+parameter })
	if !found {
		return list, false
	}
	return operationWhere(func(o api.Operation) bool { return o.IsList() && o.Record() == get.Record() })
}

// operations returns all operations. Building them takes milliseconds, so it is done only once.
var operations = sync.OnceValue(func() []api.Operation { return functions.Operations(nil) })

func operationWhere(matches func(api.Operation) bool) (api.Operation, bool) {
	for _, op := range operations() {
		if matches(op) {
			return op, true
		}
	}
	return api.Operation{}, false
}

// listForCompletion returns the first records of a list. known contains the ids in the list's path.
// If one is missing, the records are those that belong to the first few parents.
func listForCompletion(ctx context.Context, r connection, list api.Operation, known map[string]string) ([]map[string]any, error) {
	request := client.Request{Method: list.Method, Path: list.Path, Query: url.Values{}, Repeatable: true}
	for _, f := range list.Input {
		switch {
		case f.Name == "limit":
			request.Query.Set(f.Name, strconv.Itoa(completedIDsMax))
		case f.In != schema.InPath:
		case known[f.Name] == "":
			return listChildren(ctx, r, list, f.Name)
		default:
			request.Path = strings.ReplaceAll(request.Path, "{"+f.Name+"}", url.PathEscape(known[f.Name]))
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
func listChildren(ctx context.Context, r connection, list api.Operation, parameter string) (out []map[string]any, err error) {
	parents, found := idListOperation(list, parameter)
	if !found {
		return nil, errors.New("no operation lists the parents")
	}
	records, err := listForCompletion(ctx, r, parents, nil)
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
