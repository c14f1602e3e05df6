package metrics

import (
	"strings"
	"testing"
)

// Ensure each metric has at most two names, that aliasOf maps each of the two to the other, and
// that both are valid keys.
func TestAliasOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a": "custom.a", "custom.a": "a", "custom": "custom.custom", "custom.custom": "custom", "customs.a": "custom.customs.a", "custom_.a": "custom.custom_.a",
		"custom.custom.a": "", "custom.custom.custom.a": "", "custom.1": "", "custom._a": "",
		strings.Repeat("k", 120): "custom." + strings.Repeat("k", 120), "custom." + strings.Repeat("k", 120): strings.Repeat("k", 120),
	} {
		got := aliasOf(key)
		if got != want {
			t.Errorf("otherName(%s) is %q, want %q", key, got, want)
		}
		if got != "" && (aliasOf(got) != key || checkKey(got) != "") {
			t.Errorf("%s and %s: the other name of the second is %q, its problem %q", key, got, aliasOf(got), checkKey(got))
		}
	}
}

// Ensure a name refers to its own definition if there is one, and otherwise to the definition under
// the metric's other name.
func TestStoredKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, defined, key string
		found              bool
	}{
		{"a", "", "a", false}, {"a", "a", "a", true}, {"a", "custom.a", "custom.a", true}, {"a", "a custom.a", "a", true},
		{"custom.a", "", "custom.a", false}, {"custom.a", "a", "a", true}, {"custom.a", "a custom.a", "custom.a", true}, {"custom.a", "b custom.custom.a", "custom.a", false},
		{"custom.custom.a", "custom.a", "custom.custom.a", false},
	} {
		known := map[string]Definition{}
		for key := range strings.FieldsSeq(c.defined) {
			known[key] = Definition{Key: key}
		}
		if key, found := storedKey(c.name, known); key != c.key || found != c.found {
			t.Errorf("%s with definitions of %q: %s %t, want %s %t", c.name, c.defined, key, found, c.key, c.found)
		}
	}
}
