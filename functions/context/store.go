package brand

import (
	"context"
	"errors"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
)

// Store stores brand kits, content types and goals in the partition <company>#context. Content types and goals are
// bounded collections: a list reads them whole and orders them in memory.
//
//	access                                            key
//	brand kit: get, modify                            … / brandkit
//	content type: get, create, modify, remove, list   … / contenttype#<id>
//	goal: get, create, modify, remove, list           … / goal#<id>
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// The first part of the sort key of each record type.
const (
	brandKitKind    = "brandkit"
	contentTypeKind = "contenttype"
	goalKind        = "goal"
)

func partition(companyID string) string { return table.Partition(companyID, "context") }

func brandKitKey(companyID string) table.Key {
	return table.Key{PK: partition(companyID), SK: brandKitKind}
}

func contentTypeKey(companyID, contentTypeID string) table.Key {
	return table.Key{PK: partition(companyID), SK: table.Join(contentTypeKind, contentTypeID)}
}

func goalKey(companyID, goalID string) table.Key {
	return table.Key{PK: partition(companyID), SK: table.Join(goalKind, goalID)}
}

func brandKitKeys(k BrandKit) table.Keys { return table.Keys{Key: brandKitKey(k.CompanyID)} }

func contentTypeKeys(t ContentType) table.Keys {
	return table.Keys{Key: contentTypeKey(t.CompanyID, t.ID)}
}

func goalKeys(g Goal) table.Keys { return table.Keys{Key: goalKey(g.CompanyID, g.ID)} }

func collection(companyID, kind string) table.Collection {
	return table.Collection{Partition: partition(companyID), Prefix: table.Join(kind, "")}
}

// BrandKit returns the company's brand kit. Returns fault.ErrNotFound when it has none.
func (s Store) BrandKit(ctx context.Context, companyID string) (BrandKit, error) {
	return table.Get[BrandKit](ctx, s.table, brandKitKey(companyID))
}

// brandKitTries bounds the attempts of ModifyBrandKit. Nothing deletes a kit, so a caller that loses the race to create
// it finds the winner's kit on the second attempt.
const brandKitTries = 3

// ModifyBrandKit changes the company's brand kit by compare-and-set, and creates it when there is none. When two callers
// find none, one creates the kit and the other changes it, so both changes are kept. It calls absent before it creates a
// kit, and returns its error.
func (s Store) ModifyBrandKit(ctx context.Context, companyID string, change func(*BrandKit) error, absent func() error) (BrandKit, error) {
	for range brandKitTries {
		kit, err := table.Modify(ctx, s.table, brandKitKey(companyID), brandKitKeys, change)
		if !errors.Is(err, fault.ErrNotFound) {
			return kit, err
		}
		if err := absent(); err != nil {
			return BrandKit{}, err
		}
		now := s.table.Now()
		kit = BrandKit{ID: s.table.NewID(brandKitIDs), CompanyID: companyID, CreatedAt: &now, UpdatedAt: &now}
		if err := change(&kit); err != nil {
			return BrandKit{}, err
		}
		if err := s.table.Insert(ctx, brandKitKeys(kit), kit); !errors.Is(err, table.ErrExists) {
			return kit, err
		}
	}
	return BrandKit{}, table.ErrContended
}

// ContentTypes returns the company's content types in no particular order.
func (s Store) ContentTypes(ctx context.Context, companyID string) ([]ContentType, error) {
	return table.Whole[ContentType](ctx, s.table, collection(companyID, contentTypeKind))
}

// collectionMax is how many content types, and how many goals, a company may create.
const collectionMax = 200

// ContentType returns one content type. Returns fault.ErrNotFound when there is none.
func (s Store) ContentType(ctx context.Context, companyID, contentTypeID string) (ContentType, error) {
	return table.Get[ContentType](ctx, s.table, contentTypeKey(companyID, contentTypeID))
}

// CreateContentType stores a new content type and sets its id, company and times. Returns fault.Conflict when the company
// has collectionMax of them.
func (s Store) CreateContentType(ctx context.Context, companyID string, t ContentType) (ContentType, error) {
	if err := table.Room(ctx, s.table, collection(companyID, contentTypeKind), collectionMax, "content types"); err != nil {
		return ContentType{}, err
	}
	now := s.table.Now()
	t.ID, t.CompanyID, t.CreatedAt, t.UpdatedAt = s.table.NewID(contentTypeIDs), companyID, &now, &now
	return t, idempotency.Insert(ctx, s.table, t, contentTypeKeys(t), t)
}

// ModifyContentType changes one content type by compare-and-set, as table.Modify does.
func (s Store) ModifyContentType(ctx context.Context, companyID, contentTypeID string, change func(*ContentType) error) (ContentType, error) {
	return table.Modify(ctx, s.table, contentTypeKey(companyID, contentTypeID), contentTypeKeys, change)
}

// RemoveContentType deletes one content type, as table.Remove does.
func (s Store) RemoveContentType(ctx context.Context, companyID, contentTypeID string, check func(ContentType) error) error {
	_, err := table.Remove(ctx, s.table, contentTypeKey(companyID, contentTypeID), check)
	return err
}

// Goals returns the company's brand goals in no particular order.
func (s Store) Goals(ctx context.Context, companyID string) ([]Goal, error) {
	return table.Whole[Goal](ctx, s.table, collection(companyID, goalKind))
}

// Goal returns one brand goal. Returns fault.ErrNotFound when there is none.
func (s Store) Goal(ctx context.Context, companyID, goalID string) (Goal, error) {
	return table.Get[Goal](ctx, s.table, goalKey(companyID, goalID))
}

// CreateGoal stores a new brand goal and sets its id, company and times. Returns fault.Conflict when the company has
// collectionMax of them.
func (s Store) CreateGoal(ctx context.Context, companyID string, g Goal) (Goal, error) {
	if err := table.Room(ctx, s.table, collection(companyID, goalKind), collectionMax, "brand goals"); err != nil {
		return Goal{}, err
	}
	now := s.table.Now()
	g.ID, g.CompanyID, g.CreatedAt, g.UpdatedAt = s.table.NewID(goalIDs), companyID, &now, &now
	return g, idempotency.Insert(ctx, s.table, g, goalKeys(g), g)
}

// ModifyGoal changes one brand goal by compare-and-set, as table.Modify does.
func (s Store) ModifyGoal(ctx context.Context, companyID, goalID string, change func(*Goal) error) (Goal, error) {
	return table.Modify(ctx, s.table, goalKey(companyID, goalID), goalKeys, change)
}

// RemoveGoal deletes one brand goal, as table.Remove does.
func (s Store) RemoveGoal(ctx context.Context, companyID, goalID string, check func(Goal) error) error {
	_, err := table.Remove(ctx, s.table, goalKey(companyID, goalID), check)
	return err
}
