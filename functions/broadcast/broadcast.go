// Package broadcast serves content plans, ideas, posts and connected channels.
//
// It sends nothing itself. A scheduled post waits for the dispatcher, a separate program that
// claims the post (status publishing), sends it and reports it published or failed. The API can
// only read channels; imports write them.
package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/record"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t), channels.Store(t)}
	ideaNoun, postNoun := resource.Noun(ideas), resource.Noun(posts)
	plans, ideas := resource.New(plans, plans.Store(t)), resource.New(ideas, s.store.Ideas)
	posts, channels := resource.New(posts, s.store.Posts), resource.New(channels, s.channels)
	return []api.Operation{
		plans.ListShortPages("list_broadcast_plans", "List the content plans, newest first",
			"A plan says what to post about, for whom and when. Its ideas: service_list_broadcast_ideas."),
		plans.Get("get_broadcast_plan", "Get a content plan", "Its brief, audience and period."),
		plans.Create("create_broadcast_plan", "Create a content plan", "A company has at most 200 (conflict). Creates no ideas and posts nothing."),
		plans.Update("update_broadcast_plan", "Update a content plan", "Changes only what is sent. Its status changes neither ideas nor posts."),
		plans.Delete("delete_broadcast_plan", "Delete a content plan",
			"Its ideas stay and keep its id. To keep it on record instead, update status to archived."),
		api.Define(api.Spec{
			ID: "list_broadcast_ideas", Noun: ideaNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/broadcast/ideas", Scope: auth.BroadcastRead,
			Summary:     "List content ideas, newest first",
			Description: "An idea is what a post could be about. Its posts: service_list_broadcast_posts.",
		}, s.listIdeas),
		ideas.Get("get_broadcast_idea", "Get a content idea", "What to say, why, and where it comes from."),
		api.Define(api.Spec{
			ID: "create_broadcast_idea", Noun: ideaNoun, Method: "POST", Path: "/v1/companies/{companyId}/broadcast/ideas",
			Scope: auth.BroadcastWrite, DraftScope: auth.BroadcastDraft, Effect: api.Create,
			Summary:     "Create a content idea",
			Description: "People or agents accept or reject it later. Creates no post.",
		}, s.createIdea),
		api.Define(api.Spec{
			ID: "update_broadcast_idea", Method: "PATCH", Path: "/v1/companies/{companyId}/broadcast/ideas/{ideaId}",
			Noun: ideaNoun, Scope: auth.BroadcastWrite, DraftScope: auth.BroadcastDraft, Effect: api.Write,
			Summary:     "Update a content idea",
			Description: "Changes only what is sent. Accepting it creates no post: call service_create_broadcast_post with its id.",
		}, s.updateIdea),
		ideas.Delete("delete_broadcast_idea", "Delete a content idea",
			"Its posts stay and keep its id. To keep it on record instead, update status to rejected."),
		api.Define(api.Spec{
			ID: "list_broadcast_posts", Noun: postNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/broadcast/posts", Scope: auth.BroadcastRead,
			Summary:     "List posts of every state, latest first",
			Description: "A post belongs to the day of its scheduledFor, or else of its createdAt. Filters combine.",
		}, s.listPosts),
		api.AddNote(api.Define(api.Spec{
			ID: "create_broadcast_post", Noun: postNoun, Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts",
			Scope: auth.BroadcastWrite, DraftScope: auth.BroadcastDraft, Effect: api.Create,
			Summary:     "Create a post",
			Description: "A draft unless status is scheduled, which needs scheduledFor. Sends nothing: a dispatcher sends scheduled posts when they are due.",
		}, s.createPost), func(ctx context.Context, caller api.Caller, _ createPostInput, p Post) string {
			return s.channelNote(ctx, caller.CompanyID, p)
		}),
		posts.Get("get_broadcast_post", "Get a post",
			"externalId and externalUrl are set when the dispatcher has published the post, failureReason when that failed."),
		api.AddNote(api.Define(api.Spec{
			ID: "update_broadcast_post", Method: "PATCH", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}",
			Noun: postNoun, Scope: auth.BroadcastWrite, DraftScope: auth.BroadcastDraft, Effect: api.Write,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Update an unsent post",
			Description: "Changes only what is sent. Sends nothing. status scheduled queues it, or a failed one again, and needs a scheduledFor; draft takes it out. conflict while publishing, once published, and when it schedules what a key that only drafts wrote, without its ETag or text.",
		}, s.updatePost), func(ctx context.Context, caller api.Caller, in updatePostInput, p Post) string {
			if !in.Sent("status") && !in.Sent("scheduledFor") {
				return ""
			}
			return s.channelNote(ctx, caller.CompanyID, p)
		}),
		posts.Delete("delete_broadcast_post", "Delete an unsent post", "conflict while publishing and once published.", fault.Conflict),
		api.Define(api.Spec{
			ID: "list_due_posts", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/due", Scope: auth.BroadcastSend, NotTool: true,
			Summary:     "List the posts that are due, the earliest first",
			Description: "Scheduled for now or before, and not claimed. Claim a post before you send it.",
		}, s.listDuePosts),
		api.CheckReplay(api.Define(api.Spec{
			ID: "claim_broadcast_post", Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}/claim",
			Noun: postNoun, Scope: auth.BroadcastSend, Effect: api.Write, NotTool: true, Errors: []fault.Code{fault.Conflict},
			Summary: "Claim a post to send it",
			Description: "Moves a post that is due or failed to publishing, for one caller: conflict for every other. Send the post that the " +
				"response contains, then report. A claim does not expire. With an Idempotency-Key, a retry gets the claim again only while " +
				"it still locks the post, and otherwise conflict: then do not send it.",
		}, s.claimPost), s.checkClaim),
		api.Define(api.Spec{
			ID: "report_broadcast_post", Method: "POST", Path: "/v1/companies/{companyId}/broadcast/posts/{postId}/report",
			Noun: postNoun, Scope: auth.BroadcastSend, Effect: api.Write, NotTool: true, Errors: []fault.Code{fault.Conflict},
			Summary: "Report what happened to a claimed post",
			Description: "Ends the claim. The same report again succeeds; a different one, or one with another claim's id, is a conflict. Report " +
				"failed or retry only for a post that was not sent, because it can be sent again.",
		}, s.reportPost),
		api.Define(api.Spec{
			ID: "list_post_claims", Method: "GET", Path: "/v1/companies/{companyId}/broadcast/claims", Scope: auth.BroadcastSend, NotTool: true,
			Summary:     "List the posts that are claimed, with their claims",
			Description: "In the order of service_list_broadcast_posts. An old claim is that of a program that died: look at the platform, then report in its place.",
		}, s.listPostClaims),
		channels.ListAll("list_broadcast_channels", "List the connected channels, by platform",
			"A channel is an account on a platform; status says whether its credentials still work. Never returns tokens."),
	}
}

type service struct {
	store    Store
	channels record.Store[Channel]
}

// Platform is where a post is published.
type Platform string

// Platforms with special rules. On X, a long post becomes a thread. A push notification has a
// destination, which is the segment that it is sent to.
const (
	PlatformX    Platform = "x"
	PlatformPush Platform = "push"
)

// Values implements schema.Enum.
func (Platform) Values() []string {
	return []string{string(PlatformX), "instagram", "tiktok", "facebook", "reddit", string(PlatformPush)}
}

// PlatformName is the name of a platform in a stored record. Requests accept only the values of
// Platform. Imports also accept other names.
type PlatformName string

// RequestType implements schema.RequestEnum.
func (PlatformName) RequestType() schema.Enum { return Platform("") }
