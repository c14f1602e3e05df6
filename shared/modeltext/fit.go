package modeltext

import (
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"
)

// OutlinedValue describes a value that an outline replaces.
type OutlinedValue struct {
	// Next is the pointer to pass to At. It points to the value itself, or to the first slice of it
	// that fits. It is empty if At cannot show the value either: a number that does not fit, or a
	// member whose name does not fit.
	Next string
}

// part is a member of an object, or an entry of an array.
type part struct {
	name  []byte // a JSON string; nil for an entry of an array
	index int    // the index in the array, for an entry
	value []byte
}

func (p part) size() int {
	if p.name == nil {
		return len(p.value) + len(",")
	}
	return len(p.name) + len(":") + len(p.value) + len(",")
}

// partsOf returns the members of an object or the entries of an array.
func partsOf(value []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		for name, value := range members(value) {
			if !yield(part{name: name, value: value}) {
				return
			}
		}
		for n, value := range entries(value) {
			if !yield(part{index: n, value: value}) {
				return
			}
		}
	}
}

// sizeOf returns the size of an object or array with the given parts.
func sizeOf(parts []part) int {
	size := len("{}") - len(",")
	for _, p := range parts {
		size += p.size()
	}
	return max(size, len("{}"))
}

// join returns an object or array with the given parts. opening is { or [.
func join(opening byte, parts []part) []byte {
	return appendJoined(make([]byte, 0, sizeOf(parts)), opening, parts)
}

func appendJoined(out []byte, opening byte, parts []part) []byte {
	out = append(out, opening)
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		if p.name != nil {
			out = append(append(out, p.name...), ':')
		}
		out = append(out, p.value...)
	}
	return append(out, opening+2) // in ASCII, } is { + 2 and ] is [ + 2
}

// place is the position of a value in its record. For a slice of an array or a string, it contains
// the pointer to the whole value and the index of the slice's first entry or character.
type place struct {
	pointer string
	first   int
	whole   []byte // the whole value; nil if the value is not a slice
}

// child returns the pointer to a part of the value at this place.
func (pl place) child(p part) string {
	if p.name == nil {
		return pl.pointer + "/" + strconv.Itoa(pl.first+p.index)
	}
	return pl.pointer + "/" + escapeToken(unquote(p.name))
}

// fit returns the value at a place in at most bytesMax bytes. If the value is larger, its parts are
// replaced with outlines, the largest first, until it fits. If it still does not fit, the whole
// value is replaced with an outline.
func fit(value []byte, at place, bytesMax int) (out []byte, outlined []OutlinedValue) {
	if len(value) <= bytesMax {
		return value, nil
	}
	if mayFit(value, bytesMax) {
		all := slices.Collect(partsOf(value))
		if outlined, ok := outlineLargest(all, at, bytesMax); ok {
			return join(value[0], all), outlined
		}
	}
	next := firstSlice(value, at, bytesMax)
	if value[0] == '{' && count(value) == 1 {
		next = "" // it has been tried to outline the member's value, so the name does not fit
	}
	return outline(value), []OutlinedValue{{next}}
}

// mayFit reports whether an object or array would fit if all of its parts were replaced with the
// shortest possible outlines. If not, its parts need not be collected: there may be millions of
// them, which would take a lot of memory.
func mayFit(value []byte, bytesMax int) bool {
	minBytes := len("{}") - len(",")
	for p := range partsOf(value) {
		p.value = p.value[:min(len(p.value), outlineBytesMin)]
		if minBytes += p.size(); minBytes > bytesMax {
			return false
		}
	}
	return value[0] == '{' || value[0] == '['
}

// outlineLargest replaces parts of the value at a place with outlines, the largest first, until the
// value fits. ok reports whether it fits.
func outlineLargest(parts []part, at place, bytesMax int) (outlined []OutlinedValue, ok bool) {
	size := sizeOf(parts)
	indexesBySize := make([]int, len(parts))
	for i := range indexesBySize {
		indexesBySize[i] = i
	}
	slices.SortStableFunc(indexesBySize, func(a, b int) int { return len(parts[b].value) - len(parts[a].value) })
	for _, i := range indexesBySize {
		if size <= bytesMax {
			break
		}
		p := &parts[i]
		text, next := outline(p.value), at.child(*p)
		if len(text) >= len(p.value) {
			continue
		}
		if len(p.value) > bytesMax && p.value[0] != '{' {
			next = firstSlice(p.value, place{pointer: next}, bytesMax)
		}
		size -= len(p.value) - len(text)
		p.value = text
		outlined = append(outlined, OutlinedValue{next})
	}
	return outlined, size <= bytesMax
}

// firstSlice returns a pointer to the longest slice that fits and begins with the first entry or
// character of the value. It returns "" for a number, which has no slices.
func firstSlice(value []byte, at place, bytesMax int) string {
	n, size := 0, len("[]")
	switch value[0] {
	case '"':
		for _, r := range unquote(value) {
			if size += encodedBytes(r); n > 0 && size > bytesMax {
				break
			}
			n++
		}
	case '{', '[':
		for p := range partsOf(value) {
			if size += p.size(); n > 0 && size > bytesMax {
				break
			}
			n++
		}
	default:
		return ""
	}
	if at.whole == nil {
		at.whole = value
	}
	return at.pointer + "/" + sliceTokenOf(at.whole, at.first, at.first+n-1)
}

// encodedBytes returns the maximum size of a character in a JSON string.
func encodedBytes(r rune) int {
	switch {
	case r < ' ' || r == '\u2028' || r == '\u2029':
		return len(`\u0000`)
	case r == '"' || r == '\\':
		return 2
	}
	return utf8.RuneLen(r)
}
