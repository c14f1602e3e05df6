package linear

import (
	"context"
	"net/http"

	"github.com/anishathalye/porcupine"

	"growthworkspace/scripts/prove/faults/stand"
)

// input is a request about the reply: a new text, a new status or, with neither, a look at it.
type input struct{ text, status string }

// state is what the reply is.
type state struct{ Text, Status string }

// output is what a request was answered. Of a change that was answered with a failure the outcome is not known.
type output struct {
	known bool
	state state
}

// The reply is the record whose rules need more than its own fields: an approval is of a text, so that a new text takes
// an approved reply back to draft (decisions.md §3). Two changes that do not see each other break that.
var model = porcupine.Model{
	Init: func() any { return state{"", "draft"} },
	Step: func(before, in, out any) (bool, any) {
		after := before.(state).after(in.(input))
		answer := out.(output)
		return !answer.known || answer.state == after, after
	},
}

func (s state) after(in input) state {
	if in.text != "" && in.text != s.Text {
		if s.Status == "approved" {
			s.Status = "draft"
		}
		s.Text = in.text
	}
	if in.status != "" {
		s.Status = in.status
	}
	return s
}

func (in input) send(ctx context.Context, c *stand.Client) (output, error) {
	method, path, body := http.MethodPatch, "feedback/fbk_1/reply", map[string]any{}
	switch {
	case in.text != "":
		body["replyBody"] = in.text
	case in.status != "":
		body["replyStatus"] = in.status
	default:
		method, path, body = http.MethodGet, "feedback/fbk_1", nil
	}
	var payload any
	if body != nil {
		payload = body
	}
	answer, err := c.Call(ctx, method, path, payload)
	if err != nil || answer.Status != http.StatusOK {
		return output{}, err
	}
	var record struct{ ReplyBody, ReplyStatus string }
	err = answer.Decode(&record)
	return output{true, state{record.ReplyBody, record.ReplyStatus}}, err
}
