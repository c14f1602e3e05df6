package brand

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// brandKitIDs is the prefix of the ids of brand kits.
const brandKitIDs = "kit"

// Transfers returns the record types that can be imported and exported. A company has one brand
// kit, so when a file has several, the last one is stored.
func Transfers(t *table.Client) []transfer.Type {
	kit := transfer.Stored("brand-kit", brandKitIDs, transfer.CheckSize, t, brandKitKeys, func(k *BrandKit) *string { return &k.CompanyID },
		transfer.Only(NewStore(t).Get))
	return []transfer.Type{
		transfer.Keep[updateBrandKitInput](kit),
		ContentTypes.In(t).Transfer(),
		Goals.In(t).Transfer(),
	}
}
