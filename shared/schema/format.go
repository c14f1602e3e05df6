package schema

import (
	"net/url"
	"regexp"

	"growthworkspace/shared/timestamp"
)

// formats maps a name of the format tag to a function that returns the problem of a value, "" when it is valid.
var formats = map[string]func(string) string{
	"uri":       checkURI,
	"date-time": checkTimestamp,
	"day":       checkDay,
}

// patterns maps a name of the pattern tag to a regular expression. Each is valid in ECMA-262, too, as JSON Schema requires.
var patterns = map[string]*regexp.Regexp{
	"slug":      regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`),
	"metricKey": regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`),
	"ideaId":    regexp.MustCompile(`^ida_[0-9a-z]{1,40}$`),
	"currency":  regexp.MustCompile(`^[A-Z]{3}$`),
}

// Pattern returns the regular expression with a name of the pattern tag, nil when there is none.
func Pattern(name string) *regexp.Regexp { return patterns[name] }

// uriChars matches the characters of RFC 3986; url.Parse accepts more.
var uriChars = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$`)

func checkURI(s string) string {
	u, err := url.Parse(s)
	if err != nil || !uriChars.MatchString(s) || (u.Host == "" && u.Opaque == "" && u.Path == "") {
		return "must be an absolute URI, for example https://example.com"
	}
	if (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() == "" {
		return "must name a host, for example https://example.com"
	}
	return ""
}

func checkTimestamp(s string) string {
	if _, ok := timestamp.Parse(s); !ok {
		return "must be an RFC 3339 time, for example 2026-08-11T09:30:00Z"
	}
	return ""
}

func checkDay(s string) string {
	if _, ok := timestamp.ParseDay(s); !ok {
		return "must be a day, for example 2026-08-11"
	}
	return ""
}

// Expression returns the regular expression that a text must match, "" when there is none.
func (f *Field) Expression() string {
	if f.Pattern == "" {
		return ""
	}
	return patterns[f.Pattern].String()
}
