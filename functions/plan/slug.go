package plan

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"growthworkspace/shared/table"
)

const slugChars = 100

// letters replaces the Latin letters that Unicode does not decompose into a plain letter and an accent.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ı", "i")

// deriveSlug returns the slug of a title: letters lose their accents, and each run of characters other than a to z and digits
// becomes one hyphen. A title without a letter a to z or a digit gives "item".
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

// numberedSlug returns base-2, base-3 and so on. A long base is cut so that the slug has at most slugChars characters.
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

// reservation makes a slug unique on its board. It is a record whose key has the slug and which names the item.
type reservation struct {
	ItemID string `store:"itemId"`
}

// CreateItemWithFreeSlug creates an item with the base slug, or with base-2, base-3 and so on when it is taken. Returns
// table.ErrContended when other creates took the slug too many times.
func (s Store) CreateItemWithFreeSlug(ctx context.Context, companyID string, i Item, base string) (Item, error) {
	i.Slug = base
	for losses := range contendedMax {
		created, err := s.CreateItem(ctx, companyID, i)
		if !errors.Is(err, errSlugTaken) {
			return created, err
		}
		if i.Slug, err = s.freeSlug(ctx, companyID, i.RoadmapID, base, losses); err != nil {
			return Item{}, err
		}
	}
	return Item{}, table.ErrContended
}

// freeSlug returns a numbered slug that is free: the first one, or a later one at random after losses. So concurrent creates
// with one title do not all try the same slug.
func (s Store) freeSlug(ctx context.Context, companyID, boardID, base string, losses int) (string, error) {
	stem := base + "-"
	if longest := numberedSlug(base, 1_000_000); !strings.HasPrefix(longest, stem) {
		stem = strings.TrimRight(strings.TrimSuffix(longest, "1000000"), "-") // a longer number cuts more of a long base
	}
	taken := map[string]bool{}
	prefix := slugKey(companyID, boardID, stem).SK
	type record struct {
		SK string `store:"sk"`
	}
	err := table.Each(ctx, s.table, table.Collection{Partition: key(companyID).PK, Prefix: prefix, Consistent: true}, func(r record) error {
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
