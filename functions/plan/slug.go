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

// reservation makes a slug unique on its board: a record under the slug that names its item.
type reservation struct {
	ItemID string `store:"itemId"`
}

// CreateItemWithFreeSlug writes a new item under the base slug, or under base-2, base-3 and so on when it is taken.
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

// freeSlug returns the first numbered slug that is free. Who has lost it to others before takes one further on, at random,
// so that many who create the same title at once do not all try the same.
func (s Store) freeSlug(ctx context.Context, companyID, boardID, base string, losses int) (string, error) {
	stem := base + "-"
	if longest := numberedSlug(base, 1_000_000); !strings.HasPrefix(longest, stem) {
		stem = strings.TrimRight(strings.TrimSuffix(longest, "1000000"), "-") // numbers shorten a long base, each to its own length
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
