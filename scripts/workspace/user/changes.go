package user

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/follow"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
	"growthworkspace/shared/timestamp"
)

// changesCommand returns the commands that read the feed of changes.
func (u *userCommands) changesCommand() *cobra.Command {
	return terminal.AddCommands(&cobra.Command{Use: "changes", Short: "Read what changed, or run a program for each change"},
		u.listChangesCommand(), u.followCommand())
}

// changesFlags holds the values of the flags that select changes.
type changesFlags struct {
	serviceFlags

	types []string
	since string
}

func (f *changesFlags) register(u *userCommands, cmd *cobra.Command) {
	f.serviceFlags.register(cmd.Flags())
	u.table.RegisterDemo(cmd.Flags())
	cmd.Flags().StringSliceVar(&f.types, "types", nil, "only changes of these `types`, such as feedback,post")
	completeFlag(cmd, "types", cobra.FixedCompletions(change.Type("").Values(), cobra.ShellCompDirectiveNoFileComp))
}

// SinceTime parses the value of --since, which is a time, a day or a duration. A day means its
// start in UTC, and a duration means that long before now.
func SinceTime(text string, now time.Time) (time.Time, error) {
	if at, ok := timestamp.Parse(text); ok {
		return at, nil
	}
	if day, ok := timestamp.ParseDay(text); ok {
		return day, nil
	}
	span, err := terminal.ParseDuration(text)
	if err != nil {
		return time.Time{}, errors.New("must be a time ago such as 7d or 12h, or a day or time such as 2026-08-11")
	}
	return now.Add(-span), nil
}

// listedChange is a change in the output of `changes list`.
type listedChange struct {
	CompanyID  string  `json:"companyId"`
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	RecordID   string  `json:"recordId"`
	Action     string  `json:"action"`
	Status     *string `json:"status"`
	KeyID      *string `json:"keyId"`
	KeyName    *string `json:"keyName"` // null if the key cannot read keys
	OccurredAt string  `json:"occurredAt"`
}

// listedChanges is the output of `changes list`.
type listedChanges struct {
	Items   []listedChange `json:"items"`
	After   string         `json:"after"` // the value of --after that continues the list
	HasMore bool           `json:"hasMore"`
}

const (
	changesDefault = 100
	changesMax     = 10_000
)

func (u *userCommands) listChangesCommand() *cobra.Command {
	var f changesFlags
	var after string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List what changed, oldest first", Args: terminal.RequireArgs(),
		Long: `List the changes of a company's records, oldest first: when, what happened to which record,
its status after it, and which key did it. The feed has the last 30 days. Without --since and
--after, the list has the last 24 hours.

A change tells where to look; it does not contain texts. The list has the types that the key
may read. It names the key that made a change if the calling key has the scope keys:read, or
made the change itself. A dash means another key, an operator or a deletion.

` + wrapText("Types: "+strings.Join(change.Type("").Values(), ", ")+".", 98) + `

With --json: {"items": [change with keyName, ...], "after": "...", "hasMore": true if --limit
left some out}. --after continues where an earlier list ended.`,
		Example: `  workspace changes list
  workspace changes list --types feedback,post --since 7d
  workspace changes list --since 2026-08-11 --json`,
	}
	f.register(u, cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "changes since this `time`: 7d, 12h, 2026-08-11 or 2026-08-11T09:30:00Z (default: 24h)")
	cmd.Flags().StringVar(&after, "after", "", "continue after an earlier list: the `text` that it printed")
	cmd.Flags().IntVar(&limit, "limit", changesDefault, fmt.Sprintf("the most `changes`, 1 to %d", changesMax))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 || limit > changesMax {
			return terminal.NewCommandUsageError(cmd, "--limit: must be 1 to %d", changesMax)
		}
		if f.since != "" && after != "" {
			return terminal.NewCommandUsageError(cmd, "--since starts over: leave it out to continue with --after")
		}
		query := url.Values{}
		if after != "" {
			query.Set("after", after)
		}
		if f.since != "" {
			at, err := SinceTime(f.since, u.Now())
			if err != nil {
				return terminal.NewCommandUsageError(cmd, "--since: %s", err)
			}
			query.Set("since", timestamp.Format(at))
		}
		if len(f.types) > 0 {
			query.Set("types", strings.Join(f.types, ","))
		}
		r, err := u.connect(f.serviceFlags)
		if err != nil {
			return err
		}
		found, err := readChanges(cmd.Context(), r.client, query, limit)
		if err != nil {
			return u.explainChangesError(err, r)
		}
		return u.printChanges(cmd.Context(), r, found)
	}
	return cmd
}

// readChanges reads up to limit changes.
func readChanges(ctx context.Context, api *client.Client, query url.Values, limit int) (found listedChanges, err error) {
	found.Items = []listedChange{}
	for {
		query.Set("limit", strconv.Itoa(min(follow.PageMax, limit-len(found.Items))))
		page, err := follow.Read(ctx, api, query)
		if err != nil {
			return found, err
		}
		for _, c := range page.Items {
			var item listedChange
			if err := json.Unmarshal(c.JSON, &item); err != nil {
				return found, fmt.Errorf("decode a change: %w", err)
			}
			found.Items = append(found.Items, item)
		}
		found.After, found.HasMore = page.After, page.HasMore
		if !page.HasMore || len(found.Items) >= limit || page.After == query.Get("after") { // stop, too, if After has not moved: the next change is not visible yet
			return found, nil
		}
		query.Del("since")
		query.Set("after", page.After)
	}
}

// printChanges prints a list of changes, with the names of their keys.
func (u *userCommands) printChanges(ctx context.Context, r connection, found listedChanges) error {
	names, err := keyNames(ctx, r.client, found.Items)
	if err != nil {
		return u.explainCallError(err, r)
	}
	for i, c := range found.Items {
		if c.KeyID == nil {
			continue
		}
		if name, known := names[*c.KeyID]; known {
			found.Items[i].KeyName = &name
		}
	}
	err = terminal.PrintList(u.Terminal, found, found.Items, "no changes", "WHEN\tTYPE\tACTION\tSTATUS\tBY\tRECORD", func(c listedChange) []string {
		keyText := c.KeyName
		if keyText == nil {
			keyText = c.KeyID
		}
		return []string{terminal.EscapeControls(truncateToMinute(c.OccurredAt)), terminal.EscapeControls(c.Type), terminal.EscapeControls(c.Action), terminal.FormatText(c.Status), terminal.FormatText(keyText), terminal.EscapeControls(c.RecordID)}
	})
	if err == nil && found.HasMore {
		u.Note("\nThere are more: --after %s", terminal.QuoteArgument(found.After))
	}
	return err
}

// keyNames returns the names of the company's keys by their ids. If the key of the request cannot
// read keys, the map contains only that key's name.
func keyNames(ctx context.Context, api *client.Client, changes []listedChange) (map[string]string, error) {
	out := map[string]string{}
	if !slices.ContainsFunc(changes, func(c listedChange) bool { return c.KeyID != nil }) {
		return out, nil
	}
	var refused *client.Error
	for key, err := range api.AllKeys(ctx, client.ListKeysInput{Limit: client.Value(follow.PageMax)}) {
		if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
			key, err = api.GetCurrentKey(ctx)
		}
		if err != nil {
			return nil, err
		}
		if name, ok := key.Name.Get(); ok && name != "" {
			out[key.ID] = name
		}
	}
	return out, nil
}

// explainChangesError is like explainCallError. Its messages name flags instead of parameters, and
// say if the service has no feed of changes.
func (u *userCommands) explainChangesError(err error, r connection) error {
	err = u.explainCallError(err, r)
	var refused *callError
	if !errors.As(err, &refused) {
		return err
	}
	for i, m := range refused.Messages {
		refused.Messages[i] = flagNameReplacer.Replace(m)
	}
	if refused.Status == http.StatusNotImplemented || refused.Status == http.StatusNotFound {
		refused.hint = "this service has no feed of changes"
	}
	return refused
}

// flagNameReplacer replaces the parameters of a list of changes with the flags that set them.
var flagNameReplacer = strings.NewReplacer("query.types:", "--types:", "query.since:", "--since:", "query.after:", "--after:")
