package lighthouse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// depthMax is the nesting depth of a check's details at which the conversion stops.
const depthMax = 12

// pictureTypes contains the types of details that do not say where a problem is. Most of them are
// pictures of the page.
var pictureTypes = map[string]bool{"screenshot": true, "filmstrip": true, "full-page-screenshot": true, "debugdata": true, "treemap-data": true, "thumbnail": true}

// places returns the first places on the page where a check has failed, leaving out pictures. more
// is the number of further places.
func places(details json.RawMessage) (where []any, more int) {
	if len(details) == 0 {
		return nil, 0
	}
	var value any
	if err := json.Unmarshal(details, &value); err != nil {
		return nil, 0 // the JSON is valid, so this is a number that float64 cannot hold; convert the check without places
	}
	for _, item := range items(value, 0) {
		place := simplify(item, 0)
		if place == nil {
			continue
		}
		if len(where) == placesMax {
			more++
			continue
		}
		where = append(where, place)
	}
	return where, more
}

// items returns the items of a table, or those of all tables in a list.
func items(value any, depth int) (out []any) {
	v, ok := value.(map[string]any)
	kind, _ := v["type"].(string)
	if !ok || pictureTypes[kind] || depth > depthMax {
		return nil
	}
	switch kind {
	case "list", "list-section":
		for _, item := range asList(v["items"]) {
			out = append(out, items(item, depth+1)...)
		}
		return append(out, items(v["value"], depth+1)...)
	case "criticalrequestchain", "network-tree", "checklist":
		return nil // trees of requests and lists of passed checks do not say where a problem is
	case "node":
		return []any{v}
	}
	return asList(v["items"])
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// simplify returns a value without the parts of its structure that only a viewer needs. It returns
// nil for a picture and for an empty value.
func simplify(value any, depth int) any {
	if depth > depthMax {
		return nil
	}
	switch v := value.(type) {
	case string:
		if v == "" || strings.HasPrefix(v, "data:") {
			return nil
		}
		return truncate(v, pageTextMax)
	case float64, bool:
		return v
	case []any:
		var out []any
		for _, one := range v[:min(len(v), placesMax)] {
			if simple := simplify(one, depth+1); simple != nil {
				out = append(out, simple)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case map[string]any:
		return simplifyObject(v, depth)
	}
	return nil
}

// keptTexts are the only properties that are kept, by type of object. All of them are texts.
var keptTexts = map[string][]string{
	"node": {"selector", "snippet", "nodeLabel", "explanation"},
	"link": {"text", "url"},
}

func simplifyObject(v map[string]any, depth int) any {
	kind, _ := v["type"].(string)
	names, isReduced := keptTexts[kind]
	switch {
	case pictureTypes[kind]:
		return nil
	case kind == "source-location":
		url, _ := v["url"].(string)
		line, _ := v["line"].(float64)
		column, _ := v["column"].(float64)
		return fmt.Sprintf("%s:%.0f:%.0f", truncate(url, pageTextMax), line+1, column) // Lighthouse numbers lines from 0
	case kind == "subitems":
		return simplify(v["items"], depth+1)
	case v["value"] != nil && kind != "" && !isReduced:
		return simplify(v["value"], depth+1)
	}
	if !isReduced { // texts nest nothing
		depth++
	}
	out := map[string]any{}
	for name, value := range v {
		_, isText := value.(string)
		if name == "type" || name == "debugData" || isReduced && !(isText && slices.Contains(names, name)) {
			continue
		}
		if simple := simplify(value, depth); simple != nil {
			out[name] = simple
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// truncate truncates text to a number of characters.
func truncate(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}
