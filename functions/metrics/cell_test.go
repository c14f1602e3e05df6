package metrics

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// cells are texts of points, and whether they are read quickly.
var cells = map[string]bool{
	`[1.5]`: true, `[1.5,3600000]`: true, `[null,null,"EUR",-0.25,"import"]`: true, `[1e300,-5,null,null,"ü"]`: true, `[1,null]`: true, `[-0.0,0]`: true, `[1,2,null,3,""]`: true,
	`[1e300,-5,null,null,"a,b]"]`: false, `[1,2,"a,1,b"]`: false, `[1,2,"\u00e4"]`: false, `[1,2,"a\\"]`: false, `[]`: false, `[1,2,"a","b"]`: false, `["1"]`: false, `[1,1.5]`: false, `[1,2,{"a":1}]`: false,
	`[[1],2]`: false, `{"a":1}`: false, `[true]`: false, `[1,2,"a",3,"b",4]`: false, `[1`: false, ``: false, `null`: false, `[1e999]`: false, `[1,99999999999999999999]`: false, `[1 ,2]`: false, `[1,]`: false,
}

// Ensure the quick reading of a stored point is that of encoding/json, or none.
func FuzzCell(f *testing.F) {
	for text, quick := range cells {
		if got := new(cell).quick(text, new(Point)); got != quick {
			f.Errorf("%s is read quickly: %t, want %t", text, got, quick)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return // not what is stored
		}
		var quick, slow cell
		var got, want Point
		if !quick.quick(text, &got) {
			return
		}
		parts := []any{&want.Value, &slow.ingested, &want.Currency, &want.BaseValue, &want.Source}
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			t.Fatalf("%q is read quickly, and encoding/json refuses it: %v", text, err)
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(slow.ingested, quick.ingested); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
