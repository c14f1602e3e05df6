package broadcast

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// The prefixes of ids.
const (
	planIDs    = "pln"
	ideaIDs    = "ida"
	postIDs    = "pst"
	channelIDs = "chn"
)

// Transfers returns the area's record types for import and export. An import stores a record exactly as given: a post keeps its
// state, times and thread parts, which the API computes or does not let callers set.
func Transfers(t *table.Client) []transfer.Type {
	of := func(kind string) func(string) table.Collection {
		return func(companyID string) table.Collection { return collection(companyID, kind) }
	}
	return []transfer.Type{
		transfer.Keep[createPlanInput](transfer.Stored("content-plan", planIDs, transfer.CheckSize, t, planKeys, func(p *Plan) *string { return &p.CompanyID },
			transfer.Each[Plan](t, of(kindPlan)))),
		transfer.Keep[createIdeaInput](transfer.Stored("content-idea", ideaIDs, transfer.CheckSize, t, ideaKeys, func(i *Idea) *string { return &i.CompanyID },
			transfer.Each[Idea](t, of(kindIdea)))),
		transfer.Keep[createPostInput](transfer.Stored("post", postIDs, checkPost, t, postKeys, func(p *Post) *string { return &p.CompanyID },
			transfer.Each[Post](t, of(kindPost)))),
		transfer.Stored("channel", channelIDs, checkChannel, t, channelKeys, func(c *Channel) *string { return &c.CompanyID },
			transfer.Each[Channel](t, of(kindChannel))),
	}
}

// checkPost and checkChannel check what no body of the API has.

func checkPost(p *Post) []string {
	return append(transfer.CheckWeb("externalUrl", p.ExternalURL), transfer.CheckSize(p)...)
}

func checkChannel(c *Channel) []string {
	return append(transfer.CheckWeb("externalUrl", c.ExternalURL), transfer.CheckSize(c)...)
}
