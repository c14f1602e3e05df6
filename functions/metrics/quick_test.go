package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Ensure the quick reading of a stored point is that of encoding/json, whatever the text: it may refuse, it must not
// differ.
func FuzzQuickParts(f *testing.F) {
	for _, seed := range []string{
		`[1.5]`, `[1.5,3600000]`, `[null,null,"EUR",-0.25,"import"]`, `[1e300,-5,null,null,"a,b]"]`, `[]`, `[1,2,"a","b"]`, `["1"]`, `[01]`, `[1,1.5]`, `[1,2,"\u00e4"]`,
		`[1,2,{"a":1}]`, `[[1],2]`, `{"a":1}`, `[true]`, `[1,2,"a",3,"b",4]`, `[1`, ``, `null`, `[1e999]`, `[1,99999999999999999999]`, `[1 ,2]`, `[-0]`, `[1,2,"ü"]`, "[1,2,\"\xff\"]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var quick, slow Point
		var quickIngested, slowIngested *int64
		if !quickParts(text, &quick, &quickIngested) {
			return
		}
		if err := slowParts(text, &slow, &slowIngested); err != nil {
			t.Fatalf("%q is read quickly, and else refused: %v", text, err)
		}
		if diff := cmp.Diff(slow, quick) + cmp.Diff(slowIngested, quickIngested); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
