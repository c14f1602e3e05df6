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
	isStrongest := func(area, verb string) bool {
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
		var names []string
		for _, area := range areas {
			if isStrongest(area, verb.scope) {
				names = append(names, areaNames[area])
			}
		}
		switch {
		case len(names) == len(areas):
			names = []string{"everything"}
		case len(names) == len(areas)-1 && !isStrongest("keys", verb.scope):
			names = []string{"everything but the keys"}
		}
		if len(names) > 0 {
			parts = append(parts, verb.word+" "+joinWords(names))
		}
	}
	if len(parts) == 0 {
		return "No scopes"
	}
	return upperFirst(strings.Join(parts, "; "))
}

// joinWords joins words with commas and "and".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
