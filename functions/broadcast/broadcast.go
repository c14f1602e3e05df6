// Package broadcast serves content plans, ideas, posts and connected channels.
//
// It sends nothing. A scheduled post waits for the dispatcher, a separate system that claims the post (publishing), sends it and
// reports published or failed. The API only reads channels; imports write them.
package broadcast

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	const plans, ideas = "/v1/companies/{companyId}/broadcast/plans", "/v1/companies/{companyId}/broadcast/ideas"
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_broadcast_plans", Method: "GET", Path: plans, Scope: auth.BroadcastRead,
			Summary:     "List the content plans, newest first",
			Description: "A plan says what to post about, for whom and when. Its ideas: service_list_broadcast_ideas.",
		}, s.listPlans),
		api.Define(api.Spec{
			ID: "get_broadcast_plan", Method: "GET", Path: plans + "/{planId}", Scope: auth.BroadcastRead,
			Summary: "Get a content plan", Description: "Its brief, audience and period.",
		}, s.getPlan),
		api.Define(api.Spec{
			ID: "create_broadcast_plan", Method: "POST", Path: plans, Scope: auth.BroadcastWrite, Effect: api.Create,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create a content plan",
			Description: "A company has at most 200 (conflict). Creates no ideas and posts nothing.",
		}, s.createPlan),
		api.Define(api.Spec{
			ID: "update_broadcast_plan", Method: "PATCH", Path: plans + "/{planId}", Scope: auth.BroadcastWrite, Effect: api.Write,
			Summary:     "Update a content plan",
			Description: "Changes only what is sent. Its status changes neither ideas nor posts.",
		}, s.updatePlan),
		api.Define(api.Spec{
			ID: "delete_broadcast_plan", Method: "DELETE", Path: plans + "/{planId}", Scope: auth.BroadcastWrite, Effect: api.Destructive,
			Summary:     "Delete a content plan",
			Description: "Its ideas stay and keep its id. To keep it on record instead, update status to archived.",
		}, s.deletePlan),
		api.Define(api.Spec{
			ID: "list_broadcast_ideas", Method: "GET", Path: ideas, Scope: auth.BroadcastRead,
			Summary:     "List content ideas, newest first",
			Description: "An idea is what a post could be about. Its posts: service_list_broadcast_posts.",
		}, s.listIdeas),
		api.Define(api.Spec{
			ID: "get_broadcast_idea", Method: "GET", Path: ideas + "/{ideaId}", Scope: auth.BroadcastRead,
			Summary: "Get a content idea", Description: "What to say, why, and where it comes from.",
		}, s.getIdea),
		api.Define(api.Spec{
			ID: "create_broadcast_idea", Method: "POST", Path: ideas, Scope: auth.BroadcastWrite, Effect: api.Create,
			Summary:     "Create a content idea",
			Description: "People or agents accept or reject it later. Creates no post.",
		}, s.createIdea),
		api.Define(api.Spec{
			ID: "update_broadcast_idea", Method: "PATCH", Path: ideas + "/{ideaId}", Scope: auth.BroadcastWrite, Effect: api.Write,
			Summary:     "Update a content idea",
			Description: "Changes only what is sent. Accepting it creates no post: call service_create_broadcast_post with its id.",
		}, s.updateIdea),
		api.Define(api.Spec{
			ID: "delete_broadcast_idea", Method: "DELETE", Path: ideas + "/{ideaId}", Scope: auth.BroadcastWrite, Effect: api.Destructive,
			Summary:     "Delete a content idea",
			Description: "Its posts stay and keep its id. To keep it on record instead, update status to rejected.",
		}, s.deleteIdea),
		api.Define(api.Spec{
			ID: "list_broadcast_posts", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastRead,
			Summary:     "List posts of every state, latest first",
			Description: "A post belongs to the day of its scheduledFor, or else of its createdAt. Filters combine.",
		}, s.listPosts),
		api.Define(api.Spec{
			ID: "create_broadcast_post", Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastWrite, Effect: api.Create,
			Summary:     "Create a post",
			Description: "A draft unless status is scheduled, which needs scheduledFor. Sends nothing: a dispatcher sends scheduled posts when they are due.",
		}, s.createPost),
		api.Define(api.Spec{
			ID: "get_broadcast_post", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastRead,
			Summary:     "Get a post",
			Description: "externalId and externalUrl are set when the dispatcher has published the post, failureReason when that failed.",
		}, s.getPost),
		api.Define(api.Spec{
			ID: "update_broadcast_post", Method: "PATCH", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastWrite, Effect: api.Write,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Update an unsent post",
			Description: "Changes only what is sent. Sends nothing. status scheduled queues it, or a failed one again, and needs a scheduledFor; draft takes it out. conflict while publishing and once published.",
		}, s.updatePost),
		api.Define(api.Spec{
			ID: "delete_broadcast_post", Method: "DELETE", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastWrite, Effect: api.Destructive,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Delete an unsent post",
			Description: "conflict while publishing and once published.",
		}, s.deletePost),
		api.Define(api.Spec{
			ID: "list_broadcast_channels", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/channels", Scope: auth.BroadcastRead,
			Summary:     "List the connected channels, by platform",
			Description: "A channel is an account on a platform; status says whether its credentials still work. Never returns tokens.",
		}, s.listChannels),
	}
}

type service struct{ store Store }

// Platform is where a post is published.
type Platform string

// Platforms with rules of their own: on X a long post becomes a thread; a push notification has a destination, the segment to
// send to.
const (
	PlatformX    Platform = "x"
	PlatformPush Platform = "push"
)

// Values implements schema.Enum.
func (Platform) Values() []string {
	return []string{string(PlatformX), "instagram", "tiktok", "facebook", "reddit", string(PlatformPush)}
}

// names returns platforms as records have them, which may have other names from an import. nil stays nil.
func names(platforms []Platform) []string {
	if platforms == nil {
		return nil
	}
	out := make([]string, len(platforms))
	for i, p := range platforms {
		out[i] = string(p)
	}
	return out
}
