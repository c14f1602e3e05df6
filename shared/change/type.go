package change

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"growthworkspace/shared/auth"
)

// scopesFile contains a line for each type that a kind of record declares: the type, and the scope
// that a key needs to see its changes. scripts/gen writes it, because the function that lists
// changes does not link the areas that declare the kinds. New types come last.
//
//go:embed scopes.txt
var scopesFile string

var declared = sync.OnceValues(func() (all []Type, scopes map[Type]auth.Scope) {
	scopes = map[Type]auth.Scope{}
	for line := range strings.Lines(scopesFile) {
		t, scope, _ := strings.Cut(strings.TrimSpace(line), " ")
		all, scopes[Type(t)] = append(all, Type(t)), auth.Scope(scope)
	}
	return all, scopes
})

// Types returns every type.
func Types() []Type {
	all, _ := declared()
	return slices.Clone(all)
}

// Scope returns the scope that a key needs to see changes of the type.
func (t Type) Scope() auth.Scope {
	_, scopes := declared()
	return scopes[t]
}

// Values implements schema.Enum.
func (Type) Values() []string {
	var out []string
	for _, t := range Types() {
		out = append(out, string(t))
	}
	return out
}

// Values implements schema.Enum.
func (Action) Values() []string {
	return []string{string(Created), string(Updated), string(Deleted), string(Unknown)}
}
