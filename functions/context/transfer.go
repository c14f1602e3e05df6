package brand

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// The prefixes of ids.
const (
	brandKitIDs    = "kit"
	contentTypeIDs = "cty"
	goalIDs        = "bgl"
)

// Transfers returns the record types that can be imported and exported. A company has one brand kit, so when a file has
// several, the last one is stored.
func Transfers(t *table.Client) []transfer.Type {
	of := func(kind string) func(string) table.Collection {
		return func(companyID string) table.Collection { return collection(companyID, kind) }
	}
	return []transfer.Type{
		transfer.Keep[updateBrandKitInput](transfer.Stored("brand-kit", brandKitIDs, transfer.CheckSize, t, brandKitKeys, func(k *BrandKit) *string { return &k.CompanyID },
			transfer.Only(NewStore(t).BrandKit))),
		transfer.Keep[createContentTypeInput](transfer.Stored("content-type", contentTypeIDs, transfer.CheckSize, t, contentTypeKeys, func(c *ContentType) *string { return &c.CompanyID },
			transfer.Each[ContentType](t, of(contentTypeKind)))),
		transfer.Keep[createGoalInput](transfer.Stored("brand-goal", goalIDs, transfer.CheckSize, t, goalKeys, func(g *Goal) *string { return &g.CompanyID },
			transfer.Each[Goal](t, of(goalKind)))),
	}
}
