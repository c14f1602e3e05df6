package broadcast

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/record"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/thread"
	"growthworkspace/shared/timestamp"
)

// Post is a post for one platform.
type Post struct {
	ID            string          `json:"id"`
	CompanyID     string          `json:"companyId"`
	IdeaID        *string         `json:"ideaId" set:"optional,create" ref:"ida" doc:"the content idea it is based on"`
	Platform      *Platform       `json:"platform" set:"required,create,first" doc:"where to publish it; cannot be changed later"`
	Title         *string         `json:"title" set:"optional,first" max:"200" doc:"a headline, where the platform has one"`
	Body          *string         `json:"body" set:"required,first" max:"10000" doc:"on x, what weighs more than 280 becomes a thread: an emoji or a Chinese character weighs 2, a link 23" tool:"what weighs over 280 becomes a thread on x"`
	ThreadParts   []string        `json:"threadParts" doc:"the parts of the body when it exceeds one post (x: a weight of 280)"`
	Hashtags      []string        `json:"hashtags" set:"optional,first" items:"50" each:"200" doc:"stored as sent"`
	Media         json.RawMessage `json:"media" set:"optional" items:"10" doc:"its pictures and videos, in order; an import may have stored any other JSON" tool:"its pictures and videos"`
	Destination   *string         `json:"destination" set:"optional" max:"200" doc:"push only: the segment to send to"`
	DeepLink      *string         `json:"deepLink" set:"optional" max:"2000" doc:"the link that the post opens"`
	ScheduledFor  *string         `json:"scheduledFor" set:"optional" format:"date-time" doc:"when to send it; the past is due at once; null: no time is set; a scheduled post needs one" tool:"when to send it; the past is due at once"`
	Status        *PostStatus     `json:"status" set:"filled" doc:"draft when a create leaves it out; scheduled needs a scheduledFor, sent or stored, and draft keeps it; the dispatcher sets the other states, such as publishing while it sends the post" tool:"scheduled needs a scheduledFor, sent or stored; draft keeps it"`
	PublishedAt   *string         `json:"publishedAt" format:"date-time" doc:"when it was published"`
	ExternalID    *string         `json:"externalId" doc:"the platform's own id"`
	ExternalURL   *string         `json:"externalUrl" format:"web" doc:"the post's URL on the platform"`
	FailureReason *string         `json:"failureReason" doc:"why sending failed"`
	CreatedAt     *string         `json:"createdAt" format:"date-time"`
	UpdatedAt     *string         `json:"updatedAt" format:"date-time"`

	Drafted []string `json:"-" store:"drafted,silent" transfer:"drafted"` // the properties last written by a key that may only draft; see api.DraftRule
}

// Medium is a picture or video of a post, as requests send it. The service stores its address and
// never fetches it.
type Medium struct {
	URL  string     `json:"url" format:"web" max:"2000" doc:"its web address"`
	Kind MediumKind `json:"kind" doc:"picture or video"`
	Alt  *string    `json:"alt,omitempty" max:"1000" doc:"what it shows, for people who cannot see it" tool:"what it shows"`
}

// MediumKind is the kind of a Medium.
type MediumKind string

// Values implements schema.Enum.
func (MediumKind) Values() []string { return []string{"image", "video"} }

// ElementType implements schema.ElementTyper.
func (Post) ElementType(property string) reflect.Type {
	if property == "media" {
		return reflect.TypeFor[Medium]()
	}
	return nil
}

// postDrafts is the rule for keys that may only draft. Its properties determine what is published,
// where it leads, who gets it and when. Properties that never change are not included. The time
// need not be read by a caller who replaces it.
var postDrafts = api.DraftRule[Post]{
	IsDraft:    func(p Post) bool { return p.hasStatus(PostStatusDraft) },
	Check:      Post.checkUnsent,
	IsApproved: func(p Post) bool { return p.hasStatus(PostStatusScheduled) },
	Properties: []string{"title", "body", "hashtags", "media", "destination", "deepLink", scheduledForProperty},
	Decided:    scheduledForProperty,
	Drafted:    func(p *Post) *[]string { return &p.Drafted },
}

const scheduledForProperty = "scheduledFor"

// PostStatus is the state of a post. scripts/docs/reference/states.md lists the allowed
// transitions.
type PostStatus string

// The states of a post. API requests cannot set publishing, published or failed; only the
// dispatcher and imports can.
const (
	PostStatusDraft      PostStatus = "draft"
	PostStatusScheduled  PostStatus = "scheduled"
	PostStatusPublishing PostStatus = "publishing"
	PostStatusPublished  PostStatus = "published"
	PostStatusFailed     PostStatus = "failed"
)

// RequestType implements schema.RequestEnum.
func (PostStatus) RequestType() schema.Enum { return SettablePostStatus("") }

// Values implements schema.Enum.
func (PostStatus) Values() []string {
	return []string{
		string(PostStatusDraft), string(PostStatusScheduled), string(PostStatusPublishing), string(PostStatusPublished), string(PostStatusFailed),
	}
}

// SettablePostStatus is a state that API requests can set.
type SettablePostStatus string

// Values implements schema.Enum.
func (SettablePostStatus) Values() []string {
	return []string{string(PostStatusDraft), string(PostStatusScheduled)}
}

// Drafts implements schema.DraftEnum: a key that may only draft cannot schedule a post.
func (SettablePostStatus) Drafts() []string { return []string{string(PostStatusDraft)} }

// sortKey returns the sort position of a post in a list. Posts are ordered by scheduledFor,
// latest first; a post without scheduledFor is ordered by its createdAt. The id breaks ties.
func (p Post) sortKey() string {
	return table.JoinKey(table.DescendingTimeKey(table.FirstSetTime(p.ScheduledFor, p.CreatedAt)), p.ID)
}

// sortKeyBounds returns the minimum and maximum sort position of the posts between two times, both
// inclusive; nil means unbounded. If either bound is given, posts without a time are excluded.
func sortKeyBounds(from, until *string) (lowest, highest string) {
	if from == nil && until == nil {
		return "", ""
	}
	if until != nil {
		lowest = table.DescendingTimeKey(until)
	}
	highest = table.DescendingTimeKey(from) // if from is nil, this sorts just before the keys of posts without a time
	if from != nil {
		highest = table.JoinKey(highest, afterAllIDs)
	}
	return lowest, highest
}

// afterAllIDs sorts after every id.
const afterAllIDs = "~"

// isSent reports whether a post is publishing or published, and so can no longer be changed through
// the API. A post without a status, which an import may create, is not sent.
func (p Post) isSent() bool {
	return p.Status != nil && (*p.Status == PostStatusPublishing || *p.Status == PostStatusPublished)
}

func (p Post) checkUnsent() error {
	if p.isSent() {
		return fault.New(fault.Conflict, "the post is %s; only unsent posts can be edited or deleted", *p.Status)
	}
	return nil
}

// Problems implements schema.RecordValidator: only a push notification may have a destination, and
// a scheduled post must have a scheduledFor.
func (p Post) Problems(sent func(string) bool) (out []string) {
	if sent("destination") && p.Destination != nil && (p.Platform == nil || *p.Platform != PlatformPush) {
		out = append(out, "body.destination: is allowed only when platform is push")
	}
	if p.hasStatus(PostStatusScheduled) && p.ScheduledFor == nil {
		out = append(out, "body.scheduledFor: is required when status is scheduled")
	}
	return out
}

var posts = record.Kind[Post]{
	Name: "post", Plural: "posts", Prefix: "pst", Path: "broadcast/posts", Parameter: "postId", SortPrefix: "post",
	Change: "post", Columns: "scheduledFor:scheduled status platform body title publishedAt:published failureReason",
	Indexes: Post.indexKeys,
}

type listPostsInput struct {
	Limit    int64       `query:"limit" default:"50" min:"1" max:"200"`
	Platform *Platform   `query:"platform" doc:"posts for this platform"`
	Status   *PostStatus `query:"status" doc:"posts with this status"`
	IdeaID   *string     `query:"ideaId" max:"50" doc:"posts based on this idea"`
	From     *string     `query:"from" format:"day" doc:"first day, inclusive, UTC"`
	To       *string     `query:"to" format:"day" doc:"last day, inclusive, UTC"`
	Order    PostOrder   `query:"order" default:"desc" doc:"asc: earliest first"`
	Cursor   api.Cursor  `query:"cursor"`
}

// Check implements api.Checker.
func (in listPostsInput) Check() []string {
	if timestamp.IsReversed(in.From, in.To) {
		return []string{"query.from: must not be after to"}
	}
	return nil
}

// PostOrder is the order of a list of posts by time.
type PostOrder string

// OrderAscending lists the earliest post first.
const OrderAscending PostOrder = "asc"

// Values implements schema.Enum.
func (PostOrder) Values() []string { return []string{"desc", string(OrderAscending)} }

// threadParts returns the posts of the thread into which a body is split, or nil if it is not
// split. The specification sets no limit for platforms other than X, so only posts on X are split.
func threadParts(platform *Platform, body *string) []string {
	if platform == nil || *platform != PlatformX || body == nil {
		return nil
	}
	return thread.Parts(*body)
}

// listPosts lists posts. Like an unknown ideaId, a malformed one matches nothing.
func (s service) listPosts(ctx context.Context, caller api.Caller, in listPostsInput) (api.List[Post], error) {
	if in.IdeaID != nil && !id.Valid(ideas.Prefix, *in.IdeaID) {
		return api.List[Post]{}, nil
	}
	filter := PostFilter{IdeaID: in.IdeaID, Platform: in.Platform, Status: in.Status, Order: in.Order}
	if in.From != nil {
		day, _ := timestamp.ParseDay(*in.From) // already validated
		filter.From = new(timestamp.Format(day))
	}
	if in.To != nil {
		day, _ := timestamp.ParseDay(*in.To)
		filter.Until = new(timestamp.Format(day.AddDate(0, 0, 1).Add(-time.Millisecond)))
	}
	page, err := s.store.Posts.List(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Post]{}, err
	}
	return api.NewJSONList[Post](page), nil
}

type createPostInput struct{ api.CreateBody[Post] }

// createPost creates a post. It does not check whether its idea exists. The specification does not
// require that, and imports change ideas at any time, so a check before the write would guarantee
// nothing.
func (s service) createPost(ctx context.Context, caller api.Caller, in createPostInput) (Post, error) {
	p := in.Record
	if p.Status == nil {
		p.Status = new(PostStatusDraft)
	}
	p.ThreadParts = threadParts(p.Platform, p.Body)
	in.MarkDrafted(&p, caller, &postDrafts)
	return s.store.Posts.Insert(ctx, caller.CompanyID, p)
}

type updatePostInput struct {
	api.UpdateBody[Post]

	PostID string `path:"postId"`
}

// updatePost changes an unsent post. table.Modify writes only if the post has not changed since the
// checks, so an edit and a dispatcher's claim cannot both succeed.
func (s service) updatePost(ctx context.Context, caller api.Caller, in updatePostInput) (Post, error) {
	return s.store.Posts.Modify(ctx, caller.CompanyID, in.PostID, func(p *Post) error {
		before := *p
		if err := in.EditDrafted(p, caller, &postDrafts); err != nil {
			return err
		}
		if in.Sent("status") && before.hasStatus(PostStatusFailed) {
			p.FailureReason = nil
		}
		if in.Sent("body") && (before.Body == nil || *before.Body != *p.Body) { // imported threadParts are kept unless the body changes
			p.ThreadParts = threadParts(p.Platform, p.Body)
		}
		return nil
	})
}
