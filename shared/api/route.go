package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// router finds the operation of a request by the segments of its escaped path. net/http's ServeMux answers unclean paths
// with a redirect, decodes before it matches and has a 404 and a 405 of its own; here a path either is one of ours,
// byte for byte, or it is not found.
type router []*Operation

func newRouter(operations []Operation) router {
	var r router
	for i := range operations {
		op := &operations[i]
		for _, other := range r {
			if other.ID == op.ID {
				panic("api: two operations " + op.ID)
			}
			if other.Method == op.Method && ambiguous(other.segments, op.segments) {
				panic(fmt.Sprintf("api: %s and %s have the same path", other.ID, op.ID))
			}
		}
		r = append(r, op)
	}
	return r
}

// match returns the operation and the path's parameters. When only the verb is wrong, op is nil and allow lists the
// verbs that work; when nothing is there both are empty. HEAD is answered as GET.
func (r router) match(method, escapedPath string) (op *Operation, parameters map[string]string, allow []string) {
	if !strings.HasPrefix(escapedPath, "/") {
		return nil, nil, nil
	}
	if method == "HEAD" {
		method = "GET"
	}
	segments := strings.Split(escapedPath[1:], "/")
	best := -1
	for _, candidate := range r {
		values, literals, ok := candidate.matches(segments)
		if !ok || literals < best {
			continue
		}
		if literals > best { // a literal segment beats a parameter, as in /keys/current and /keys/{keyId}
			best, op, parameters, allow = literals, nil, nil, nil
		}
		allow = append(allow, candidate.Method)
		if candidate.Method == method {
			op, parameters = candidate, values
		}
	}
	if op != nil {
		return op, parameters, nil
	}
	if slices.Contains(allow, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	return nil, nil, allow
}

func (op *Operation) matches(segments []string) (parameters map[string]string, literals int, ok bool) {
	if len(segments) != len(op.segments) {
		return nil, 0, false
	}
	for i, s := range op.segments {
		name, isParameter := parameter(s)
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

// ambiguous tells whether one path may match both, and neither has more literal segments.
func ambiguous(a, b []string) bool {
	literals := 0
	return slices.EqualFunc(a, b, func(x, y string) bool {
		_, p := parameter(x)
		_, q := parameter(y)
		switch {
		case p && !q:
			literals--
		case q && !p:
			literals++
		}
		return x == y || p || q
	}) && literals == 0
}
