package brand

import (
	"growthworkspace/shared/record"
)

// ContentType is a kind of post, with guidance for writing such posts.
type ContentType struct {
	ID               string   `json:"id"`
	CompanyID        string   `json:"companyId"`
	Name             *string  `json:"name" set:"required" min:"1" max:"200" doc:"what people call it, such as Tip"`
	Description      *string  `json:"description" set:"optional" max:"2000" doc:"what this kind of post is"`
	Guidance         *string  `json:"guidance" set:"optional" max:"2000" doc:"how this kind of post should be written"`
	DefaultPlatforms []string `json:"defaultPlatforms" set:"optional" items:"50" each:"200" doc:"the platforms that such posts go to by default" tool:"its usual platforms"`
	Cadence          *string  `json:"cadence" set:"optional" max:"200" doc:"how often such posts appear, as free text" tool:"how often, as free text"`
	Active           *bool    `json:"active" set:"required" doc:"whether the type is in use"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

// ContentTypes declares how content types are stored, and at which path the API serves them.
var ContentTypes = record.Kind[ContentType]{
	Name: "content-type", Plural: "content types", Prefix: "cty", Path: "context/content-types", Parameter: "contentTypeId",
	SortPrefix: "contenttype", Change: "content_type", Limit: 200, Order: ContentType.sortKey,
	Columns: "name active cadence description defaultPlatforms",
}

// sortNameCharsMax is the number of characters of a name that the sort compares. It is also the
// maximum length of a name in the API, and keeps cursors short. Only an import can store a longer
// name. Names with the same first sortNameCharsMax characters are ordered by id.
const sortNameCharsMax = 200

// sortKey returns the position of a content type in the list: by name in Unicode code point order,
// null last. The zero byte after the name sorts before every character, so a name comes before
// longer names that begin with it.
func (t ContentType) sortKey() string {
	if t.Name == nil {
		return "~" + t.ID
	}
	name := []rune(*t.Name)
	return "=" + string(name[:min(len(name), sortNameCharsMax)]) + "\x00" + t.ID
}
