package jsonschema

import "growthworkspace/shared/schema"

// Example returns a value that a schema accepts, always the same one. It is the first value of an
// enum and, if there are several types, a value of the first type. It is null only if no other
// value is valid.
func Example(s *Schema) any {
	kind := s.Type
	if kind == "" && len(s.Types) > 0 {
		kind = s.Types[0]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case kind == "array":
		return []any{Example(s.Items)}
	case kind == "object":
		out := map[string]any{}
		for name, property := range s.Properties {
			out[name] = Example(property)
		}
		return out
	case kind == "number", kind == "integer":
		if s.Minimum != nil {
			return max(1, *s.Minimum)
		}
		return 1.0
	case kind == "boolean":
		return true
	case kind == "string":
		return exampleText(s)
	}
	return nil
}

func exampleText(s *Schema) string {
	switch s.Format {
	case "date-time":
		return "2026-08-11T09:30:00.000Z"
	case "uri":
		return "https://example.com"
	}
	switch s.Pattern {
	case `^[A-Z]{3}$`:
		return "EUR"
	case schema.FormatPattern("origin"):
		return "https://example.com"
	case schema.FormatPattern("day"):
		return "2026-08-11"
	case schema.FormatPattern("language"):
		return "de"
	case schema.FormatPattern("timezone"):
		return "Europe/Berlin"
	}
	return "text"
}
