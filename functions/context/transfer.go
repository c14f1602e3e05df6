package context

import (
	stdcontext "context"
	"encoding/json"
	"errors"
	"fmt"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// recordBytesMax bounds an imported record: it must fit into a table item of 400 KB, with room for its keys.
const recordBytesMax = 300 << 10

// Transfers returns the types of records that can be imported and exported (design.md §7). A company has one brand kit:
// of several in a file the last one stays.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Define("brand-kit", id.BrandKit, checkSize,
			func(ctx stdcontext.Context, companyID string, records []BrandKit) error {
				for i := range records {
					records[i].CompanyID = companyID
				}
				return put(ctx, t, records, brandKitKeys)
			},
			func(ctx stdcontext.Context, companyID string, visit func(BrandKit) error) error {
				kit, err := NewStore(t).BrandKit(ctx, companyID)
				if errors.Is(err, fault.ErrNotFound) {
					return nil
				}
				if err != nil {
					return err
				}
				return visit(kit)
			}),
		transfer.Define("content-type", id.ContentType, checkSize,
			func(ctx stdcontext.Context, companyID string, records []ContentType) error {
				for i := range records {
					records[i].CompanyID = companyID
				}
				return put(ctx, t, records, contentTypeKeys)
			},
			func(ctx stdcontext.Context, companyID string, visit func(ContentType) error) error {
				return each(ctx, t, companyID, contentTypeKind, visit)
			}),
		transfer.Define("brand-goal", id.BrandGoal, checkSize,
			func(ctx stdcontext.Context, companyID string, records []Goal) error {
				for i := range records {
					records[i].CompanyID = companyID
				}
				return put(ctx, t, records, goalKeys)
			},
			func(ctx stdcontext.Context, companyID string, visit func(Goal) error) error {
				return each(ctx, t, companyID, goalKind, visit)
			}),
	}
}

// checkSize says whether a record is too large. Nothing else can be wrong with one whose types and closed lists are
// right: only its id becomes part of a key.
func checkSize[T any](record *T) (problems []string) {
	text, err := json.Marshal(record)
	if err != nil || len(text) > recordBytesMax {
		problems = append(problems, fmt.Sprintf("record: must have at most %d bytes, has %d", recordBytesMax, len(text)))
	}
	return problems
}
