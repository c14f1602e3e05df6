package brand

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

const brandKitIDPrefix = "kit"

// Transfers returns the record types that can be imported and exported. A company has one brand
// kit, so if a file contains several, the last one is stored.
func Transfers(t *table.Client) []transfer.Type {
	kit := transfer.DefineStored("brand-kit", brandKitIDPrefix, transfer.CheckSize, t, keysOfBrandKit, func(k *BrandKit) *string { return &k.CompanyID },
		transfer.ExportOne(NewStore(t).Get))
	return []transfer.Type{
		transfer.WithRulesOf[updateBrandKitInput](kit),
		ContentTypes.Store(t).Transfer(),
		Goals.Store(t).Transfer(),
	}
}
