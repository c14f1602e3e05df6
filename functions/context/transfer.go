package brand

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

const brandKitIDPrefix = "kit"

// Transfers returns the record types that can be imported and exported. A company has one brand
// kit, so if a file contains several, the last one is stored.
func Transfers(t *table.Client) []transfer.Type {
	kits := transfer.Stored[BrandKit]{Table: t, KeysOf: func(companyID string, k *BrandKit) table.Keys {
		k.CompanyID = companyID
		return keysOfBrandKit(*k)
	}, Each: transfer.ExportOne(NewStore(t).Get)}
	return []transfer.Type{
		transfer.Define("brand-kit", brandKitIDPrefix, kits, transfer.RulesOf[BrandKit, updateBrandKitInput]()),
		ContentTypes.Store(t).Transfer(),
		Goals.Store(t).Transfer(),
	}
}
