package broadcast

import "unicode"

// xPostChars is how much X takes in one post. decisions.md §3 names no limit of another platform, so the posts of the
// others are never parted.
const xPostChars = 280

// threadParts parts the body of a post for a platform that does not take it in one: at word ends, a word that is longer
// than a post within it. Nothing is lost but the white space at the cuts. nil when one post is enough, and for a body
// of nothing but white space.
func threadParts(platform *Platform, body *string) []string {
	if platform == nil || *platform != PlatformX || body == nil {
		return nil
	}
	rest := []rune(*body)
	if len(rest) <= xPostChars {
		return nil
	}
	var parts []string
	for len(rest) > xPostChars {
		cut := cutOf(rest)
		parts = appendText(parts, rest[:cut])
		rest = rest[cut:]
		for len(rest) > 0 && unicode.IsSpace(rest[0]) {
			rest = rest[1:]
		}
	}
	return appendText(parts, rest)
}

// cutOf returns the last end of a word within one post of a text that is longer, or the length of a post when there is none.
func cutOf(text []rune) int {
	for cut := xPostChars; cut > 0; cut-- {
		if unicode.IsSpace(text[cut]) && !unicode.IsSpace(text[cut-1]) {
			return cut
		}
	}
	return xPostChars
}

// appendText appends a part that has more than white space.
func appendText(parts []string, text []rune) []string {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			return append(parts, string(text))
		}
	}
	return parts
}
