package api

import (
	"net/http"
	"regexp"
	"strings"
)

// Trace is the place of a call in the caller's distributed trace. It is only logged. The zero value
// means that the caller sent none.
type Trace struct {
	ID       string // 32 hexadecimal digits
	ParentID string // the caller's span: 16 hexadecimal digits
}

// traceparentPattern has the groups version, trace id, parent id and rest.
var traceparentPattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// ParseTrace parses the values of a traceparent header (W3C Trace Context, section 3.2). It returns
// the zero Trace if there is not exactly one value or if the value is invalid, because the standard
// requires that it is ignored then.
func ParseTrace(traceparent ...string) Trace {
	if len(traceparent) != 1 {
		return Trace{}
	}
	m := traceparentPattern.FindStringSubmatch(traceparent[0])
	switch {
	case m == nil, m[1] == "ff", m[1] == "00" && m[4] != "": // only later versions may have more fields
		return Trace{}
	case strings.Trim(m[2], "0") == "", strings.Trim(m[3], "0") == "":
		return Trace{}
	}
	return Trace{m[2], m[3]}
}

func traceOf(r *http.Request) Trace { return ParseTrace(r.Header.Values("Traceparent")...) }
