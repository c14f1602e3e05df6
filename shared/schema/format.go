package schema

import (
	_ "embed"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// format is a rule for a string that a regular expression alone cannot express.
type format struct {
	check   func(string) string // returns the problem with a value, or "" if it is valid
	name    string              // the format in JSON Schema; may be empty
	pattern string              // the part of the rule that a regular expression can express, for JSON Schema; may be empty
}

// formats maps the values of the format tag to their rules.
var formats = map[string]format{
	"web":       {checkWeb, "uri", `^https?://`},
	"date-time": {checkTimestamp, "date-time", ""},
	"day":       {checkDay, "", `^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt].+)?$`}, // not a JSON Schema format, because the value is either a date or a date-time
	"timezone":  {checkTimezone, "", `^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`},
	"language":  {checkLanguage, "", `^[a-z]{2}$`},
	"host":      {checkHost, "", hostPattern.String()},
	"origin":    {checkOrigin, "", originPattern.String()},
}

// FormatPattern returns the regular expression that is published for a value of the format tag, or
// "" if there is none.
func FormatPattern(name string) string { return formats[name].pattern }

// CheckFormat returns a message if a string does not have the format of that name, and ""
// otherwise. It is for records that do not come from a request.
func CheckFormat(name, text string) (problem string) { return formats[name].check(text) }

// patterns maps the values of the pattern tag to regular expressions. Each of them is also valid in
// ECMA-262, as JSON Schema requires.
var patterns = map[string]*regexp.Regexp{
	"slug":      regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`),
	"metricKey": regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`),
	"currency":  regexp.MustCompile(`^[A-Z]{3}$`),
	"seriesId":  regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{16}$`),
}

// Pattern returns the regular expression for a value of the pattern tag, or nil if there is none.
func Pattern(name string) *regexp.Regexp { return patterns[name] }

// uriPattern matches strings with only the characters that RFC 3986 allows; url.Parse accepts more.
var uriPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$`)

// checkWeb accepts only http and https addresses of web pages, so that following a link never runs
// a script. It refuses a password in an address, because everybody who reads the record would see
// it.
func checkWeb(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil, !uriPattern.MatchString(s), !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://"):
		return "must be an http or https address with a host, for example https://example.com"
	case u.User != nil:
		return "must not have a user name or a password"
	case u.Hostname() == "":
		return "must be an http or https address with a host, for example https://example.com"
	case !isWebHost(u):
		return "must have a valid host, for example https://example.com"
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > math.MaxUint16) {
		return "must have a port between 1 and 65535"
	}
	return ""
}

// webHostPattern matches the host names of web sites, which may contain an underscore and may end
// with a full stop.
var webHostPattern = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.|$))+$`)

const hostCharsMax = 253

func isWebHost(u *url.URL) bool {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		address, err := netip.ParseAddr(host)
		return err == nil && address.Is6()
	}
	return len(strings.TrimSuffix(host, ".")) <= hostCharsMax && webHostPattern.MatchString(host)
}

// zones has the names of the IANA time zone database, links included, each between two line breaks.
//
//go:embed zones.txt
var zones string

// checkTimezone accepts the names in the IANA time zone database. It does not call
// time.LoadLocation, which also accepts "Local" and "", and needs the time zone data.
func checkTimezone(s string) string {
	if strings.ContainsAny(s, "\n\x00") || !strings.Contains(zones, "\n"+s+"\n") {
		return "must be a name of the IANA time zone database, for example Europe/Berlin"
	}
	return ""
}

// languages lists the ISO 639-1 codes, except withdrawn ones.
const languages = " aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu " +
	"fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks " +
	"ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu " +
	"rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa " +
	"wo xh yi yo za zh zu "

func checkLanguage(s string) string {
	if len(s) != 2 || !strings.Contains(languages, " "+s+" ") {
		return "must be an ISO 639-1 code in small letters, for example de"
	}
	return ""
}

// hostPattern matches host names (RFC 1123).
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

func checkHost(s string) string {
	if !hostPattern.MatchString(s) {
		return "must be a host name without scheme, port or path, for example shop.example.com"
	}
	return ""
}

// originPattern matches web origins as browsers send them, with a host name or an IPv4 address.
var originPattern = regexp.MustCompile(`^https?://[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*` +
	`(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`)

func checkOrigin(s string) string {
	if !originPattern.MatchString(s) {
		return "must be an origin without path or wildcard, its host in small letters, for example https://example.com or http://localhost:3000"
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

// Expression returns the regular expression that a string must match, or "" if there is none.
func (f *Field) Expression() string {
	switch {
	case f.Ref != "":
		return id.Pattern(f.Ref)
	case f.Pattern != "":
		return patterns[f.Pattern].String()
	}
	return formats[f.Format].pattern
}

// JSONFormat returns the JSON Schema format of a string, or "" if there is none.
func (f *Field) JSONFormat() string { return formats[f.Format].name }
