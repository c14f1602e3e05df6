package broadcast

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Post is a post (spec.md, Post).
type Post struct {
	ID            string          `json:"id"`
	CompanyID     string          `json:"companyId"`
	IdeaID        *string         `json:"ideaId" doc:"the content idea that it was made from"`
	Platform      *Platform       `json:"platform" doc:"where it goes; cannot be changed"`
	Title         *string         `json:"title"`
	Body          *string         `json:"body"`
	ThreadParts   []string        `json:"threadParts" doc:"set when the body exceeds one post (x: 280 characters)"`
	Hashtags      []string        `json:"hashtags" doc:"as they were sent"`
	Media         json.RawMessage `json:"media" doc:"pictures and videos, any JSON value"`
	Destination   *string         `json:"destination" doc:"push only: the segment to send to"`
	DeepLink      *string         `json:"deepLink" doc:"where a reader is taken"`
	ScheduledFor  *string         `json:"scheduledFor" format:"date-time" doc:"when it is due; null: not scheduled"`
	Status        *PostStatus     `json:"status" doc:"publishing: the dispatcher is sending it"`
	PublishedAt   *string         `json:"publishedAt" format:"date-time" doc:"when it went out"`
	ExternalID    *string         `json:"externalId" doc:"the platform's own id"`
	ExternalURL   *string         `json:"externalUrl" doc:"the post's address on the platform"`
	FailureReason *string         `json:"failureReason" doc:"why sending failed"`
	CreatedAt     *string         `json:"createdAt" format:"date-time"`
	UpdatedAt     *string         `json:"updatedAt" format:"date-time"`
}

// PostStatus is how far a post is on its way out (decisions.md §3).
type PostStatus string

// The states of a post. From publishing on it is the dispatcher's.
const (
	PostStatusDraft      PostStatus = "draft"
	PostStatusScheduled  PostStatus = "scheduled"
	PostStatusPublishing PostStatus = "publishing"
	PostStatusPublished  PostStatus = "published"
	PostStatusFailed     PostStatus = "failed"
)

// Values is schema.Enum.
func (PostStatus) Values() []string {
	return []string{
		string(PostStatusDraft), string(PostStatusScheduled), string(PostStatusPublishing), string(PostStatusPublished), string(PostStatusFailed),
	}
}

// SettableStatus is a state that a caller may give to a post; the others are the dispatcher's to set.
type SettableStatus string

// Values is schema.Enum.
func (SettableStatus) Values() []string {
	return []string{string(PostStatusDraft), string(PostStatusScheduled)}
}

// latestFirst is the order of posts (decisions.md §1): the later they go out the earlier they come, and those that have
// no time for that stand where they were created.
func (p Post) latestFirst() string {
	return table.Join(table.Newest(table.FirstTime(p.ScheduledFor, p.CreatedAt)), p.ID)
}

// sent tells whether a post is on its way or out, from where on nobody may change it by the API. A post without a
// status, which an import may bring, is not.
func (p Post) sent() bool {
	return p.Status != nil && (*p.Status == PostStatusPublishing || *p.Status == PostStatusPublished)
}

func (p Post) checkUnsent() error {
	if p.sent() {
		return fault.New(fault.Conflict, "the post is %s; only unsent posts can be edited or deleted", *p.Status)
	}
	return nil
}

// setStatus moves a post that is not sent. Only a failed one has a failure to forget.
func (p *Post) setStatus(to PostStatus) {
	if p.Status != nil && *p.Status == PostStatusFailed {
		p.FailureReason = nil
	}
	p.Status = &to
}

// The texts of what is wrong with more than one field at once.
const (
	needsPush = "body.destination: is for the platform push only"
	needsTime = "body.scheduledFor: is required when status is scheduled"
)

type listPostsInput struct {
	Limit    int64       `query:"limit" default:"50" min:"1" max:"200" doc:"how many records at most"`
	Platform *Platform   `query:"platform" doc:"for this platform only"`
	Status   *PostStatus `query:"status" doc:"with this status only"`
	IdeaID   *string     `query:"ideaId" max:"50" doc:"made from this content idea only"`
	Cursor   api.Cursor  `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

// listPosts lists posts. An ideaId that no idea can have is a filter that matches nothing, as one that no post has.
func (s service) listPosts(ctx context.Context, caller api.Caller, in listPostsInput) (api.List[Post], error) {
	if in.IdeaID != nil && !id.Valid(ideaIDs, *in.IdeaID) {
		return api.NewList[Post](nil, ""), nil
	}
	filter := PostFilter{IdeaID: in.IdeaID, Platform: in.Platform, Status: in.Status}
	posts, next, err := s.store.ListPosts(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Post]{}, err
	}
	return api.NewTextList[Post](posts, next), nil
}

type createPostInput struct {
	api.Idempotent

	Platform     Platform        `json:"platform" doc:"where it goes; cannot be changed afterwards"`
	Title        *string         `json:"title" max:"200"`
	Body         string          `json:"body" max:"10000" doc:"on x, more than 280 characters become a thread"`
	Hashtags     []string        `json:"hashtags" items:"50" each:"200" doc:"stored as they are sent"`
	IdeaID       *string         `json:"ideaId" max:"50" pattern:"ideaId" doc:"the content idea that it is made from"`
	Destination  *string         `json:"destination" max:"200" doc:"push only: the segment to send to"`
	DeepLink     *string         `json:"deepLink" max:"2000" doc:"where a reader is taken"`
	ScheduledFor *string         `json:"scheduledFor" format:"date-time" doc:"omit to leave unscheduled; a time in the past is due at once"`
	Status       *SettableStatus `json:"status" doc:"draft when omitted; scheduled needs scheduledFor"`
}

// Check is api.Checker.
func (in createPostInput) Check() (out []string) {
	if in.Destination != nil && in.Platform != PlatformPush {
		out = append(out, needsPush)
	}
	if in.Status != nil && *in.Status == SettableStatus(PostStatusScheduled) && in.ScheduledFor == nil {
		out = append(out, needsTime)
	}
	return out
}

// createPost creates a post. The specification does not say whether the idea must exist; we take any idea's id, because
// ideas come and go by other ways than this API and a look before the write would promise what may be false after it.
func (s service) createPost(ctx context.Context, caller api.Caller, in createPostInput) (Post, error) {
	status := PostStatusDraft
	if in.Status != nil {
		status = PostStatus(*in.Status)
	}
	return s.store.InsertPost(ctx, caller.CompanyID, Post{
		IdeaID: in.IdeaID, Platform: &in.Platform, Title: in.Title, Body: &in.Body,
		ThreadParts: threadParts(&in.Platform, &in.Body), Hashtags: in.Hashtags, Destination: in.Destination,
		DeepLink: in.DeepLink, ScheduledFor: normalised(in.ScheduledFor), Status: &status,
	})
}

func normalised(sent *string) *string {
	if sent == nil {
		return nil
	}
	text := timestamp.Normalise(*sent)
	return &text
}

type getPostInput struct {
	PostID string `path:"postId"`
}

func (s service) getPost(ctx context.Context, caller api.Caller, in getPostInput) (Post, error) {
	return s.store.GetPost(ctx, caller.CompanyID, in.PostID)
}

type updatePostInput struct {
	api.Condition

	PostID       string          `path:"postId"`
	Title        *string         `json:"title" max:"200"`
	Body         *string         `json:"body" max:"10000" doc:"on x, more than 280 characters become a thread"`
	Hashtags     []string        `json:"hashtags" items:"50" each:"200" doc:"replaces the whole list"`
	Destination  *string         `json:"destination" max:"200" doc:"push only: the segment to send to"`
	DeepLink     *string         `json:"deepLink" max:"2000"`
	ScheduledFor *string         `json:"scheduledFor" format:"date-time" doc:"a time in the past is due at once"`
	Status       *SettableStatus `json:"status" doc:"scheduled needs a stored or sent scheduledFor; draft keeps it"`
}

// empty tells whether nothing is to be changed.
func (in updatePostInput) empty() bool {
	return in.Title == nil && in.Body == nil && in.Hashtags == nil && in.Destination == nil && in.DeepLink == nil &&
		in.ScheduledFor == nil && in.Status == nil
}

// updatePost changes a post that is not sent. Every rule of apply is a condition on the write itself (table.Modify), so
// that an edit and the dispatcher's claim never both win.
func (s service) updatePost(ctx context.Context, caller api.Caller, in updatePostInput) (Post, error) {
	return s.store.ModifyPost(ctx, caller.CompanyID, in.PostID, in.apply)
}

// apply edits a post, or says why it must not be edited (decisions.md §3). An empty update changes nothing, so a post
// in any state takes it (decisions.md §1); whatever else is sent to a sent post is refused, even its own values.
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
	api.Set(&p.Title, in.Title)
	api.Set(&p.Body, in.Body)
	api.SetList(&p.Hashtags, in.Hashtags)
	api.Set(&p.DeepLink, in.DeepLink)
	api.Set(&p.ScheduledFor, normalised(in.ScheduledFor))
	if changed { // the parts that an import brought stay as long as their text does
		p.ThreadParts = threadParts(p.Platform, p.Body)
	}
	var problems []string
	if in.Destination != nil {
		if p.Platform == nil || *p.Platform != PlatformPush {
			problems = append(problems, needsPush)
		}
		p.Destination = in.Destination
	}
	if in.Status != nil {
		if *in.Status == SettableStatus(PostStatusScheduled) && p.ScheduledFor == nil {
			problems = append(problems, needsTime)
		}
		p.setStatus(PostStatus(*in.Status))
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
