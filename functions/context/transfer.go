package brand

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// brandKitIDs is the prefix of the ids of brand kits.
const brandKitIDs = "kit"

// Transfers returns the record types that can be imported and exported. A company has one brand kit, so when a file has
// several, the last one is stored.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	kit := transfer.Stored("brand-kit", brandKitIDs, transfer.CheckSize, t, brandKitKeys, func(k *BrandKit) *string { return &k.CompanyID },
		transfer.Only(s.BrandKit.Get))
	return []transfer.Type{transfer.Keep[updateBrandKitInput](kit), s.ContentTypes.Transfer(), s.Goals.Transfer()}
}
