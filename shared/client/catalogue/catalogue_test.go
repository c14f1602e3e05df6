package catalogue_test

import (
	"testing"

	"growthworkspace/shared/client/catalogue"
)

// Ensure every reference, parent and change leads to a kind, and every kind that can be changed one
// record at a time has the scope and the fields for it.
func TestKinds(t *testing.T) {
	t.Parallel()
	all := catalogue.Kinds()
	if len(all) == 0 {
		t.Fatal("no kinds")
	}
	for _, k := range all {
		if found, ok := catalogue.Named(k.Name); !ok || found.Plural != k.Plural {
			t.Errorf("%s is not found by its name", k.Name)
		}
		if _, ok := catalogue.Named(k.Parent); k.Parent != "" && !ok {
			t.Errorf("%s: no kind %q, its parent", k.Name, k.Parent)
		}
		for _, typ := range k.Changes {
			if found, ok := catalogue.OfChange(typ); !ok || found.Name != k.Name {
				t.Errorf("changes %s are those of %q, want %s", typ, found.Name, k.Name)
			}
		}
		if k.Update != nil && (k.Update.Scope == "" || k.Get == nil || k.Fields == nil) {
			t.Errorf("%s can be updated, but has no scope, no fields or cannot be read", k.Name)
		}
		for _, f := range k.Fields {
			if _, ok := catalogue.Named(f.Ref); f.Ref != "" && !ok || !f.OnCreate && !f.OnUpdate {
				t.Errorf("%s: %s refers to %q and can be set: %t", k.Name, f.Name, f.Ref, f.OnCreate || f.OnUpdate)
			}
		}
	}
	if k, ok := catalogue.Named("nothing"); ok {
		t.Errorf("found %s", k.Name)
	}
}
