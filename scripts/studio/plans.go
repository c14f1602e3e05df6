package studio

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// The paths of the pages that edit a plan or an idea.
const (
	plansPath = "/ideas/plans"
	ideaPath  = "/ideas/edit"
)

func (v *pageRequest) planScreens() recordScreens[client.Plan] {
	return recordScreens[client.Plan]{
		place: "Posts", noun: "content plan", area: "broadcast", path: plansPath, back: "/ideas",
		deletion: "Its ideas remain. It cannot be undone.",
		id:       func(p client.Plan) string { return p.ID },
		get: func(ctx context.Context, id string, options ...client.CallOption) (client.Plan, error) {
			return v.api.GetBroadcastPlan(ctx, client.GetBroadcastPlanInput{PlanID: id}, options...)
		},
		remove: func(ctx context.Context, id string, options ...client.CallOption) (client.Deleted, error) {
			return v.api.DeleteBroadcastPlan(ctx, client.DeleteBroadcastPlanInput{PlanID: id}, options...)
		},
		fields: planFields,
		save: func(c *formChanges, id string) func(context.Context, ...client.CallOption) (client.Plan, error) {
			name, brief, objective, audience := c.requiredText("name"), c.text("brief"), c.text("objective"), c.text("audience")
			platforms, cadence, startsAt, endsAt := c.platforms(), c.text("cadence"), c.date("startsAt"), c.date("endsAt")
			status := enumValue[client.BroadcastPlanStatus](c.text("status"))
			if id != "" {
				return func(ctx context.Context, options ...client.CallOption) (client.Plan, error) {
					return v.api.UpdateBroadcastPlan(ctx, client.UpdateBroadcastPlanInput{
						PlanID: id, Name: name, Brief: brief, Objective: objective, Audience: audience, Platforms: platforms, Cadence: cadence, StartsAt: startsAt, EndsAt: endsAt, Status: status,
					}, options...)
				}
			}
			return func(ctx context.Context, options ...client.CallOption) (client.Plan, error) {
				return v.api.CreateBroadcastPlan(ctx, client.CreateBroadcastPlanInput{
					Name: name.Or(""), Brief: brief, Objective: objective, Audience: audience, Platforms: platforms, Cadence: cadence, StartsAt: startsAt, EndsAt: endsAt, Status: status,
				}, options...)
			}
		},
	}
}

func planFields(p client.Plan) []*field {
	return []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "A few words, such as Launch of version 4.", Stored: p.Name.Or("")},
		{Name: "brief", Label: "What it is about", Kind: "long", Stored: p.Brief.Or("")},
		{Name: "objective", Label: "What it should achieve", Kind: "long", Stored: p.Objective.Or("")},
		{Name: "audience", Label: "Whom it addresses", Kind: "text", Stored: p.Audience.Or("")},
		platformsField(p.Platforms.Or(nil)),
		{Name: "cadence", Label: "How often", Kind: "text", Hint: "Free text, such as three a week.", Stored: p.Cadence.Or("")},
		{Name: "startsAt", Label: "First day", Kind: "date", Hint: "In UTC.", Stored: typedDay(p.StartsAt)},
		{Name: "endsAt", Label: "Last day", Kind: "date", Hint: "In UTC.", Stored: typedDay(p.EndsAt)},
		{Name: "status", Label: "Status", Kind: "choice", Required: true, Stored: cmp.Or(string(p.Status.Or("")), string(client.BroadcastPlanStatusDraft)), Choices: []string{
			string(client.BroadcastPlanStatusDraft), string(client.BroadcastPlanStatusActive), string(client.BroadcastPlanStatusPaused),
			string(client.BroadcastPlanStatusComplete), string(client.BroadcastPlanStatusArchived)}},
	}
}

// typedDay formats a time as the value of a date field, which is a day in UTC.
func typedDay(at client.Optional[time.Time]) string {
	if at, ok := at.Get(); ok {
		return at.UTC().Format(time.DateOnly)
	}
	return ""
}

func platformsField(stored []client.BroadcastPlatform) *field {
	names := make([]string, len(stored))
	for n, p := range stored {
		names[n] = string(p)
	}
	return &field{Name: "platforms", Label: "Platforms", Kind: "list", Hint: "One on each line: " + strings.Join(platforms(), ", ") + ".", Stored: strings.Join(names, "\n")}
}

// platforms returns the new platforms of a plan or an idea.
func (c *formChanges) platforms() client.Optional[[]client.BroadcastPlatform] {
	text := c.text("platforms")
	value, ok := text.Get()
	if !ok {
		return absentOrNull[[]client.BroadcastPlatform](text)
	}
	out := []client.BroadcastPlatform{}
	for _, line := range tagsOf(value) {
		at := slices.IndexFunc(platforms(), func(p string) bool {
			return strings.EqualFold(p, line) || strings.EqualFold(phrase.Words(p), line)
		})
		if at < 0 {
			c.addProblem("platforms", line+" is not a platform.")
			continue
		}
		out = append(out, client.BroadcastPlatform(platforms()[at]))
	}
	return client.Value(out)
}

func (v *pageRequest) ideaScreens() recordScreens[client.Idea] {
	planID := v.r.URL.Query().Get("plan")
	planIDs, names := v.planIDsAndNames()
	return recordScreens[client.Idea]{
		place: "Posts", noun: "idea", area: "broadcast", path: ideaPath, back: "/ideas",
		deletion: "Posts created from it remain. It cannot be undone.",
		id:       func(i client.Idea) string { return i.ID },
		home: func(i client.Idea) string {
			return ideasPath(string(i.Status.Or(client.BroadcastIdeaStatusSuggested)), "")
		},
		get: func(ctx context.Context, id string, options ...client.CallOption) (client.Idea, error) {
			return v.api.GetBroadcastIdea(ctx, client.GetBroadcastIdeaInput{IdeaID: id}, options...)
		},
		remove: func(ctx context.Context, id string, options ...client.CallOption) (client.Deleted, error) {
			return v.api.DeleteBroadcastIdea(ctx, client.DeleteBroadcastIdeaInput{IdeaID: id}, options...)
		},
		fields: func(i client.Idea) []*field {
			return []*field{
				{Name: "title", Label: "Title", Kind: "text", Required: true, Stored: i.Title.Or("")},
				{Name: "summary", Label: "What the post says", Kind: "long", Hint: "A post that is written from the idea begins with its title and this text.", Stored: i.Summary.Or("")},
				{Name: "rationale", Label: "Why", Kind: "long", Stored: i.Rationale.Or("")},
				{Name: "planId", Label: "Content plan", Kind: "choice", Choices: planIDs, Labels: names, Stored: i.PlanID.Or(""), Suggested: planID},
				platformsField(i.Platforms.Or(nil)),
				{Name: "suggestedFor", Label: "For", Kind: "date", Hint: "The day on which it would be posted, at 09:00 UTC until its post says otherwise.", Stored: typedDay(i.SuggestedFor)},
			}
		},
		save: func(c *formChanges, id string) func(context.Context, ...client.CallOption) (client.Idea, error) {
			title, summary, rationale, plan := c.requiredText("title"), c.text("summary"), c.text("rationale"), c.text("planId")
			platforms, day := c.platforms(), c.date("suggestedFor")
			if at, ok := day.Get(); ok {
				day = client.Value(defaultPostTime(at))
			}
			if id != "" {
				return func(ctx context.Context, options ...client.CallOption) (client.Idea, error) {
					return v.api.UpdateBroadcastIdea(ctx, client.UpdateBroadcastIdeaInput{
						IdeaID: id, Title: title, Summary: summary, Rationale: rationale, PlanID: plan, Platforms: platforms, SuggestedFor: day,
					}, options...)
				}
			}
			return func(ctx context.Context, options ...client.CallOption) (client.Idea, error) {
				return v.api.CreateBroadcastIdea(ctx, client.CreateBroadcastIdeaInput{
					Title: title.Or(""), Summary: summary, Rationale: rationale, PlanID: plan, Platforms: platforms, SuggestedFor: day,
				}, options...)
			}
		},
	}
}

// planIDsAndNames returns the ids of the content plans, and their names by id.
func (v *pageRequest) planIDsAndNames() (ids []string, names map[string]string) {
	plans := startCall(v, "broadcast:read", "The content plans", func(ctx context.Context, options ...client.CallOption) (client.Page[client.Plan], error) {
		return v.api.ListBroadcastPlans(ctx, client.ListBroadcastPlansInput{Limit: client.Value(100)}, options...)
	})
	v.wait()
	names = map[string]string{}
	for _, p := range plans.Value.Items {
		ids, names[p.ID] = append(ids, p.ID), p.Name.Or("Plan")
	}
	return ids, names
}
