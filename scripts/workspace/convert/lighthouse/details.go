package lighthouse

import (
	"encoding/json"
	"fmt"
	"strings"
)

// depthMax bounds how deeply the details of a check may be nested.
const depthMax = 12

// pictures are the types of details that show the page instead of saying where a problem is.
var pictures = map[string]bool{"screenshot": true, "filmstrip": true, "full-page-screenshot": true, "debugdata": true, "treemap-data": true, "thumbnail": true}

// places returns where on the page a check has failed, without pictures, and how many more places
// there are.
func places(details json.RawMessage) (where []any, more int) {
	if len(details) == 0 {
		return nil, 0
	}
	var value any
	if err := json.Unmarshal(details, &value); err != nil {
		return nil, 0 // the whole file has been parsed, so this is a number beyond float64; the check itself stays
	}
	for _, item := range items(value, 0) {
		place := simplify(item, 0)
		if place == nil {
			continue
		}
		if len(where) == wherePlacesMax {
			more++
			continue
		}
		where = append(where, place)
	}
	return where, more
}

// items returns the items of tables, lists and lists of tables.
func items(value any, depth int) (out []any) {
	v, ok := value.(map[string]any)
	kind, _ := v["type"].(string)
	if !ok || pictures[kind] || depth > depthMax {
		return nil
	}
	switch kind {
	case "list", "list-section":
		for _, item := range asList(v["items"]) {
			out = append(out, items(item, depth+1)...)
		}
		return append(out, items(v["value"], depth+1)...)
	case "criticalrequestchain", "network-tree", "checklist":
		return nil // trees of requests and what passed, which say nothing about a place
	case "node":
		return []any{v}
	}
	return asList(v["items"])
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// simplify returns a value of an item without the structure that only a viewer needs. It returns nil
// for a picture, and for a value that is empty.
func simplify(value any, depth int) any {
	if depth > depthMax {
		return nil
	}
	switch v := value.(type) {
	case string:
		if v == "" || strings.HasPrefix(v, "data:") {
			return nil
		}
		return shorten(v)
	case float64, bool:
		return v
	case []any:
		var out []any
		for _, one := range v[:min(len(v), wherePlacesMax)] {
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

func simplifyObject(v map[string]any, depth int) any {
	text := func(name string) string { s, _ := v[name].(string); return s }
	switch kind := text("type"); {
	case pictures[kind]:
		return nil
	case kind == "node":
		return keepTexts(v, "selector", "snippet", "nodeLabel", "explanation")
	case kind == "source-location":
		line, _ := v["line"].(float64)
		column, _ := v["column"].(float64)
		return fmt.Sprintf("%s:%.0f:%.0f", shorten(text("url")), line+1, column) // Lighthouse counts lines from 0
	case kind == "link":
		return keepTexts(v, "text", "url")
	case kind == "subitems":
		return simplify(v["items"], depth+1)
	case v["value"] != nil && kind != "":
		return simplify(v["value"], depth+1)
	}
	out := map[string]any{}
	for name, value := range v {
		if name == "type" || name == "debugData" {
			continue
		}
		if simple := simplify(value, depth+1); simple != nil {
			out[name] = simple
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// keepTexts returns the properties with these names that are texts and no pictures.
func keepTexts(v map[string]any, names ...string) any {
	out := map[string]any{}
	for _, name := range names {
		if s, ok := v[name].(string); ok && s != "" && !strings.HasPrefix(s, "data:") {
			out[name] = shorten(s)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// shorten shortens a text of the page.
func shorten(text string) string {
	if runes := []rune(text); len(runes) > textMax {
		return string(runes[:textMax-1]) + "…"
	}
	return text
}
