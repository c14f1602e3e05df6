package user

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/width"
)

// textWidth returns the number of columns that a text takes in a terminal.
func textWidth(text string) (n int) {
	for g := graphemes.FromString(text); g.Next(); {
		n += clusterWidth(g.Value())
	}
	return n
}

// clusterWidth returns the number of columns of a grapheme cluster: that of its first character, or
// 2 for an emoji or a flag.
func clusterWidth(cluster string) int {
	const emojiSelector, firstFlagLetter, lastFlagLetter = '\uFE0F', '\U0001F1E6', '\U0001F1FF'
	first, size := utf8.DecodeRuneInString(cluster)
	if unicode.In(first, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me, unicode.Zl, unicode.Zp) {
		return 0
	}
	isFlag := firstFlagLetter <= first && first <= lastFlagLetter && size < len(cluster)
	switch kind := width.LookupRune(first).Kind(); {
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth, isFlag, strings.ContainsRune(cluster, emojiSelector):
		return 2
	}
	return 1
}
