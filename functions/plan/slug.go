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

const slugChars = 100

// apostrophes join the letters around them: don't becomes dont.
const apostrophes = "'’‘ʼ′`"

// deriveSlug returns the slug of a title. Each letter and digit, of any script, becomes its reading
// in Latin letters (a Chinese character its Mandarin reading, as a word of its own), and each run
// of other characters one hyphen. A title without any letter or digit gives "item".
func deriveSlug(title string) string {
	var out strings.Builder
	gap := false
	write := func(reading string) {
		for _, r := range strings.ToLower(reading) {
			if r > 'z' || !isAlphanumeric(byte(r)) {
				continue // a sign of the reading, such as the ` of an Arabic ain
			}
			if gap && out.Len() > 0 {
				out.WriteByte('-')
			}
			gap = false
			out.WriteRune(r)
		}
	}
	unread := ""
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
		if unread == "" && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
			unread = fmt.Sprintf("u%x", r)
		}
	}
	if out.Len() == 0 { // a rare script without a reading, or no letter
		return cmp.Or(unread, "item")
	}
	return cutSlug(out.String(), slugChars)
}

func isAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// numberedSlug returns base-2, base-3 and so on. A long base is cut so that the slug has at most
// slugChars characters.
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

// slugReservation makes a slug unique on its board. It is a record whose key has the slug and which
// names the item.
type slugReservation struct {
	ItemID string `store:"itemId"`
}

// InsertWithFreeSlug creates an item with the base slug, or with base-2, base-3 and so on when it
// is taken. Returns table.ErrTooMuchContention when other creates took the slug too many times.
func (s itemStore) InsertWithFreeSlug(ctx context.Context, companyID string, i Item, base string) (Item, error) {
	i.Slug = base
	for losses := range contendedMax {
		created, err := s.Insert(ctx, companyID, i)
		if !errors.Is(err, errSlugTaken) {
			return created, err
		}
		if i.Slug, err = s.freeSlug(ctx, companyID, i.RoadmapID, base, losses); err != nil {
			return Item{}, err
		}
	}
	return Item{}, table.ErrTooMuchContention
}

// freeSlug returns a numbered slug that is free: the first one, or a later one at random after
// losses. So concurrent creates with one title do not all try the same slug.
func (s itemStore) freeSlug(ctx context.Context, companyID, boardID, base string, losses int) (string, error) {
	stem := base + "-"
	if longest := numberedSlug(base, 1_000_000); !strings.HasPrefix(longest, stem) {
		stem = strings.TrimRight(strings.TrimSuffix(longest, "1000000"), "-") // a longer number cuts more of a long base
	}
	taken := map[string]bool{}
	prefix := slugKey(companyID, boardID, stem).SK
	err := table.ForEach(ctx, s.table, table.Collection{Partition: recordKey(companyID).PK, Prefix: prefix, Consistent: true}, func(r sortKey) error {
		taken[strings.TrimPrefix(r.SK, slugKey(companyID, boardID, "").SK)] = true
		return nil
	})
	n, skip := 2, rand.IntN(losses+1)
	for ; taken[numberedSlug(base, n)] || skip > 0; n++ {
		if !taken[numberedSlug(base, n)] {
			skip--
		}
	}
	return numberedSlug(base, n), err
}
