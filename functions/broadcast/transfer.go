package broadcast

import (
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the area's record types for import and export. An import stores records as given: a post keeps its status,
// times and thread, even where the API would compute different values.
func Transfers(t *table.Client) []transfer.Type {
	of := func(kind string) func(string) table.Collection {
		return func(companyID string) table.Collection { return collection(companyID, kind) }
	}
	return []transfer.Type{
		transfer.Define("content-plan", id.Plan, transfer.CheckSize,
			transfer.Put(t, planKeys, func(p *Plan) *string { return &p.CompanyID }), transfer.Each[Plan](t, of(kindPlan))),
		transfer.Define("content-idea", id.Idea, checkIdea,
			transfer.Put(t, ideaKeys, func(i *Idea) *string { return &i.CompanyID }), transfer.Each[Idea](t, of(kindIdea))),
		transfer.Define("post", id.Post, checkPost,
			transfer.Put(t, postKeys, func(p *Post) *string { return &p.CompanyID }), transfer.Each[Post](t, of(kindPost))),
		transfer.Define("channel", id.Channel, transfer.CheckSize,
			transfer.Put(t, channelKeys, func(c *Channel) *string { return &c.CompanyID }), transfer.Each[Channel](t, of(kindChannel))),
	}
}

// planId and ideaId become parts of table keys, so an import checks their form.

func checkIdea(i *Idea) []string {
	return append(transfer.CheckID("planId", id.Plan, i.PlanID), transfer.CheckSize(i)...)
}

func checkPost(p *Post) []string {
	return append(transfer.CheckID("ideaId", id.Idea, p.IdeaID), transfer.CheckSize(p)...)
}
