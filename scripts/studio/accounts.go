package studio

import (
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/shared/client"
)

// accountsData is the data for the accounts template.
type accountsData struct {
	Company string // the id of the company
	Rows    []accountRow
	More    bool // there are more accounts than the page shows
	Failure *failure
}

type accountRow struct {
	client.Channel

	Problem string // why the account does not work or will soon stop working; empty if it works
	Soon    bool   // the account still works, but will soon stop
}

// Name returns a name for the account: its platform and its name there.
func (r accountRow) Name() string { return attention.ChannelName(r.Channel) }

// Checked returns when the account was last checked, or the zero time if it never was.
func (r accountRow) Checked() time.Time { return r.LastCheckedAt.Or(time.Time{}) }

const accountsPath = "/posts/accounts"

// accounts shows the accounts that posts are sent from. The service never has the accounts'
// credentials, so the page explains who connects an account.
func (s *Studio) accounts(v *pageRequest) *view {
	channels := v.listChannels()
	v.wait()
	d := &accountsData{Company: v.companyID(), More: channels.Value.Next != "", Failure: channels.Failure}
	out := &view{page: "accounts", place: "Posts", title: "Accounts", data: d}
	if d.Failure != nil {
		out.status = d.Failure.status()
	}
	for _, c := range channels.Value.Items {
		row := accountRow{Channel: c}
		why, hasProblem := attention.ChannelProblem(c, v.Now())
		row.Problem, row.Soon = why, hasProblem && attention.ChannelSends(c, v.Now())
		d.Rows = append(d.Rows, row)
	}
	return out
}
