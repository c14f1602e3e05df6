package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
)

// routes finds the operation for a request by the segments of the escaped path. Literal segments
// must match byte for byte. http.ServeMux would redirect unclean paths, decode before it matches,
// and write its own 404 and 405 responses.
type routes []route

type route struct {
	*Operation

	segments []string
}

// add adds an operation. It returns an error if a path could match two operations with the same
// method, and neither pattern has more literal segments than the other.
func (r *routes) add(op *Operation) error {
	added := route{op, PathSegments(op.Path)}
	for _, other := range *r {
		if other.Method == op.Method && isAmbiguous(other.segments, added.segments) {
			return fmt.Errorf("%s and %s are the same path", other.Path, op.Path)
		}
	}
	*r = append(*r, added)
	return nil
}

// match returns the operation for a request and the path's parameters. HEAD matches GET. The error
// is not_found, or method_not_allowed if only the method is wrong. In that case, allow lists the
// allowed methods.
func (r routes) match(method, escapedPath string) (op *Operation, parameters map[string]string, allow []string, err error) {
	if !strings.HasPrefix(escapedPath, "/") {
		return nil, nil, nil, errNoPath
	}
	if method == "HEAD" {
		method = "GET"
	}
	segments := strings.Split(escapedPath[1:], "/")
	best := -1
	for _, candidate := range r {
		values, literals, ok := candidate.matchSegments(segments)
		if !ok || literals < best {
			continue
		}
		if literals > best { // a literal segment beats a parameter, as in /keys/current and /keys/{keyId}
			best, op, parameters, allow = literals, nil, nil, nil
		}
		allow = append(allow, candidate.Method)
		if candidate.Method == method {
			op, parameters = candidate.Operation, values
		}
	}
	switch {
	case op != nil:
		return op, parameters, nil, nil
	case len(allow) == 0:
		return nil, nil, nil, errNoPath
	}
	if slices.Contains(allow, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	return nil, nil, allow, fault.New(fault.MethodNotAllowed, "this path accepts %s", strings.Join(allow, ", "))
}

var errNoPath = fault.New(fault.NotFound, "no such path")

func (r route) matchSegments(segments []string) (parameters map[string]string, literals int, ok bool) {
	if len(segments) != len(r.segments) {
		return nil, 0, false
	}
	for i, s := range r.segments {
		name, isParameter := PathParameter(s)
		if !isParameter {
			if s != segments[i] {
				return nil, 0, false
			}
			literals++
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || segments[i] == "" || segments[i] == "." || segments[i] == ".." {
			return nil, 0, false
		}
		if parameters == nil {
			parameters = make(map[string]string, 2)
		}
		parameters[name] = value
	}
	return parameters, literals, true
}

// isAmbiguous reports whether a path can match both patterns and neither has more literal segments
// than the other.
func isAmbiguous(a, b []string) bool {
	literals := 0
	return slices.EqualFunc(a, b, func(x, y string) bool {
		_, p := PathParameter(x)
		_, q := PathParameter(y)
		switch {
		case p && !q:
			literals--
		case q && !p:
			literals++
		}
		return x == y || p || q
	}) && literals == 0
}
