package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
)

type emptyInput struct{}

func define[In any](change func(*api.Spec)) func() {
	return func() {
		spec := api.Spec{ID: "get_item", Method: "GET", Path: "/v1/items", Summary: "s"}
		change(&spec)
		api.Define(spec, func(context.Context, api.Caller, In) (emptyInput, error) { return emptyInput{}, nil })
	}
}

// draftEnum is an enum with two values. A draft-only key can set only one of them.
type draftEnum string

func (draftEnum) Values() []string { return []string{"draft", "final"} }
func (draftEnum) Drafts() []string { return []string{"draft"} }

// Ensure ForDrafting limits an enum in the body to the values that a draft-only key can set.
func TestForDrafting(t *testing.T) {
	op := api.Define(api.Spec{
		ID: "update_item", Method: "PATCH", Path: "/v1/items", Scope: auth.FeedbackWrite, DraftScope: auth.FeedbackDraft, Effect: api.Write, Summary: "s",
	}, func(context.Context, api.Caller, struct {
		In   draftEnum `query:"in"`
		Word draftEnum `json:"word"`
	},
	) (emptyInput, error) {
		return emptyInput{}, nil
	})
	for n, want := range [][]string{{"draft", "final"}, {"draft"}} {
		if got := op.ForDrafting().Input[n].Enum; !slices.Equal(got, want) {
			t.Errorf("%s accepts %v, want %v", op.Input[n].Name, got, want)
		}
		if got := op.Input[n].Enum; len(got) != 2 {
			t.Errorf("for other keys, %s accepts %v", op.Input[n].Name, got)
		}
	}
}

// declareNoun returns an operation that gets the records of a noun.
func declareNoun(id string, n api.Noun) api.Operation {
	return api.Define(api.Spec{ID: id, Noun: n, Method: "GET", Path: "/v1/" + id, Summary: "s"}, func(context.Context, api.Caller, emptyInput) (emptyInput, error) {
		return emptyInput{}, nil
	})
}

// Ensure Define, New and NewKinds panic on an invalid declaration.
func TestInvalidDeclarationsPanic(t *testing.T) {
	declarePaths := func(paths ...string) func() {
		return func() {
			var all []api.Operation
			for i, path := range paths {
				id, path, _ := strings.Cut(path, " ")
				if id == "" {
					id = fmt.Sprint("get_item_", string(rune('a'+i)))
				}
				all = append(all, api.Define(api.Spec{ID: id, Noun: api.Noun{Name: "item"}, Method: "GET", Path: path, Summary: "s"}, func(context.Context, api.Caller, struct {
					X string `path:"x"`
				}) (emptyInput, error) {
					return emptyInput{}, nil
				}))
			}
			api.New(all, api.Config{})
		}
	}
	for want, declare := range map[string]func(){
		"not a verb and a noun":    define[emptyInput](func(s *api.Spec) { s.ID = "item" }),
		"is not a verb and a noun": define[emptyInput](func(s *api.Spec) { s.ID = "getItem" }),
		"no summary":               define[emptyInput](func(s *api.Spec) { s.Summary = "" }),
		"no scope plan:reed":       define[emptyInput](func(s *api.Spec) { s.Scope = auth.Scope("plan:reed") }),
		"feedback:draft is not contained in plan:write": define[struct {
			X draftEnum `json:"x"`
		}](func(s *api.Spec) {
			s.Method, s.Effect, s.Scope, s.DraftScope = "PATCH", api.Write, auth.PlanWrite, auth.FeedbackDraft
		}),
		"feedback:draft would be the same as feedback:write": define[struct {
			X *bool `json:"x"`
		}](func(s *api.Spec) {
			s.Method, s.Effect, s.Scope, s.DraftScope = "PATCH", api.Write, auth.FeedbackWrite, auth.FeedbackDraft
		}),
		"no method PUT":         define[emptyInput](func(s *api.Spec) { s.Method = "PUT" }),
		"a GET changes nothing": define[emptyInput](func(s *api.Spec) { s.Effect = api.Write }),
		"is Create":             define[emptyInput](func(s *api.Spec) { s.ID, s.Method, s.Effect = "create_item", "POST", api.Write }),
		"and of nothing else":   define[emptyInput](func(s *api.Spec) { s.Method, s.Effect = "POST", api.Create }),
		"is not a list with this input": func() {
			op := api.Define(api.Spec{ID: "get_item", Method: "GET", Path: "/v1/items", Summary: "s"}, func(context.Context, api.Caller, emptyInput) (emptyInput, error) { return emptyInput{}, nil })
			api.ExplainEmpty(op, func(context.Context, api.Caller, emptyInput) (string, error) { return "", nil })
		},
		"has another input or output": func() {
			op := api.Define(api.Spec{ID: "get_item", Method: "GET", Path: "/v1/items", Summary: "s"}, func(context.Context, api.Caller, emptyInput) (emptyInput, error) { return emptyInput{}, nil })
			api.AddNote(op, func(context.Context, api.Caller, emptyInput, string) string { return "" })
		},
		"a limit of 262144 bytes is not an exception": func() {
			define[emptyInput](func(s *api.Spec) { s.BodyBytesMax = 256<<10 + 1 })()
			define[emptyInput](func(s *api.Spec) { s.BodyBytesMax = 256 << 10 })()
		},
		"no class slow":           define[emptyInput](func(s *api.Spec) { s.Class = "slow" }),
		"with a slash":            define[emptyInput](func(s *api.Spec) { s.Path = "v1/items" }),
		"no input field for {id}": define[emptyInput](func(s *api.Spec) { s.Path = "/v1/{id}" }),
		"no {x} in the path": define[struct {
			X string `path:"x"`
		}](func(*api.Spec) {}),
		"a GET has no body": define[struct {
			X *bool `json:"x"`
		}](func(*api.Spec) {}),
		"a DELETE has no body": define[struct {
			X *bool `json:"x"`
		}](func(s *api.Spec) { s.Method, s.Effect = "DELETE", api.Destructive }),
		"no noun": define[struct {
			X string `path:"x"`
		}](func(s *api.Spec) { s.Path = "/v1/{x}" }),
		"get_a and get_b do the same for items": func() {
			api.NewKinds([]api.Operation{declareNoun("get_a", api.Noun{Name: "item", Plural: "items"}), declareNoun("get_b", api.Noun{Name: "item"})})
		},
		"the changes idea are those of a and of b": func() {
			api.NewKinds([]api.Operation{
				declareNoun("get_a", api.Noun{Name: "a", Change: "idea"}), declareNoun("get_b", api.Noun{Name: "b", Change: "x", Also: []change.Type{"idea"}}),
			})
		},
		"has no name":               define[struct{ X string }](func(*api.Spec) {}),
		"two operations get_a":      declarePaths("get_a /v1/{x}", "get_a /v1/{x}/b"),
		"get_item_b: /v1/{x}/a and": declarePaths(" /v1/{x}/a", " /v1/{x}/a"),
		"are the same path":         declarePaths(" /v1/{x}/a", " /v1/b/{x}"),
		"NumField of non-struct":    define[string](func(*api.Spec) {}),
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, want) {
					t.Errorf("panic %q", p)
				}
			}()
			declare()
		})
	}
	declarePaths(" /v1/{x}/a", " /v1/{x}/b", " /v1/{x}", " /v1/a/{x}/a", " /v1/{x}/current", " /v1/keys/{x}/a/b")()
}

// Ensure IsList, HasCompanyID and Class follow from the declaration.
func TestOperation(t *testing.T) {
	s := start(t)
	for _, op := range s.operations() {
		isList, hasCompanyID := strings.HasPrefix(op.ID, "list"), op.ID != "list_things"
		if op.IsList() != isList || op.HasCompanyID() != hasCompanyID {
			t.Errorf("%s: list %v, company %v", op.ID, op.IsList(), op.HasCompanyID())
		}
		if want := map[api.Effect]string{api.Read: "read", api.Create: "write", api.Write: "write", api.Destructive: "write"}[op.Effect]; op.ID != "publish_board" && string(op.Class) != want {
			t.Errorf("%s has the class %s", op.ID, op.Class)
		}
	}
}

// Ensure that every effect except Create is repeatable, and that Write and Destructive overwrite
// values.
func TestEffects(t *testing.T) {
	for effect, want := range map[api.Effect][2]bool{api.Read: {true, false}, api.Create: {false, false}, api.Write: {true, true}, api.Destructive: {true, true}} {
		if got := [2]bool{effect.Repeatable(), effect.Overwrites()}; got != want {
			t.Errorf("effect %d: %v, want %v", effect, got, want)
		}
	}
}
