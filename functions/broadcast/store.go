package broadcast

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/record"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// Store keeps content plans, ideas, posts and channels. B stands for <company>#broadcast. In a key,
// null is represented by `-`, so a list over all values of a field includes the records in which it
// is null.
//
//	access                      key                          index
//	plans, one; all             B / plan#<id>                base; bounded, ordered in memory
//	ideas, one                  B / idea#<id>                base
//	ideas of a plan, a status   B#ideas#plan#<plan>#<status> GSI1, sparse
//	ideas of a plan             the same, of every status    GSI1, merged
//	ideas of a status           B#ideas#status#<status>      GSI2
//	ideas, all                  B#ideas                      GSI3
//	posts, one                  B / post#<id>                base
//	posts of an idea            B#posts#idea#<idea>          GSI1, sparse; other filters apply to the result, because an idea has few posts
//	posts of platform, status   B#posts#<platform>#<status>  GSI2, merged when one of the two is given
//	posts, all                  B#posts                      GSI3
//	channels, all               B / channel#<id>             base; bounded, ordered in memory
//
// Sort keys are createdAt#id for ideas and (scheduledFor ?? createdAt)#id for posts. Their times
// are inverted, so that the newest comes first, and null comes last. A list of the posts in a range
// of days reads the same partitions with bounds. A list with the earliest posts first reads the
// partitions backwards. Due posts are read from the partitions B#posts#<platform>#scheduled,
// backwards from the earliest up to now. Only an import can create a scheduled post without a time.
// It is in these partitions under its createdAt and is never due.
type Store struct {
	Ideas ideaStore
	Posts postStore

	table *table.Client
}

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store {
	return Store{ideaStore{ideas.Store(t), t}, postStore{posts.Store(t), t}, t}
}

const area = "broadcast"

// nullPart stands for null in a key. No enum contains this value.
const nullPart = "-"

// indexKeys returns the index keys of an idea. They change with the idea's plan and status.
func (i Idea) indexKeys() (keys table.Keys) {
	sortKey, status := i.sortKey(), keyPart(i.Status)
	keys.GSI2 = table.Key{PK: ideasByStatusPartition(i.CompanyID, status), SK: sortKey}
	keys.GSI3 = table.Key{PK: allIdeasPartition(i.CompanyID), SK: sortKey}
	if i.PlanID != nil {
		keys.GSI1 = table.Key{PK: ideasOfPlanPartition(i.CompanyID, *i.PlanID, status), SK: sortKey}
	}
	return keys
}

func ideasByStatusPartition(companyID, status string) string {
	return table.Partition(companyID, area, "ideas", "status", status)
}

func ideasOfPlanPartition(companyID, planID, status string) string {
	return table.Partition(companyID, area, "ideas", "plan", planID, status)
}

func allIdeasPartition(companyID string) string { return table.Partition(companyID, area, "ideas") }

func (p Post) indexKeys() (keys table.Keys) {
	sortKey := p.sortKey()
	if p.IdeaID != nil {
		keys.GSI1 = table.Key{PK: postsOfIdeaPartition(p.CompanyID, *p.IdeaID), SK: sortKey}
	}
	keys.GSI2 = table.Key{PK: postsByStatusPartition(p.CompanyID, keyPart(p.Platform), keyPart(p.Status)), SK: sortKey}
	keys.GSI3 = table.Key{PK: allPostsPartition(p.CompanyID), SK: sortKey}
	return keys
}

func postsOfIdeaPartition(companyID, ideaID string) string {
	return table.Partition(companyID, area, "posts", "idea", ideaID)
}

func postsByStatusPartition(companyID, platform, status string) string {
	return table.Partition(companyID, area, "posts", platform, status)
}

func allPostsPartition(companyID string) string { return table.Partition(companyID, area, "posts") }

// keyPart returns the key part for a nullable enum value.
func keyPart[T ~string](value *T) string {
	if value == nil {
		return nullPart
	}
	return string(*value)
}

// keyParts returns the key parts that match a filter. If value is nil, it returns the parts for all
// values and for null.
func keyParts[T ~string](value *T, all []string) []string {
	if value == nil {
		return append(all, nullPart)
	}
	return []string{string(*value)}
}

type ideaStore struct {
	record.Store[Idea]

	table *table.Client
}

// IdeaFilter filters a list of ideas. A nil field matches any value. PlanID must be a well-formed
// id.
type IdeaFilter struct {
	PlanID *string
	Status *IdeaStatus
}

// List returns a page of ideas as JSON, newest first.
func (s ideaStore) List(ctx context.Context, companyID string, f IdeaFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{After: after, Limit: limit}
	switch {
	case f.PlanID != nil:
		q.Index = table.GSI1
		for _, status := range keyParts(f.Status, IdeaStatus("").Values()) {
			q.Partitions = append(q.Partitions, ideasOfPlanPartition(companyID, *f.PlanID, status))
		}
	case f.Status != nil:
		q.Index, q.Partitions = table.GSI2, []string{ideasByStatusPartition(companyID, string(*f.Status))}
	default:
		q.Index, q.Partitions = table.GSI3, []string{allIdeasPartition(companyID)}
	}
	return table.ListJSON[Idea](ctx, s.table, q)
}

type postStore struct {
	record.Store[Post]

	table *table.Client
}

// PostFilter filters and orders a list of posts. A nil field matches any value. IdeaID must be a
// well-formed id, and From and Until must be timestamps. They are inclusive bounds on scheduledFor,
// or on createdAt for a post without scheduledFor.
type PostFilter struct {
	IdeaID      *string
	Platform    *Platform
	Status      *PostStatus
	From, Until *string
	Order       PostOrder // if empty, latest first
}

// List returns a page of posts as JSON, latest first unless the filter has a different order. It
// reads only posts in the range from From to Until.
func (s postStore) List(ctx context.Context, companyID string, f PostFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{After: after, Limit: limit, Descending: f.Order == OrderAscending} // the latest post has the smallest key
	q.From, q.Until = sortKeyBounds(f.From, f.Until)
	switch {
	case f.IdeaID != nil:
		q.Index, q.Partitions, q.Filter = table.GSI1, []string{postsOfIdeaPartition(companyID, *f.IdeaID)}, f.residualFilter()
	case f.Platform == nil && f.Status == nil:
		q.Index, q.Partitions = table.GSI3, []string{allPostsPartition(companyID)}
	default:
		q.Index = table.GSI2
		for _, platform := range keyParts(f.Platform, Platform("").Values()) {
			for _, status := range keyParts(f.Status, PostStatus("").Values()) {
				q.Partitions = append(q.Partitions, postsByStatusPartition(companyID, platform, status))
			}
		}
	}
	return table.ListJSON[Post](ctx, s.table, q)
}

// ListUnread returns a page of the drafts whose text a key that may only draft wrote last, as JSON,
// latest first. The page is short if it has read other drafts.
func (s postStore) ListUnread(ctx context.Context, companyID, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{Index: table.GSI2, After: after, Limit: limit}
	for _, platform := range keyParts[Platform](nil, Platform("").Values()) {
		q.Partitions = append(q.Partitions, postsByStatusPartition(companyID, platform, string(PostStatusDraft)))
	}
	page, err := table.List[Post](ctx, s.table, q)
	out := table.Page[json.RawMessage]{Next: page.Next}
	for _, p := range page.Records {
		if len(p.Drafted) == 0 {
			continue
		}
		text, err := schema.Encode(p)
		if err != nil {
			return out, err
		}
		out.Records = append(out.Records, text)
	}
	return out, err
}

// residualFilter returns the filters for platform and status. The index by idea is not keyed by
// these fields, so the filters are applied to the posts read from it.
func (f PostFilter) residualFilter() table.Filter {
	out := table.Filter{}
	if f.Platform != nil {
		out["platform"] = table.Is(*f.Platform)
	}
	if f.Status != nil {
		out["status"] = table.Is(*f.Status)
	}
	return out
}

// Remove deletes an unsent post, like table.Remove. If check returns an error, nothing is deleted.
// Returns fault.Conflict for a sent post.
func (s postStore) Remove(ctx context.Context, companyID, postID string, check func(Post) error) error {
	return s.Store.Remove(ctx, companyID, postID, func(p Post) error {
		if err := check(p); err != nil {
			return err
		}
		return p.checkUnsent()
	})
}
