// Package route finds what serves a request by the segments of its escaped path. net/http's ServeMux answers unclean paths
// with a redirect, decodes before it matches and has a 404 and a 405 of its own; here a path either is one of those
// that were added, byte for byte, or it is not found.
package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Table maps methods and path patterns to values. The zero value is empty and ready.
type Table[T any] struct{ entries []entry[T] }

type entry[T any] struct {
	method, path string
	segments     []string
	value        T
}

// Segments splits a path pattern.
func Segments(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// Parameter returns the name in a segment such as {itemId}.
func Parameter(segment string) (name string, ok bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// Add adds a value under a method and a path pattern. An error when another one of this method may have the same path and
// neither is more literal.
func (t *Table[T]) Add(method, path string, value T) error {
	e := entry[T]{method, path, Segments(path), value}
	for _, other := range t.entries {
		if other.method == method && ambiguous(other.segments, e.segments) {
			return fmt.Errorf("%s and %s are the same path", other.path, path)
		}
	}
	t.entries = append(t.entries, e)
	return nil
}

// Match returns the value of a request and the path's parameters. When only the verb is wrong, found is false and allow
// lists the verbs that work; when nothing is there allow is empty. HEAD is answered as GET.
func (t *Table[T]) Match(method, escapedPath string) (value T, parameters map[string]string, found bool, allow []string) {
	if !strings.HasPrefix(escapedPath, "/") {
		return value, nil, false, nil
	}
	if method == "HEAD" {
		method = "GET"
	}
	segments := strings.Split(escapedPath[1:], "/")
	best := -1
	for i := range t.entries {
		candidate := &t.entries[i]
		values, literals, ok := candidate.matches(segments)
		if !ok || literals < best {
			continue
		}
		if literals > best { // a literal segment beats a parameter, as in /keys/current and /keys/{keyId}
			best, found, parameters, allow = literals, false, nil, nil
		}
		allow = append(allow, candidate.method)
		if candidate.method == method {
			value, parameters, found = candidate.value, values, true
		}
	}
	if found {
		return value, parameters, true, nil
	}
	if slices.Contains(allow, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	var none T
	return none, nil, false, allow
}

func (e *entry[T]) matches(segments []string) (parameters map[string]string, literals int, ok bool) {
	if len(segments) != len(e.segments) {
		return nil, 0, false
	}
	for i, s := range e.segments {
		name, isParameter := Parameter(s)
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
		_, p := Parameter(x)
		_, q := Parameter(y)
		switch {
		case p && !q:
			literals--
		case q && !p:
			literals++
		}
		return x == y || p || q
	}) && literals == 0
}
