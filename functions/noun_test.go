package functions_test

import (
	"maps"
	"slices"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/schema"
)

// withoutNoun lists the operations that are about no kind of record, or return the records of a
// kind in another form than its own operations.
var withoutNoun = []string{
	"delete_metric_points", "get_company_overview", "get_company_week", "get_current_key", "list_approved_replies", "list_due_posts",
	"list_plan_live_items", "list_plan_versions", "list_post_claims", "list_reply_claims", "push_metric_points",
}

// Ensure every operation names its noun, and every reference is to records of a kind that can be
// listed.
func TestNouns(t *testing.T) {
	t.Parallel()
	kinds := api.NewKinds(functions.Operations(nil))
	var missing []string
	for _, op := range functions.Operations(nil) {
		if op.Noun.Name == "" {
			missing = append(missing, op.ID)
		}
		for _, f := range op.Input {
			isID := f.In == schema.InPath || f.Ref != ""
			if k := kinds.ReferredBy(op, f.Name); isID && (k == nil || k.List == nil) {
				t.Errorf("%s: %s refers to no kind that can be listed", op.ID, f.Name)
			}
		}
	}
	slices.Sort(missing)
	if !slices.Equal(missing, withoutNoun) {
		t.Errorf("without a noun: %q, want %q", missing, withoutNoun)
	}
	for _, k := range kinds {
		if k.List != nil && k.Columns == "" {
			t.Errorf("%s: no columns", k.Name)
		}
	}
}

// Ensure every type of change belongs to a kind, and to the scope that reads its records.
func TestChangesHaveNouns(t *testing.T) {
	t.Parallel()
	kinds := api.NewKinds(functions.Operations(nil))
	reported := map[change.Type]bool{}
	for _, source := range functions.ChangeSources() {
		reported[source.Type] = true
	}
	for _, typ := range slices.Concat(change.Types(), slices.Collect(maps.Keys(reported))) {
		k := kinds.OfChange(typ)
		if k == nil {
			t.Errorf("changes %s are those of no kind", typ)
			continue
		}
		read := k.Get
		if read == nil {
			read = k.List
		}
		if !reported[typ] || typ.Scope() != read.Scope {
			t.Errorf("changes %s: reported %t, need the scope %q, want that of %s", typ, reported[typ], typ.Scope(), read.ID)
		}
	}
}
