package broadcast

import "unicode"

// xPostChars is the maximum length of a post on X. The specification has no limit for other platforms, so only posts on X are
// split.
const xPostChars = 280

// threadParts splits a body that is too long for one post on X. It cuts at the ends of words, or within a word that is longer
// than a post, and drops only the white space at the cuts. Returns nil when one post is enough, and for a body of white space.
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

// cutOf returns the last end of a word within the length of a post, or that length if there is none. The text must be longer.
func cutOf(text []rune) int {
	for cut := xPostChars; cut > 0; cut-- {
		if unicode.IsSpace(text[cut]) && !unicode.IsSpace(text[cut-1]) {
			return cut
		}
	}
	return xPostChars
}

// appendText appends a part unless it is only white space.
func appendText(parts []string, text []rune) []string {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			return append(parts, string(text))
		}
	}
	return parts
}
