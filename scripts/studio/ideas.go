package studio

import (
	"net/http"
	"net/url"

	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/shared/client"
)

// ideasData is the data of the template for plans and ideas.
type ideasData struct {
	Clock   civiltime.Clock
	Plans   []client.Plan
	NoPlans *failure
	Plan    string // the only plan whose ideas are listed; empty if the list is not limited to a plan
	Tabs    []tab
	Status  string
	Rows    []shownIdea
	NoIdeas *failure
	More    string // the address of the next page of ideas, or empty

	MayWrite bool
}

type shownIdea struct {
	client.Idea

	PlanName string
	Seen     string // the version of the idea when the page was loaded
}

// ideasPerPage is the maximum number of ideas on one page.
const ideasPerPage = 100

func (s *Studio) ideas(v *pageRequest) *view {
	q := v.r.URL.Query()
	d := &ideasData{Status: q.Get("status"), Plan: q.Get("plan"), MayWrite: v.may("broadcast:write")}
	out := &view{page: "ideas", place: "Posts", title: "Plans and ideas", data: d}
	if d.Status == "" {
		d.Status = string(client.BroadcastIdeaStatusSuggested)
	}
	for _, t := range []tab{{ID: "suggested", Name: "Suggested"}, {ID: "accepted", Name: "Accepted"}, {ID: "rejected", Name: "Rejected"}} {
		t.Path, t.Current = ideasPath(t.ID, d.Plan), t.ID == d.Status
		d.Tabs = append(d.Tabs, t)
	}
	in := client.ListBroadcastIdeasInput{
		Limit: client.Value(ideasPerPage), Status: client.Value(client.BroadcastIdeaStatus(d.Status)), PlanID: optional(d.Plan), Cursor: optional(q.Get("cursor")),
	}
	plans := v.startPlans()
	ideas := startCall(v, "broadcast:read", "The ideas", bound(v.api.ListBroadcastIdeas, in))
	v.wait()
	d.Clock, d.Plans, d.NoPlans, d.NoIdeas = v.clock(), plans.Value.Items, plans.Failure, ideas.Failure
	if d.NoIdeas != nil {
		out.status = d.NoIdeas.status()
		return out
	}
	names := map[string]string{}
	for _, p := range d.Plans {
		names[p.ID] = p.Name.Or("Plan")
	}
	for _, i := range ideas.Value.Items {
		d.Rows = append(d.Rows, shownIdea{i, names[i.PlanID.Or("")], version(i.UpdatedAt)})
	}
	if next := ideas.Value.Next; next != "" {
		d.More = ideasPath(d.Status, d.Plan) + "&cursor=" + url.QueryEscape(next)
	}
	return out
}

func ideasPath(status, plan string) string {
	q := url.Values{"status": {status}}
	if plan != "" {
		q.Set("plan", plan)
	}
	return "/ideas?" + q.Encode()
}

// PlanPath returns the address of the page that lists the ideas of a plan.
func (d *ideasData) PlanPath(plan string) string { return ideasPath(d.Status, plan) }

// decideIdea accepts or rejects an idea, unless the idea has changed since the page was loaded. If
// the user chose to write a post, it then redirects to the form for a post about the idea.
func (s *Studio) decideIdea(v *pageRequest) *view {
	form, id := v.r.PostForm, v.r.PathValue("id")
	back := url.Values{"status": {form.Get("status")}}
	if plan := form.Get("plan"); plan != "" {
		back.Set("plan", plan)
	}
	refuse := func(why string) *view { return v.redirectWithNotice("/ideas", back, notice{Bad: true, Text: why}) }
	status, text := client.BroadcastIdeaStatusAccepted, "Accepted. It becomes a post when you write one from it."
	if form.Get("do") == "reject" {
		status, text = client.BroadcastIdeaStatusRejected, "Rejected."
	}
	got := v.getIdea(id)
	v.wait()
	switch {
	case got.Failure != nil:
		return refuse("Nothing was decided: " + got.Failure.Text())
	case version(got.Value.UpdatedAt) != form.Get("seen"):
		return refuse("Somebody changed the idea after you looked, so nothing was decided.")
	}
	in := client.UpdateBroadcastIdeaInput{IdeaID: id, Status: client.Value(status)}
	res := startCall(v, "broadcast:write", "Decide on the idea",
		bound(v.api.UpdateBroadcastIdea, in), client.IfMatch(got.ETag))
	v.wait()
	switch {
	case res.Failure != nil && res.Failure.Status == http.StatusPreconditionFailed:
		return refuse("Somebody changed the idea after you looked, so nothing was decided.")
	case res.Failure != nil:
		return refuse("Nothing was decided: " + res.Failure.Text())
	case form.Get("do") == "write":
		return v.redirectWithNotice("/posts/new", url.Values{"idea": {id}}, notice{Text: "Accepted. Its post is not stored yet: check it and save."})
	}
	record := got.Value.Title.Or("The idea")
	undo := undoCall(record, "broadcast:write", res.ETag,
		bound(v.api.UpdateBroadcastIdea, client.UpdateBroadcastIdeaInput{IdeaID: id, Status: got.Value.Status}))
	return v.redirectWithNotice("/ideas", back, notice{Record: record, Text: text, Undo: undo})
}
