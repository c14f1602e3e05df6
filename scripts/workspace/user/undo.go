package user

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// undoHint tells a person at a terminal how to undo a write.
type undoHint struct {
	call   *operationCall
	flags  string                     // the flags of the connection, which the undo needs too
	before map[string]json.RawMessage // the record before an update; nil if it could not be read
}

// prepareUndo returns the hint for a call, or nil if the call changes nothing or a program reads
// the output. Before an update it reads the record, because the service does not store the values
// that an update replaces.
func (u *userCommands) prepareUndo(ctx context.Context, cmd *cobra.Command, r connection, c *operationCall, format responseFormat) *undoHint {
	if !u.Interactive || format.isJSON || format.csv || c.Effect == api.Read {
		return nil
	}
	h := &undoHint{call: c, flags: connectionFlags(cmd, r)}
	if get := readOperationFor(c.Operation); get != nil {
		path := strings.TrimSuffix(c.request().Path, strings.TrimPrefix(c.Path, get.Path))
		response, err := r.client.Do(ctx, client.Request{Method: get.Method, Path: path, Repeatable: true})
		if err == nil { // a key that may not read gets a hint without values
			_ = json.Unmarshal(response.Body, &h.before) // a response that is not an object has no values either
		}
	}
	return h
}

// readOperationFor returns the operation that reads the record that an update changes, or nil.
func readOperationFor(op api.Operation) *api.Operation {
	if k := recordKinds().Named(op.Noun.Name); k != nil && op.Method == http.MethodPatch {
		return k.Get
	}
	return nil
}

// connectionFlags returns the flags with which a later command finds the same service and key. If
// WORKSPACE_PROFILE has selected a profile, the flags name that profile, because the variable may
// be set for one command only. Without them, the undo could change a record of a different company.
func connectionFlags(cmd *cobra.Command, r connection) (out string) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"json", "fields", "csv", "jq", "include"}, f.Name) {
			out += " --" + f.Name + " " + terminal.QuoteArgument(f.Value.String())
		}
	})
	if !cmd.Flags().Changed("profile") {
		out += r.profileArgument("--profile")
	}
	return out
}

// undoTexts contains the hints for the writes whose undo follows no general rule.
var undoTexts = map[string]string{
	"claim_broadcast_post":  "To undo: report_broadcast_post with --outcome retry ends the claim.",
	"claim_feedback_reply":  "To undo: report_feedback_reply with --outcome failed ends the claim.",
	"report_broadcast_post": "This cannot be undone. A claim has only one report.",
	"report_feedback_reply": "This cannot be undone. A claim has only one report.",
	"revoke_key":            "This cannot be undone. create_key creates another key.",
	"rotate_key":            "This cannot be undone. Both keys work until the old one expires.",
	"push_feedback":         "To undo: delete_feedback deletes new records. The old values of records that existed are not stored.",
	"push_metric_points":    "To undo: delete_metric_points deletes new points. The old values of points that existed are not stored.",
}

// text returns the hint after a successful call, or "" if there is nothing to undo.
func (h *undoHint) text(u *userCommands, body []byte) string {
	var after map[string]json.RawMessage
	if h == nil || json.Unmarshal(body, &after) != nil {
		return ""
	}
	switch c := h.call; {
	case undoTexts[c.ID] != "":
		return undoTexts[c.ID]
	case c.ID == "publish_plan_board" || c.ID == "rollback_plan_board":
		return h.publishUndo(u, body)
	case c.Method == http.MethodDelete:
		return "This cannot be undone. An operator can import the record from an earlier export."
	case c.Effect == api.Create:
		return h.createUndo(u, after)
	case c.Method == http.MethodPatch:
		return h.updateUndo(u, after)
	}
	return ""
}

// command returns the command line of an undo.
func (h *undoHint) command(u *userCommands, op api.Operation, rest string) string {
	line := "api " + op.ID
	for _, f := range op.Input {
		if flag := h.call.fields[f.Name]; f.In == schema.InPath && flag != nil && len(flag.values) > 0 {
			line += " " + terminal.QuoteArgument(flag.values[0])
		}
	}
	return u.Command("%s%s%s", line, rest, h.flags)
}

// deleteOperationFor returns the operation that deletes a record that a create returns, or nil.
func deleteOperationFor(op api.Operation) *api.Operation {
	if k := recordKinds().Named(op.Noun.Name); k != nil && op.Effect == api.Create {
		return k.Delete
	}
	return nil
}

func (h *undoHint) createUndo(u *userCommands, after map[string]json.RawMessage) string {
	remove := deleteOperationFor(h.call.Operation)
	id := decodeString(after[idField])
	if remove == nil || id == "" {
		return ""
	}
	return "To undo: " + h.command(u, *remove, " "+terminal.QuoteArgument(id))
}

// updateUndo returns a command that sets the fields to the values that they had before.
func (h *undoHint) updateUndo(u *userCommands, after map[string]json.RawMessage) string {
	if h.before == nil {
		return "To undo, set the fields to their old values, which are not stored."
	}
	flags, cleared, lost := "", []string{}, []string{}
	for _, f := range h.call.Input {
		old := h.before[f.Name]
		if !h.call.sends(f) || bytes.Equal(old, after[f.Name]) {
			continue
		}
		switch value, ok := flagValue(f, old); {
		case isNull(old) && f.Null == schema.NullClears:
			cleared = append(cleared, kebabCase(f.Name))
		case !ok:
			lost = append(lost, "--"+kebabCase(f.Name))
		default:
			flags += " --" + kebabCase(f.Name) + " " + terminal.QuoteArgument(value)
		}
	}
	if len(cleared) > 0 {
		flags += " --clear " + strings.Join(cleared, ",")
	}
	var sentences []string
	if flags != "" {
		sentences = append(sentences, "To undo: "+h.command(u, h.call.Operation, flags))
	}
	if len(lost) > 0 {
		sentences = append(sentences, "No command restores the old value of "+strings.Join(lost, ", ")+".")
	}
	return strings.Join(sentences, "\n")
}

// sends reports whether the body of the call has the field.
func (c *operationCall) sends(f schema.Field) bool {
	if f.In != schema.InBody {
		return false
	}
	var body map[string]json.RawMessage
	_ = json.Unmarshal(c.request().Body, &body) // the service accepted the body, so it is an object
	_, found := body[f.Name]
	return found
}

// flagValue returns the argument of a flag that sets a field to a value. ok is false if no flag can
// set the value: if it is null, if requests cannot set it, or if it is a string with characters
// that control a terminal.
func flagValue(f schema.Field, value json.RawMessage) (text string, ok bool) {
	text = string(value)
	if f.Kind == schema.String {
		text = decodeString(value)
	}
	if isNull(value) || len(f.Enum) > 0 && f.Kind == schema.String && !slices.Contains(f.Enum, text) {
		return "", false
	}
	return text, !strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Bidi_Control, c)
	})
}

func isNull(value json.RawMessage) bool { return value == nil || string(value) == "null" }

// decodeString decodes a JSON string. It returns "" for any other value.
func decodeString(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return ""
	}
	return text
}

// publishUndo returns the hint for making the content of the previous version live again.
func (h *undoHint) publishUndo(u *userCommands, body []byte) string {
	var done struct {
		BoardID          string
		PublishedVersion int64
		Changed          bool
	}
	if err := json.Unmarshal(body, &done); err != nil || !done.Changed {
		return ""
	}
	if done.PublishedVersion == 1 {
		return "To undo: set the items to a status other than published, and publish again."
	}
	return "To undo: " + u.Command("api rollback_plan_board %s --version %d%s", done.BoardID, done.PublishedVersion-1, h.flags)
}
