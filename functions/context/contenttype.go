package brand

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// ContentType is a kind of post, with guidance for writing such posts.
type ContentType struct {
	ID               string   `json:"id"`
	CompanyID        string   `json:"companyId"`
	Name             *string  `json:"name"`
	Description      *string  `json:"description" doc:"what this kind of post is"`
	Guidance         *string  `json:"guidance" doc:"how this kind of post should be written"`
	DefaultPlatforms []string `json:"defaultPlatforms" doc:"the platforms that such posts go to by default"`
	Cadence          *string  `json:"cadence" doc:"how often such posts appear, as free text"`
	Active           *bool    `json:"active" doc:"whether the type is in use"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

type listContentTypesInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listContentTypes(ctx context.Context, caller api.Caller, in listContentTypesInput) (api.List[ContentType], error) {
	all, err := s.store.ContentTypes(ctx, caller.CompanyID)
	if err != nil {
		return api.List[ContentType]{}, err
	}
	return api.NewList(table.PageOf(all, contentTypeOrder, string(in.Cursor), int(in.Limit))), nil
}

// nameCharsOrdered is how many characters of a name are compared: as many as a name may have. They fit into a cursor, whatever they
// are. Only an import can bring a longer name; names that share these characters are ordered by id.
const nameCharsOrdered = 200

// contentTypeOrder returns the sort key of a content type: by name in Unicode code point order, null last. The zero byte
// after the name sorts before every character, so a name comes before longer names that start with it.
func contentTypeOrder(t ContentType) string {
	if t.Name == nil {
		return "~" + t.ID
	}
	name := []rune(*t.Name)
	return "=" + string(name[:min(len(name), nameCharsOrdered)]) + "\x00" + t.ID
}

type getContentTypeInput struct {
	ContentTypeID string `path:"contentTypeId"`
}

func (s service) getContentType(ctx context.Context, caller api.Caller, in getContentTypeInput) (ContentType, error) {
	return s.store.ContentType(ctx, caller.CompanyID, in.ContentTypeID)
}

type createContentTypeInput struct {
	api.Idempotent

	Name             string   `json:"name" min:"1" max:"200" doc:"what people call it, such as Tip"`
	Description      *string  `json:"description" max:"2000" doc:"what this kind of post is"`
	Guidance         *string  `json:"guidance" max:"2000" doc:"how this kind of post should be written"`
	DefaultPlatforms []string `json:"defaultPlatforms" items:"50" each:"200" doc:"the platforms that such posts go to by default" tool:"its usual platforms"`
	Cadence          *string  `json:"cadence" max:"200" doc:"how often such posts appear, as free text" tool:"how often, as free text"`
	Active           bool     `json:"active" doc:"whether the type is in use"`
}

func (s service) createContentType(ctx context.Context, caller api.Caller, in createContentTypeInput) (ContentType, error) {
	return s.store.CreateContentType(ctx, caller.CompanyID, ContentType{
		Name: &in.Name, Description: in.Description, Guidance: in.Guidance, DefaultPlatforms: in.DefaultPlatforms,
		Cadence: in.Cadence, Active: &in.Active,
	})
}

type updateContentTypeInput struct {
	api.Condition

	ContentTypeID    string                  `path:"contentTypeId"`
	Name             *string                 `json:"name" min:"1" max:"200" doc:"what people call it"`
	Description      api.Clearable[*string]  `json:"description" max:"2000" doc:"what this kind of post is"`
	Guidance         api.Clearable[*string]  `json:"guidance" max:"2000" doc:"how this kind of post should be written"`
	DefaultPlatforms api.Clearable[[]string] `json:"defaultPlatforms" items:"50" each:"200" doc:"the platforms that such posts go to by default; replaces the list" tool:"replaces the list"`
	Cadence          api.Clearable[*string]  `json:"cadence" max:"200" doc:"how often such posts appear, as free text" tool:"how often, as free text"`
	Active           *bool                   `json:"active" doc:"whether the type is in use"`
}

func (s service) updateContentType(ctx context.Context, caller api.Caller, in updateContentTypeInput) (ContentType, error) {
	return s.store.ModifyContentType(ctx, caller.CompanyID, in.ContentTypeID, func(t *ContentType) error {
		if err := in.Condition.Check(*t); err != nil {
			return err
		}
		api.Set(&t.Name, in.Name)
		in.Description.Apply(&t.Description)
		in.Guidance.Apply(&t.Guidance)
		in.DefaultPlatforms.Apply(&t.DefaultPlatforms)
		in.Cadence.Apply(&t.Cadence)
		api.Set(&t.Active, in.Active)
		return nil
	})
}

type deleteContentTypeInput struct {
	api.Condition

	ContentTypeID string `path:"contentTypeId"`
}

func (s service) deleteContentType(ctx context.Context, caller api.Caller, in deleteContentTypeInput) (api.Deleted, error) {
	check := func(t ContentType) error { return in.Condition.Check(t) }
	if err := s.store.RemoveContentType(ctx, caller.CompanyID, in.ContentTypeID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.ContentTypeID, Deleted: true}, nil
}
