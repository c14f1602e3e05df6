package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	anyascii "github.com/anyascii/go"
	"golang.org/x/text/unicode/norm"

	"growthworkspace/shared/table"
)

const slugCharsMax = 100

// apostrophes lists characters that DeriveSlug drops without a hyphen, so "don't" becomes "dont".
const apostrophes = "'’‘ʼ′`"

// DeriveSlug returns the slug for a title. It replaces each letter and digit of any script with its
// Latin transliteration (a Chinese character with its Mandarin reading, as a separate word), and
// each run of other characters with one hyphen. A title without any letter or digit gives "item".
func DeriveSlug(title string) string {
	var out strings.Builder
	gap := false
	write := func(reading string) {
		for _, r := range strings.ToLower(reading) {
			if r > 'z' || !isAlphanumeric(byte(r)) {
				continue // a symbol in the transliteration, such as the ` that stands for an Arabic ain
			}
			if gap && out.Len() > 0 {
				out.WriteByte('-')
			}
			gap = false
			out.WriteRune(r)
		}
	}
	fallback := ""
	for _, r := range norm.NFKC.String(title) {
		switch {
		case unicode.Is(unicode.Han, r) && unicode.IsLetter(r):
			gap = true
			write(anyascii.TransliterateRune(r))
			gap = true
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r): // a mark belongs to the letter before it
			write(anyascii.TransliterateRune(r))
		case !strings.ContainsRune(apostrophes, r):
			gap = true
		}
		if fallback == "" && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
			fallback = fmt.Sprintf("u%x", r)
		}
	}
	if out.Len() == 0 { // the title has no letters or digits, or only letters of a rare script without a transliteration
		return cmp.Or(fallback, "item")
	}
	return cutSlug(out.String(), slugCharsMax)
}

func isAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// numberedSlug appends a hyphen and n to a slug. If necessary, it truncates the slug first, so that
// the result has at most slugCharsMax characters.
func numberedSlug(base string, n int) string {
	suffix := "-" + strconv.Itoa(n)
	return cutSlug(base, slugCharsMax-len(suffix)) + suffix
}

func cutSlug(slug string, length int) string {
	if len(slug) > length {
		slug = slug[:length]
	}
	return strings.TrimRight(slug, "-")
}

// slugReservation is a record that makes a slug unique on its board. Its key contains the slug, and
// its contents are the id of the item that owns the slug.
type slugReservation struct {
	ItemID string `store:"itemId"`
}

// InsertWithFreeSlug creates an item with the slug `base` or, if that is taken, with a hyphen and a
// number appended, such as `base-2`. Returns table.ErrTooMuchContention when concurrent creates
// took the chosen slug too many times.
func (s itemStore) InsertWithFreeSlug(ctx context.Context, companyID string, i Item, base string) (Item, error) {
	i.Slug = base
	for losses := range writeAttemptsMax {
		created, err := s.Insert(ctx, companyID, i)
		if !errors.Is(err, errSlugTaken) {
			return created, err
		}
		if i.Slug, err = s.findFreeSlug(ctx, companyID, i.RoadmapID, base, losses); err != nil {
			return Item{}, err
		}
	}
	return Item{}, table.ErrTooMuchContention
}

// findFreeSlug returns a free numbered slug. If lostRaces is 0, it returns the first one. Otherwise
// it returns a randomly chosen later one, so that concurrent creates with the same title do not all
// try the same slug.
func (s itemStore) findFreeSlug(ctx context.Context, companyID, boardID, base string, lostRaces int) (string, error) {
	stem := base + "-"
	if longest := numberedSlug(base, 1_000_000); !strings.HasPrefix(longest, stem) {
		stem = strings.TrimRight(strings.TrimSuffix(longest, "1000000"), "-") // the common prefix of all numbered slugs; a long base is truncated to make room for the number
	}
	taken := map[string]bool{}
	prefix := slugKey(companyID, boardID, stem).SK
	err := table.ForEach(ctx, s.table, table.Collection{Partition: recordKey(companyID).PK, Prefix: prefix, Consistent: true}, func(r sortKey) error {
		taken[strings.TrimPrefix(r.SK, slugKey(companyID, boardID, "").SK)] = true
		return nil
	})
	n, skip := 2, rand.IntN(lostRaces+1)
	for ; taken[numberedSlug(base, n)] || skip > 0; n++ {
		if !taken[numberedSlug(base, n)] {
			skip--
		}
	}
	return numberedSlug(base, n), err
}
