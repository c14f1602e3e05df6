package broadcast

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
)

// Store keeps content plans, ideas, posts and channels. B stands for <company>#broadcast. A null value is `-` in a key, so that a
// list over all values includes the records without one.
//
//	access                      key                          index
//	plans, one; all             B / plan#<id>                base; bounded, ordered in memory
//	ideas, one                  B / idea#<id>                base
//	ideas of a plan, a status   B#ideas#plan#<plan>#<status> GSI1, sparse
//	ideas of a plan             the same, of every status    GSI1, merged
//	ideas of a status           B#ideas#status#<status>      GSI2
//	ideas, all                  B#ideas                      GSI3
//	posts, one                  B / post#<id>                base
//	posts of an idea            B#posts#idea#<idea>          GSI1, sparse; other filters on the result: an idea has few posts
//	posts of platform, status   B#posts#<platform>#<status>  GSI2, merged when one of the two is given
//	posts, all                  B#posts                      GSI3
//	channels, all               B / channel#<id>             base; bounded, ordered in memory
//
// Sort keys are createdAt#id for ideas and (scheduledFor ?? createdAt)#id for posts, inverted so that the newest comes first and
// null last. A list of posts from one day to another, or earliest first, reads the same partitions with bounds, or backwards. Due posts are the partitions B#posts#<platform>#scheduled, read backwards from the earliest up to now. A scheduled
// post without a time, which only an import can create, is there under its createdAt and is never due.
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

const area = "broadcast"

// The kinds of record, each the first part of its sort keys.
const (
	kindPlan    = "plan"
	kindIdea    = "idea"
	kindPost    = "post"
	kindChannel = "channel"
)

// unset stands for null in a key. No closed list contains it.
const unset = "-"

func recordKey(companyID, kind, recordID string) table.Key {
	return table.Key{PK: table.Partition(companyID, area), SK: table.Join(kind, recordID)}
}

func planKeys(p Plan) table.Keys { return table.Keys{Key: recordKey(p.CompanyID, kindPlan, p.ID)} }

func channelKeys(c Channel) table.Keys {
	return table.Keys{Key: recordKey(c.CompanyID, kindChannel, c.ID)}
}

func ideaKeys(i Idea) table.Keys {
	keys, at, status := table.Keys{Key: recordKey(i.CompanyID, kindIdea, i.ID)}, i.newestFirst(), part(i.Status)
	keys.GSI2 = table.Key{PK: ideasOfStatus(i.CompanyID, status), SK: at}
	keys.GSI3 = table.Key{PK: ideas(i.CompanyID), SK: at}
	if i.PlanID != nil {
		keys.GSI1 = table.Key{PK: ideasOfPlan(i.CompanyID, *i.PlanID, status), SK: at}
	}
	return keys
}

func ideasOfStatus(companyID, status string) string {
	return table.Partition(companyID, area, "ideas", "status", status)
}

func ideasOfPlan(companyID, planID, status string) string {
	return table.Partition(companyID, area, "ideas", "plan", planID, status)
}

func ideas(companyID string) string { return table.Partition(companyID, area, "ideas") }

func postKeys(p Post) table.Keys {
	keys, at := table.Keys{Key: recordKey(p.CompanyID, kindPost, p.ID)}, p.latestFirst()
	if p.IdeaID != nil {
		keys.GSI1 = table.Key{PK: postsOfIdea(p.CompanyID, *p.IdeaID), SK: at}
	}
	keys.GSI2 = table.Key{PK: postsOf(p.CompanyID, part(p.Platform), part(p.Status)), SK: at}
	keys.GSI3 = table.Key{PK: posts(p.CompanyID), SK: at}
	return keys
}

func postsOfIdea(companyID, ideaID string) string {
	return table.Partition(companyID, area, "posts", "idea", ideaID)
}

func postsOf(companyID, platform, status string) string {
	return table.Partition(companyID, area, "posts", platform, status)
}

func posts(companyID string) string { return table.Partition(companyID, area, "posts") }

// part returns the part of a key for a value of a closed list.
func part[T ~string](value *T) string {
	if value == nil {
		return unset
	}
	return string(*value)
}

// parts returns the part of a key for the value of a filter. Without a filter it returns those of all values and of null.
func parts[T ~string](value *T, all []string) []string {
	if value == nil {
		return append(all, unset)
	}
	return []string{string(*value)}
}

// ListPlans returns a page of content plans, newest first.
func (s Store) ListPlans(ctx context.Context, companyID, after string, limit int) (table.Page[Plan], error) {
	plans, err := whole[Plan](ctx, s, companyID, kindPlan)
	return table.PageOf(plans, Plan.newestFirst, after, limit), err
}

// plansMax is how many content plans a company may create. An import may bring more.
const plansMax = 200

// InsertPlan creates a plan with a new id and the current time, and returns it. Returns fault.Conflict when the company has plansMax of
// them.
func (s Store) InsertPlan(ctx context.Context, companyID string, p Plan) (Plan, error) {
	if err := table.Room(ctx, s.table, collection(companyID, kindPlan), plansMax, "content plans"); err != nil {
		return Plan{}, err
	}
	now := s.table.Now()
	p.ID, p.CompanyID, p.CreatedAt, p.UpdatedAt = s.table.NewID(planIDs), companyID, &now, &now
	return p, idempotency.Insert(ctx, s.table, p, planKeys(p), p)
}

// GetPlan returns a plan, or fault.ErrNotFound.
func (s Store) GetPlan(ctx context.Context, companyID, planID string) (Plan, error) {
	return table.Get[Plan](ctx, s.table, recordKey(companyID, kindPlan, planID))
}

// ModifyPlan changes a plan by compare-and-set (table.Modify).
func (s Store) ModifyPlan(ctx context.Context, companyID, planID string, change func(*Plan) error) (Plan, error) {
	return table.Modify(ctx, s.table, recordKey(companyID, kindPlan, planID), planKeys, change)
}

// RemovePlan deletes a plan unless check returns an error (table.Remove).
func (s Store) RemovePlan(ctx context.Context, companyID, planID string, check func(Plan) error) error {
	_, err := table.Remove(ctx, s.table, recordKey(companyID, kindPlan, planID), check)
	return err
}

// ListChannels returns all channels behind a position, ordered by platform.
func (s Store) ListChannels(ctx context.Context, companyID, after string) (table.Page[Channel], error) {
	channels, err := whole[Channel](ctx, s, companyID, kindChannel)
	return table.PageOf(channels, Channel.byPlatform, after, len(channels)), err
}

func whole[T any](ctx context.Context, s Store, companyID, kind string) ([]T, error) {
	return table.Whole[T](ctx, s.table, collection(companyID, kind))
}

func collection(companyID, kind string) table.Collection {
	return table.Collection{Partition: table.Partition(companyID, area), Prefix: table.Join(kind, ""), Consistent: true}
}

// IdeaFilter filters a list of ideas. A nil field matches any value. PlanID must be a well-formed id.
type IdeaFilter struct {
	PlanID *string
	Status *IdeaStatus
}

// ListIdeas returns a page of ideas as JSON texts, newest first.
func (s Store) ListIdeas(ctx context.Context, companyID string, f IdeaFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{After: after, Limit: limit}
	switch {
	case f.PlanID != nil:
		q.Index = table.GSI1
		for _, status := range parts(f.Status, IdeaStatus("").Values()) {
			q.Partitions = append(q.Partitions, ideasOfPlan(companyID, *f.PlanID, status))
		}
	case f.Status != nil:
		q.Index, q.Partitions = table.GSI2, []string{ideasOfStatus(companyID, string(*f.Status))}
	default:
		q.Index, q.Partitions = table.GSI3, []string{ideas(companyID)}
	}
	return table.ListTexts[Idea](ctx, s.table, q)
}

// InsertIdea creates an idea with a new id and the current time, and returns it.
func (s Store) InsertIdea(ctx context.Context, companyID string, i Idea) (Idea, error) {
	now := s.table.Now()
	i.ID, i.CompanyID, i.CreatedAt, i.UpdatedAt = s.table.NewID(ideaIDs), companyID, &now, &now
	return i, idempotency.Insert(ctx, s.table, i, ideaKeys(i), i)
}

// GetIdea returns an idea, or fault.ErrNotFound.
func (s Store) GetIdea(ctx context.Context, companyID, ideaID string) (Idea, error) {
	return table.Get[Idea](ctx, s.table, recordKey(companyID, kindIdea, ideaID))
}

// ModifyIdea changes an idea by compare-and-set (table.Modify). Its index entries move with its plan and status.
func (s Store) ModifyIdea(ctx context.Context, companyID, ideaID string, change func(*Idea) error) (Idea, error) {
	return table.Modify(ctx, s.table, recordKey(companyID, kindIdea, ideaID), ideaKeys, change)
}

// RemoveIdea deletes an idea unless check returns an error (table.Remove).
func (s Store) RemoveIdea(ctx context.Context, companyID, ideaID string, check func(Idea) error) error {
	_, err := table.Remove(ctx, s.table, recordKey(companyID, kindIdea, ideaID), check)
	return err
}

// PostFilter filters and orders a list of posts. A nil field matches any value. IdeaID must be a well-formed id, From and Until
// timestamps. They bound scheduledFor, or createdAt of a post without one, and include their own millisecond.
type PostFilter struct {
	IdeaID      *string
	Platform    *Platform
	Status      *PostStatus
	From, Until *string
	Order       PostOrder // empty: latest first
}

// ListPosts returns a page of posts as JSON texts, latest first unless the filter has another order. It reads no post outside From and
// Until.
func (s Store) ListPosts(ctx context.Context, companyID string, f PostFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{After: after, Limit: limit, Descending: f.Order == OrderAscending} // the keys begin with the latest
	q.From, q.Until = positions(f.From, f.Until)
	switch {
	case f.IdeaID != nil:
		q.Index, q.Partitions, q.Filter = table.GSI1, []string{postsOfIdea(companyID, *f.IdeaID)}, f.onTop()
	case f.Platform == nil && f.Status == nil:
		q.Index, q.Partitions = table.GSI3, []string{posts(companyID)}
	default:
		q.Index = table.GSI2
		for _, platform := range parts(f.Platform, Platform("").Values()) {
			for _, status := range parts(f.Status, PostStatus("").Values()) {
				q.Partitions = append(q.Partitions, postsOf(companyID, platform, status))
			}
		}
	}
	return table.ListTexts[Post](ctx, s.table, q)
}

// onTop returns the filters that are not part of the key when the posts of an idea are read.
func (f PostFilter) onTop() table.Filter {
	out := table.Filter{}
	if f.Platform != nil {
		out["platform"] = table.String(string(*f.Platform))
	}
	if f.Status != nil {
		out["status"] = table.String(string(*f.Status))
	}
	return out
}

// InsertPost creates a post with a new id and the current time, and returns it.
func (s Store) InsertPost(ctx context.Context, companyID string, p Post) (Post, error) {
	now := s.table.Now()
	p.ID, p.CompanyID, p.CreatedAt, p.UpdatedAt = s.table.NewID(postIDs), companyID, &now, &now
	return p, idempotency.Insert(ctx, s.table, p, postKeys(p), p)
}

// GetPost returns a post, or fault.ErrNotFound.
func (s Store) GetPost(ctx context.Context, companyID, postID string) (Post, error) {
	return table.Get[Post](ctx, s.table, recordKey(companyID, kindPost, postID))
}

// ModifyPost changes a post by compare-and-set (table.Modify).
func (s Store) ModifyPost(ctx context.Context, companyID, postID string, change func(*Post) error) (Post, error) {
	return table.Modify(ctx, s.table, recordKey(companyID, kindPost, postID), postKeys, change)
}

// RemovePost deletes a post unless check returns an error (table.Remove).
func (s Store) RemovePost(ctx context.Context, companyID, postID string, check func(Post) error) error {
	_, err := table.Remove(ctx, s.table, recordKey(companyID, kindPost, postID), check)
	return err
}
