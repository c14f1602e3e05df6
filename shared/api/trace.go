package api

import (
	"net/http"
	"regexp"
	"strings"
)

// Trace is the position of a call in the caller's distributed trace. It is used only in the log.
// The zero value means that the caller sent no trace.
type Trace struct {
	ID       string // 32 hexadecimal digits
	ParentID string // the caller's span: 16 hexadecimal digits
}

// traceparentPattern matches a traceparent. Its groups are the version, the trace id, the parent id
// and any additional fields.
var traceparentPattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// ParseTrace parses the values of a traceparent header (W3C Trace Context, section 3.2). It returns
// the zero Trace unless there is exactly one value and the value is valid. The standard requires
// invalid headers to be ignored.
func ParseTrace(traceparent ...string) Trace {
	if len(traceparent) != 1 {
		return Trace{}
	}
	m := traceparentPattern.FindStringSubmatch(traceparent[0])
	switch {
	case m == nil, m[1] == "ff", m[1] == "00" && m[4] != "": // version 00 has no additional fields, but later versions may have some
		return Trace{}
	case strings.Trim(m[2], "0") == "", strings.Trim(m[3], "0") == "":
		return Trace{}
	}
	return Trace{m[2], m[3]}
}

func traceOf(r *http.Request) Trace { return ParseTrace(r.Header.Values("Traceparent")...) }
