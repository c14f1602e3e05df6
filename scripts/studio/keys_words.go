package studio

import (
	"slices"
	"strings"
)

// verbs lists a verb for what each kind of scope allows, in the order in which a sentence uses
// them. Within an area, the scope draft includes read, and write includes both. The scopes publish
// and send include no others.
var verbs = []struct{ scope, word string }{{"read", "reads"}, {"draft", "drafts"}, {"write", "edits"}, {"publish", "publishes"}, {"send", "sends"}}

// areas are the areas of scopes, in the order of the sidebar.
var areas = []string{"metrics", "plan", "feedback", "broadcast", "optimise", "context", "keys", "company"}

// scopesInWords says what a key with these scopes may do, such as "Reads Roadmap; drafts Reviews".
func scopesInWords(scopes []string) string {
	has := func(area, verb string) bool { return slices.Contains(scopes, area+":"+verb) }
	strongest := func(area, verb string) bool {
		switch verb {
		case "read":
			return has(area, verb) && !has(area, "draft") && !has(area, "write")
		case "draft":
			return has(area, verb) && !has(area, "write")
		}
		return has(area, verb)
	}
	var parts []string
	for _, verb := range verbs {
		var in []string
		for _, area := range areas {
			if strongest(area, verb.scope) {
				in = append(in, areaNames[area])
			}
		}
		switch {
		case len(in) == len(areas):
			in = []string{"everything"}
		case len(in) == len(areas)-1 && !strongest("keys", verb.scope):
			in = []string{"everything but the keys"}
		}
		if len(in) > 0 {
			parts = append(parts, verb.word+" "+list(in))
		}
	}
	if len(parts) == 0 {
		return "No scopes"
	}
	return upperFirst(strings.Join(parts, "; "))
}

// list joins words with commas and "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
