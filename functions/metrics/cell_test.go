package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Ensure the quick reading of a stored point is that of encoding/json, whatever the text: it may refuse, it must not
// differ.
func FuzzCell(f *testing.F) {
	for _, seed := range []string{
		`[1.5]`, `[1.5,3600000]`, `[null,null,"EUR",-0.25,"import"]`, `[1e300,-5,null,null,"a,b]"]`, `[]`, `[1,2,"a","b"]`, `["1"]`, `[01]`, `[1,1.5]`, `[1,2,"\u00e4"]`,
		`[1,2,{"a":1}]`, `[[1],2]`, `{"a":1}`, `[true]`, `[1,2,"a",3,"b",4]`, `[1`, ``, `null`, `[1e999]`, `[1,99999999999999999999]`, `[1 ,2]`, `[1,]`, `[1,null]`, `[null]`, `[1.]`, `[.5]`, `[-]`, `[1]x`, `[1,2,"a",3,"b"`, `[1,2,"a",3,"b",null]`, `[-0.0,0]`, `[1,2,null,"x"]`, `[-0]`, `[1,2,"ü"]`, "[1,2,\"\xff\"]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var quick, slow cell
		if !quick.quick(text) {
			return
		}
		if err := slow.slow(text); err != nil {
			t.Fatalf("%q is read quickly, and else refused: %v", text, err)
		}
		if diff := cmp.Diff(slow, quick, cmp.AllowUnexported(cell{})); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
