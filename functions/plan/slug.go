package plan

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const slugChars = 100

// letters spells the Latin letters that are no letter with an accent, which Unicode would take apart.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ı", "i")

// deriveSlug turns a title into a slug: letters lose their accents, and whatever is neither a letter a to z nor a digit
// becomes one hyphen. A title without any of them gives "item".
func deriveSlug(title string) string {
	var out strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(letters.Replace(strings.ToLower(title))) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			if gap && out.Len() > 0 {
				out.WriteByte('-')
			}
			gap = false
			out.WriteRune(r)
		case !unicode.Is(unicode.Mn, r): // a combining mark belongs to the letter before it
			gap = true
		}
	}
	if out.Len() == 0 {
		return "item"
	}
	return cutSlug(out.String(), slugChars)
}

// numberedSlug returns the n-th slug of a base: base-2, base-3 and so on, within the bound of a slug.
func numberedSlug(base string, n int) string {
	suffix := "-" + strconv.Itoa(n)
	return cutSlug(base, slugChars-len(suffix)) + suffix
}

func cutSlug(slug string, length int) string {
	if len(slug) > length {
		slug = slug[:length]
	}
	return strings.TrimRight(slug, "-")
}
