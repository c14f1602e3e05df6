// Package thread splits the body of a post into a thread for X, and computes the weight of text, by
// which X limits the length of posts. The service stores the parts with the post, and the studio
// shows them before the post is stored. The package imports nothing from this module.
package thread

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

// The rules by which X limits the weight of a post. These numbers come from config/v3.json in X's
// library twitter-text.
const (
	WeightMax  = 280
	linkWeight = 23 // the weight of a link of any length, because X replaces the link with a short one
	wideWeight = 2  // the weight of an emoji, and of every character that is not in narrowRanges, such as a Chinese character
)

// narrowRanges lists ranges of characters that weigh 1, by first and last character: alphabets up
// to Georgian, and common punctuation.
var narrowRanges = [][2]rune{{0, 0x10FF}, {0x2000, 0x200D}, {0x2010, 0x201F}, {0x2032, 0x2037}}

// Weight returns the weight of text on X. A post may weigh at most WeightMax.
func Weight(text string) (weight int) {
	for _, u := range splitUnits(text) {
		weight += u.weight
	}
	return weight
}

// Parts splits text that is too long for a single post on X. It cuts between words, or within a
// word that is too long for one post, and drops only the white space at the cuts. It never cuts
// within a textUnit. It returns nil if one post is enough or text is only white space.
func Parts(text string) []string {
	rest, isSplit := splitUnits(text), false
	var parts []string
	for cut := firstCut(rest); cut < len(rest); cut = firstCut(rest) {
		parts, isSplit = appendText(parts, rest[:cut]), true
		for rest = rest[cut:]; len(rest) > 0 && rest[0].isSpace(); {
			rest = rest[1:]
		}
	}
	if !isSplit {
		return nil
	}
	return appendText(parts, rest)
}

// firstCut returns the number of units in the first post, which contains as many whole words as
// fit. If not even one word fits, it contains as many units as fit, but at least one.
func firstCut(text []textUnit) int {
	weight, wordEnd := 0, 0
	for i, u := range text {
		if i > 0 && u.isSpace() && !text[i-1].isSpace() {
			wordEnd = i
		}
		if weight += u.weight; weight > WeightMax {
			if wordEnd > 0 {
				return wordEnd
			}
			return max(i, 1)
		}
	}
	return len(text)
}

// appendText appends text as a part, unless it is only white space.
func appendText(parts []string, text []textUnit) []string {
	var part strings.Builder
	blank := true
	for _, u := range text {
		part.WriteString(u.text)
		blank = blank && u.isSpace()
	}
	if blank {
		return parts
	}
	return append(parts, part.String())
}

// textUnit is the smallest unit of text, which is never split: a link, or a grapheme cluster, which
// readers see as one character.
type textUnit struct {
	text   string
	weight int
}

func (u textUnit) isSpace() bool { return strings.TrimSpace(u.text) == "" }

// linkPattern matches the links that X shortens. It is stricter than X's pattern: what only X
// treats as a link, such as a host without a scheme, has the weight of its characters.
var linkPattern = regexp.MustCompile(`(?i)https?://([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:[0-9]+)?([/?#]([a-z0-9._~:/?#@!$&*+,;=%-]*[a-z0-9_~/#&+=%-])?)?`)

// noLinkAfterChars lists the characters after which X does not recognise a link.
const noLinkAfterChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@＠$#＃"

// findLinks returns the start and end index of each link in text.
func findLinks(text string) (out [][]int) {
	for _, span := range linkPattern.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:span[0]])
		if !strings.ContainsRune(noLinkAfterChars, before) {
			out = append(out, span)
		}
	}
	return out
}

func splitUnits(text string) (out []textUnit) {
	links, linkStart := findLinks(text), -1 // linkStart is the index at which the current link begins, or -1 outside a link
	for g, at := graphemes.FromString(text), 0; g.Next(); {
		cluster := g.Value()
		for len(links) > 0 && links[0][1] <= at {
			links, linkStart = links[1:], -1
		}
		switch inLink := len(links) > 0 && links[0][0] <= at; {
		case inLink && linkStart >= 0:
			out[len(out)-1].text = text[linkStart : at+len(cluster)]
		case inLink:
			out, linkStart = append(out, textUnit{cluster, linkWeight}), at
		default:
			out = append(out, textUnit{cluster, clusterWeight(cluster)})
		}
		at += len(cluster)
	}
	return out
}

// emojiRunesMax is the length of the longest emoji, in code points.
const emojiRunesMax = 10

// clusterWeight returns the weight of a grapheme cluster. X weighs the composed form (NFC) of a
// post, and an emoji of several code points weighs as much as an emoji of one.
func clusterWeight(cluster string) (weight int) {
	runes := []rune(norm.NFC.String(cluster))
	if n := len(runes); n > 1 && n <= emojiRunesMax && isEmoji(runes) {
		return wideWeight
	}
	for _, r := range runes {
		weight += wideWeight
		for _, narrow := range narrowRanges {
			if narrow[0] <= r && r <= narrow[1] {
				weight--
			}
		}
	}
	return weight
}

// isEmoji reports whether a cluster of several code points is one emoji.
func isEmoji(runes []rune) bool {
	const (
		firstSymbol = 0x2190 // the first arrow; apart from keycaps, no cluster that begins with an earlier character is an emoji
		keycap      = 0x20E3
	)
	if runes[len(runes)-1] == keycap {
		return true
	}
	for _, r := range runes[1:] {
		switch {
		case runes[0] < firstSymbol:
			return false
		case r == 0xFE0F, r == 0x200D, 0x1F3FB <= r && r <= 0x1F3FF, 0x1F1E6 <= r && r <= 0x1F1FF, 0xE0020 <= r && r <= 0xE007F:
			return true // code points that make the symbol before them an emoji: variation selector, joiner, skin tones, letters and tags of flags
		}
	}
	return false
}
