package metrics

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// pointTexts maps encoded points to whether readFast can decode them.
var pointTexts = map[string]bool{
	`[1.5]`: true, `[1.5,3600000]`: true, `[null,null,"EUR",-0.25,"import"]`: true, `[1e300,-5,null,null,"ü"]`: true, `[1,null]`: true, `[-0.0,0]`: true, `[1,2,null,3,""]`: true,
	`[1e300,-5,null,null,"a,b]"]`: false, `[1,2,"a,1,b"]`: false, `[1,2,"\u00e4"]`: false, `[1,2,"a\\"]`: false, `[]`: false, `[1,2,"a","b"]`: false, `["1"]`: false, `[1,1.5]`: false, `[1,2,{"a":1}]`: false,
	`[[1],2]`: false, `{"a":1}`: false, `[true]`: false, `[1,2,"a",3,"b",4]`: false, `[1`: false, ``: false, `null`: false, `[1e999]`: false, `[1,99999999999999999999]`: false, `[1 ,2]`: false, `[1,]`: false, `[1,2,"]`: false,
}

// Ensure the method readFast either decodes a stored point exactly as encoding/json does, or
// returns false.
func FuzzReadFast(f *testing.F) {
	for text, want := range pointTexts {
		if got := new(pointValues).readFast(text, new(Point)); got != want {
			f.Errorf("readFast(%s) = %t, want %t", text, got, want)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return // such a string is never stored
		}
		var quick, slow pointValues
		var got, want Point
		if !quick.readFast(text, &got) {
			return
		}
		parts := []any{&want.Value, &slow.ingested, &want.Currency, &want.BaseValue, &want.Source}
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			t.Fatalf("readFast reads %q, and encoding/json rejects it: %v", text, err)
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(slow.ingested, quick.ingested); diff != "" {
			t.Fatalf("point %q (-want +got):\n%s", text, diff)
		}
	})
}
