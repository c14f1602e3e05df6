package studio

import (
	"cmp"
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

func (pr *pageRequest) planScreens() recordScreens[client.Plan] {
	goalsRead, typesRead := pr.listGoals(), pr.startContentTypes()
	pr.wait()
	goals := newReferences(goalsRead, func(g client.Goal) (id, name string) { return g.ID, g.Name.Or("Goal") })
	types := newReferences(typesRead, contentTypeName)
	return recordScreens[client.Plan]{
		place: "Posts", noun: "content plan", kind: kindNamed("content-plan"), path: plansPath, back: "/ideas",
		deletion: "Its ideas remain. It cannot be undone.",
		id:       func(p client.Plan) string { return p.ID },
		get: func(id string) call[client.Plan] {
			return bound(pr.api.GetBroadcastPlan, client.GetBroadcastPlanInput{PlanID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteBroadcastPlan, client.DeleteBroadcastPlanInput{PlanID: id})
		},
		fields: func(p client.Plan) []*field { return planFields(p, goals, types) },
		save: func(c *formChanges, id string) call[client.Plan] {
			name, brief, objective, audience := c.requiredText("name"), c.text("brief"), c.text("objective"), c.text("audience")
			goal, contentTypes := c.text("goalId"), c.list("contentTypeIds")
			platforms, cadence, startsAt, endsAt := c.platforms(), c.text("cadence"), c.date("startsAt"), c.date("endsAt")
			status := enumValue[client.BroadcastPlanStatus](c.text("status"))
			if id != "" {
				return bound(pr.api.UpdateBroadcastPlan, client.UpdateBroadcastPlanInput{
					PlanID: id, Name: name, Brief: brief, Objective: objective, GoalID: goal, ContentTypeIDs: contentTypes, Audience: audience, Platforms: platforms, Cadence: cadence, StartsAt: startsAt, EndsAt: endsAt, Status: status,
				})
			}
			return bound(pr.api.CreateBroadcastPlan, client.CreateBroadcastPlanInput{
				Name: name.Or(""), Brief: brief, Objective: objective, GoalID: goal, ContentTypeIDs: contentTypes, Audience: audience, Platforms: platforms, Cadence: cadence, StartsAt: startsAt, EndsAt: endsAt, Status: status,
			})
		},
	}
}

func planFields(p client.Plan, goals, types references) []*field {
	return []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "A few words, such as Launch of version 4.", Stored: p.Name.Or("")},
		{Name: "brief", Label: "What it is about", Kind: "long", Stored: p.Brief.Or("")},
		{Name: "objective", Label: "What it should achieve", Kind: "long", Stored: p.Objective.Or("")},
		goals.choice("goalId", "Goal", "The brand goal that it serves.", p.GoalID.Or("")),
		{Name: "audience", Label: "Whom it addresses", Kind: "text", Stored: p.Audience.Or("")},
		platformsField(p.Platforms.Or(nil)),
		types.checks("contentTypeIds", "Content types", "What its posts are about.", p.ContentTypeIDs.Or(nil)),
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

func (pr *pageRequest) ideaScreens() recordScreens[client.Idea] {
	planID := pr.r.URL.Query().Get("plan")
	plansRead, typesRead := pr.startPlans(), pr.startContentTypes()
	sources := pr.readSources()
	plans := newReferences(plansRead, func(p client.Plan) (id, name string) { return p.ID, p.Name.Or("Plan") })
	types := newReferences(typesRead, contentTypeName)
	return recordScreens[client.Idea]{
		place: "Posts", noun: "idea", kind: kindNamed("content-idea"), path: ideaPath, back: "/ideas",
		deletion: "Posts created from it remain. It cannot be undone.",
		id:       func(i client.Idea) string { return i.ID },
		home: func(i client.Idea) string {
			return ideasPath(string(i.Status.Or(client.BroadcastIdeaStatusSuggested)), "")
		},
		get: func(id string) call[client.Idea] {
			return bound(pr.api.GetBroadcastIdea, client.GetBroadcastIdeaInput{IdeaID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteBroadcastIdea, client.DeleteBroadcastIdeaInput{IdeaID: id})
		},
		fields: func(i client.Idea) []*field {
			plan := plans.choice("planId", "Content plan", "", i.PlanID.Or(""))
			plan.Suggested = planID
			return []*field{
				{Name: "title", Label: "Title", Kind: "text", Required: true, Stored: i.Title.Or("")},
				{Name: "summary", Label: "What the post says", Kind: "long", Hint: "A post that is written from the idea begins with its title and this text.", Stored: i.Summary.Or("")},
				{Name: "rationale", Label: "Why", Kind: "long", Stored: i.Rationale.Or("")},
				plan,
				types.choice("contentTypeId", "Content type", "What the post would be about.", i.ContentTypeID.Or("")),
				platformsField(i.Platforms.Or(nil)),
				{Name: "suggestedFor", Label: "For", Kind: "date", Hint: "The day on which it would be posted, at 09:00 UTC until its post says otherwise.", Stored: typedDay(i.SuggestedFor)},
				{Name: "sourceKind", Label: "Where it comes from", Kind: "choice", Required: true, Rare: true, Stored: string(i.SourceKind.Or(client.BroadcastSourceKindManual)), Choices: []string{
					string(client.BroadcastSourceKindManual), string(client.BroadcastSourceKindGenerated), string(client.BroadcastSourceKindFeedback),
					string(client.BroadcastSourceKindMetric), string(client.BroadcastSourceKindAudit), string(client.BroadcastSourceKindRoadmap)}},
				{Name: "sourceId", Label: "The record it comes from", Kind: "text", Rare: true, Hint: "Type a word of its name and choose it, or paste its id.", Stored: i.SourceID.Or(""), Choices: sources.ids, Labels: sources.names},
			}
		},
		save: func(c *formChanges, id string) call[client.Idea] {
			title, summary, rationale, plan := c.requiredText("title"), c.text("summary"), c.text("rationale"), c.text("planId")
			contentType, sourceKind, sourceID := c.text("contentTypeId"), enumValue[client.BroadcastSourceKind](c.text("sourceKind")), c.text("sourceId")
			platforms, day := c.platforms(), c.date("suggestedFor")
			if at, ok := day.Get(); ok {
				day = client.Value(defaultPostTime(at))
			}
			if id != "" {
				return bound(pr.api.UpdateBroadcastIdea, client.UpdateBroadcastIdeaInput{
					IdeaID: id, Title: title, Summary: summary, Rationale: rationale, PlanID: plan, ContentTypeID: contentType, SourceKind: sourceKind, SourceID: sourceID, Platforms: platforms, SuggestedFor: day,
				})
			}
			return bound(pr.api.CreateBroadcastIdea, client.CreateBroadcastIdeaInput{
				Title: title.Or(""), Summary: summary, Rationale: rationale, PlanID: plan, ContentTypeID: contentType, SourceKind: sourceKind, SourceID: sourceID, Platforms: platforms, SuggestedFor: day,
			})
		},
	}
}

func (pr *pageRequest) startPlans() *result[client.Page[client.Plan]] {
	return startCall(pr, "broadcast:read", "The content plans",
		bound(pr.api.ListBroadcastPlans, client.ListBroadcastPlansInput{Limit: client.Value(100)}))
}

func (pr *pageRequest) startContentTypes() *result[client.Page[client.ContentType]] {
	return startCall(pr, "context:read", "The content types",
		bound(pr.api.ListContextContentTypes, client.ListContextContentTypesInput{Limit: client.Value(brandRecords)}))
}

func contentTypeName(t client.ContentType) (id, name string) { return t.ID, t.Name.Or("Content type") }
