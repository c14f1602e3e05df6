// Package broadcast serves content plans, ideas, posts and connected channels.
//
// It sends nothing. A scheduled post waits for the dispatcher, a separate system that claims the post (publishing), sends it and
// reports published or failed. The API only reads plans, ideas and channels; imports write them.
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
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_broadcast_plans", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/plans", Scope: auth.BroadcastRead,
			Summary:     "List content plans",
			Description: "Newest first.",
		}, s.listPlans),
		api.Define(api.Spec{
			ID: "list_broadcast_ideas", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/ideas", Scope: auth.BroadcastRead,
			Summary:     "List content ideas",
			Description: "Newest first.",
		}, s.listIdeas),
		api.Define(api.Spec{
			ID: "list_broadcast_posts", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastRead,
			Summary:     "List posts: drafts, scheduled and published",
			Description: "Latest scheduledFor first; a post without one is ordered by its createdAt. Filters combine.",
		}, s.listPosts),
		api.Define(api.Spec{
			ID: "create_broadcast_post", Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastWrite, Effect: api.Create,
			Summary:     "Create a post",
			Description: "The post is a draft unless status is scheduled, which needs scheduledFor. This call sends nothing: a dispatcher sends scheduled posts when they are due.",
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
			Description: "Changes only the properties that are sent. Updating a post that is publishing or published is a conflict. To queue a post, or to retry a failed one, set status scheduled; it needs a scheduledFor. To unschedule a post, set status draft.",
		}, s.updatePost),
		api.Define(api.Spec{
			ID: "delete_broadcast_post", Method: "DELETE", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastWrite, Effect: api.Destructive,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Delete an unsent post",
			Description: "Deleting a post that is publishing or published is a conflict.",
		}, s.deletePost),
		api.Define(api.Spec{
			ID: "list_broadcast_channels", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/channels", Scope: auth.BroadcastRead,
			Summary:     "List connected platforms and whether their credentials still work",
			Description: "Returns all channels, ordered by platform. Tokens are never returned.",
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
