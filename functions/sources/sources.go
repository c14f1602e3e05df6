// Package sources gives the area overview the operations of the other areas, whose records it
// reads. Package functions cannot do that, because it links the tools, and the Lambda function of an
// area must not.
package sources

import (
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/company"
	brand "growthworkspace/functions/context"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/metrics"
	"growthworkspace/functions/optimise"
	"growthworkspace/functions/overview"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Overview returns the operations of the area overview.
func Overview(t *table.Client) []api.Operation {
	sources := overview.Sources{DraftedPosts: broadcast.NewStore(t).Posts.ListUnread}
	for _, operations := range []api.Operations{
		company.Operations, plan.Operations, feedback.Operations, metrics.Operations,
		optimise.Operations, broadcast.Operations, brand.Operations,
	} {
		sources.Operations = append(sources.Operations, operations(t)...)
	}
	return overview.Operations(t, sources)
}
