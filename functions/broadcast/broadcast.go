// Package broadcast is the area of content plans, ideas, posts and connected channels (spec.md, Broadcast).
//
// Nothing here sends: a post that is scheduled waits for the dispatcher, a separate system that claims it by moving it
// to publishing and reports published or failed (decisions.md §3). Plans, ideas and channels are read only; an import
// writes them.
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
			Description: "The latest scheduledFor first, createdAt where a post has none. Filters combine.",
		}, s.listPosts),
		api.Define(api.Spec{
			ID: "create_broadcast_post", Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastWrite, Effect: api.Write,
			Summary:     "Create a post",
			Description: "The post is a draft unless status is scheduled, which needs scheduledFor. This call sends nothing: a dispatcher picks scheduled posts up.",
		}, s.createPost),
		api.Define(api.Spec{
			ID: "get_broadcast_post", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastRead,
			Summary:     "Get a post",
			Description: "externalId and externalUrl are there once the dispatcher has published it, failureReason when that failed.",
		}, s.getPost),
		api.Define(api.Spec{
			ID: "update_broadcast_post", Method: "PATCH", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastWrite, Effect: api.Write,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Update a post that is not sent yet",
			Description: "Changes the properties that are sent and leaves the others alone. A post that is publishing or published answers conflict. To queue a post, set scheduledFor and status scheduled; to take it back or to try a failed one again, set status.",
		}, s.updatePost),
		api.Define(api.Spec{
			ID: "delete_broadcast_post", Method: "DELETE", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}", Scope: auth.BroadcastWrite, Effect: api.Destructive,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Delete a post that is not sent yet",
			Description: "A post that is publishing or published answers conflict.",
		}, s.deletePost),
		api.Define(api.Spec{
			ID: "list_broadcast_channels", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/channels", Scope: auth.BroadcastRead,
			Summary:     "List connected platforms and whether their credentials still work",
			Description: "All of them, by platform. Never a token.",
		}, s.listChannels),
	}
}

type service struct{ store Store }

// Platform is where posts go (spec.md, Post).
type Platform string

// PlatformX has short posts, which become threads; PlatformPush sends to a segment, a post's destination.
const (
	PlatformX    Platform = "x"
	PlatformPush Platform = "push"
)

// Values is schema.Enum.
func (Platform) Values() []string {
	return []string{string(PlatformX), "instagram", "tiktok", "facebook", "reddit", string(PlatformPush)}
}
