package broadcast

import (
	"context"
	"encoding/json"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Post is a post for one platform.
type Post struct {
	ID            string          `json:"id"`
	CompanyID     string          `json:"companyId"`
	IdeaID        *string         `json:"ideaId" doc:"the content idea it is based on"`
	Platform      *Platform       `json:"platform" doc:"where to publish it; cannot be changed"`
	Title         *string         `json:"title"`
	Body          *string         `json:"body"`
	ThreadParts   []string        `json:"threadParts" doc:"the parts of the body when it exceeds one post (x: a weight of 280)"`
	Hashtags      []string        `json:"hashtags" doc:"stored as sent"`
	Media         json.RawMessage `json:"media" doc:"pictures and videos, any JSON value"`
	Destination   *string         `json:"destination" doc:"push only: the segment to send to"`
	DeepLink      *string         `json:"deepLink" doc:"the link that the post opens"`
	ScheduledFor  *string         `json:"scheduledFor" format:"date-time" doc:"when the post is due; null: no time is set"`
	Status        *PostStatus     `json:"status" doc:"publishing: the dispatcher is sending it"`
	PublishedAt   *string         `json:"publishedAt" format:"date-time" doc:"when it was published"`
	ExternalID    *string         `json:"externalId" doc:"the platform's own id"`
	ExternalURL   *string         `json:"externalUrl" doc:"the post's URL on the platform"`
	FailureReason *string         `json:"failureReason" doc:"why sending failed"`
	CreatedAt     *string         `json:"createdAt" format:"date-time"`
	UpdatedAt     *string         `json:"updatedAt" format:"date-time"`
}

// PostStatus is the state of a post. scripts/docs/reference/states.md has the allowed changes.
type PostStatus string

// The states of a post. API requests cannot set publishing, published and failed; the dispatcher and imports do.
const (
	PostStatusDraft      PostStatus = "draft"
	PostStatusScheduled  PostStatus = "scheduled"
	PostStatusPublishing PostStatus = "publishing"
	PostStatusPublished  PostStatus = "published"
	PostStatusFailed     PostStatus = "failed"
)

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

// latestFirst returns the position of a post in a list. Posts are ordered by scheduledFor, latest first; a post without one is
// ordered by createdAt. The id breaks ties.
func (p Post) latestFirst() string {
	return table.Join(table.Newest(table.FirstTime(p.ScheduledFor, p.CreatedAt)), p.ID)
}

// positions returns the least and the greatest position of the posts from one time until another, both inclusive; null is no bound.
// With a bound, posts without any time are outside.
func positions(from, until *string) (least, greatest string) {
	if from == nil && until == nil {
		return "", ""
	}
	if until != nil {
		least = table.Newest(until)
	}
	greatest = table.Newest(from) // null: before the posts without any time
	if from != nil {
		greatest = table.Join(greatest, afterIDs)
	}
	return least, greatest
}

// afterIDs sorts after every id.
const afterIDs = "~"

// sent reports whether a post is publishing or published. If so, the API must not change it. A post without a status, which an
// import may create, is not sent.
func (p Post) sent() bool {
	return p.Status != nil && (*p.Status == PostStatusPublishing || *p.Status == PostStatusPublished)
}

func (p Post) checkUnsent() error {
	if p.sent() {
		return fault.New(fault.Conflict, "the post is %s; only unsent posts can be edited or deleted", *p.Status)
	}
	return nil
}

// setStatus changes the status of an unsent post. If the post had failed, it also clears failureReason.
func (p *Post) setStatus(to PostStatus) {
	if p.Status != nil && *p.Status == PostStatusFailed {
		p.FailureReason = nil
	}
	p.Status = &to
}

// Messages that create and update share.
const (
	needsPush = "body.destination: is allowed only when platform is push"
	needsTime = "body.scheduledFor: is required when status is scheduled"
)

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
	if timestamp.Reversed(in.From, in.To) {
		return []string{"query.from: must not be after to"}
	}
	return nil
}

// PostOrder is the order of a list by time.
type PostOrder string

// OrderAscending is earliest first.
const OrderAscending PostOrder = "asc"

// Values implements schema.Enum.
func (PostOrder) Values() []string { return []string{"desc", string(OrderAscending)} }

// listPosts lists posts. A malformed ideaId matches nothing, like an unknown one.
func (s service) listPosts(ctx context.Context, caller api.Caller, in listPostsInput) (api.List[Post], error) {
	if in.IdeaID != nil && !id.Valid(ideaIDs, *in.IdeaID) {
		return api.List[Post]{}, nil
	}
	filter := PostFilter{IdeaID: in.IdeaID, Platform: in.Platform, Status: in.Status, Order: in.Order}
	if in.From != nil {
		day, _ := timestamp.ParseDay(*in.From) // validated
		filter.From = new(timestamp.Format(day))
	}
	if in.To != nil {
		day, _ := timestamp.ParseDay(*in.To)
		filter.Until = new(timestamp.Format(day.AddDate(0, 0, 1).Add(-time.Millisecond)))
	}
	posts, err := s.store.ListPosts(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Post]{}, err
	}
	return api.NewTextList[Post](posts), nil
}

type createPostInput struct {
	api.Idempotent

	Platform     Platform            `json:"platform" doc:"where to publish it; cannot be changed later"`
	Title        *string             `json:"title" max:"200" doc:"a headline, where the platform has one"`
	Body         string              `json:"body" max:"10000" doc:"on x, what weighs more than 280 becomes a thread: an emoji or a Chinese character weighs 2, a link 23" tool:"what weighs over 280 becomes a thread on x"`
	Hashtags     []string            `json:"hashtags" items:"50" each:"200" doc:"stored as sent"`
	IdeaID       *string             `json:"ideaId" ref:"ida" doc:"the content idea it is based on"`
	Destination  *string             `json:"destination" max:"200" doc:"push only: the segment to send to"`
	DeepLink     *string             `json:"deepLink" max:"2000" doc:"the link that the post opens"`
	ScheduledFor *string             `json:"scheduledFor" format:"date-time" doc:"when to send it; the past is due at once"`
	Status       *SettablePostStatus `json:"status" doc:"draft when omitted; scheduled needs scheduledFor"`
}

// Check implements api.Checker.
func (in createPostInput) Check() (out []string) {
	if in.Destination != nil && in.Platform != PlatformPush {
		out = append(out, needsPush)
	}
	if in.Status != nil && *in.Status == SettablePostStatus(PostStatusScheduled) && in.ScheduledFor == nil {
		out = append(out, needsTime)
	}
	return out
}

// createPost creates a post. It accepts the id of an idea that does not exist: the specification does not require it to exist,
// and imports change ideas at any time, so a check before the write would prove nothing.
func (s service) createPost(ctx context.Context, caller api.Caller, in createPostInput) (Post, error) {
	status := PostStatusDraft
	if in.Status != nil {
		status = PostStatus(*in.Status)
	}
	return s.store.InsertPost(ctx, caller.CompanyID, Post{
		IdeaID: in.IdeaID, Platform: &in.Platform, Title: in.Title, Body: &in.Body,
		ThreadParts: threadParts(&in.Platform, &in.Body), Hashtags: in.Hashtags, Destination: in.Destination,
		DeepLink: in.DeepLink, ScheduledFor: in.ScheduledFor, Status: &status,
	})
}

type getPostInput struct {
	PostID string `path:"postId"`
}

func (s service) getPost(ctx context.Context, caller api.Caller, in getPostInput) (Post, error) {
	return s.store.GetPost(ctx, caller.CompanyID, in.PostID)
}

type updatePostInput struct {
	api.Condition

	PostID       string                  `path:"postId"`
	Title        api.Clearable[*string]  `json:"title" max:"200" doc:"a headline, where the platform has one"`
	Body         *string                 `json:"body" max:"10000" doc:"on x, what weighs more than 280 becomes a thread: an emoji or a Chinese character weighs 2, a link 23" tool:"what weighs over 280 becomes a thread on x"`
	Hashtags     api.Clearable[[]string] `json:"hashtags" items:"50" each:"200" doc:"replaces the list"`
	Destination  api.Clearable[*string]  `json:"destination" max:"200" doc:"push only: the segment to send to"`
	DeepLink     api.Clearable[*string]  `json:"deepLink" max:"2000" doc:"the link that the post opens"`
	ScheduledFor api.Clearable[*string]  `json:"scheduledFor" format:"date-time" doc:"when to send it; the past is due at once; a scheduled post needs one"`
	Status       *SettablePostStatus     `json:"status" doc:"scheduled needs a scheduledFor, sent or stored; draft keeps it"`
}

// empty reports whether the request changes nothing.
func (in updatePostInput) empty() bool {
	return !in.Title.Sent && in.Body == nil && !in.Hashtags.Sent && !in.Destination.Sent && !in.DeepLink.Sent &&
		!in.ScheduledFor.Sent && in.Status == nil
}

// updatePost changes an unsent post. table.Modify writes only if the post is unchanged since apply checked it, so an edit and a
// dispatcher's claim cannot both succeed.
func (s service) updatePost(ctx context.Context, caller api.Caller, in updatePostInput) (Post, error) {
	return s.store.ModifyPost(ctx, caller.CompanyID, in.PostID, in.apply)
}

// apply edits a post, or returns why it cannot be edited. An empty update is accepted in every state. Any other update of a sent
// post is a conflict, even with the stored values.
func (in updatePostInput) apply(p *Post) error {
	if err := in.Condition.Check(*p); err != nil {
		return err
	}
	if in.empty() {
		return nil
	}
	if err := p.checkUnsent(); err != nil {
		return err
	}
	changed := in.Body != nil && (p.Body == nil || *p.Body != *in.Body)
	in.Title.Apply(&p.Title)
	api.Set(&p.Body, in.Body)
	in.Hashtags.Apply(&p.Hashtags)
	in.DeepLink.Apply(&p.DeepLink)
	in.Destination.Apply(&p.Destination)
	in.ScheduledFor.Apply(&p.ScheduledFor)
	if in.Status != nil {
		p.setStatus(PostStatus(*in.Status))
	}
	if changed { // imported parts are kept while the body stays the same
		p.ThreadParts = threadParts(p.Platform, p.Body)
	}
	var problems []string
	if in.Destination.Value != nil && (p.Platform == nil || *p.Platform != PlatformPush) {
		problems = append(problems, needsPush)
	}
	if p.status() == string(PostStatusScheduled) && p.ScheduledFor == nil {
		problems = append(problems, needsTime)
	}
	if len(problems) > 0 {
		return &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return nil
}

type deletePostInput struct {
	api.Condition

	PostID string `path:"postId"`
}

func (in deletePostInput) check(p Post) error {
	if err := in.Condition.Check(p); err != nil {
		return err
	}
	return p.checkUnsent()
}

func (s service) deletePost(ctx context.Context, caller api.Caller, in deletePostInput) (api.Deleted, error) {
	if err := s.store.RemovePost(ctx, caller.CompanyID, in.PostID, in.check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.PostID, Deleted: true}, nil
}
