// Package roadmap renders the live content of a board: as columns, and as one static page for
// visitors.
package roadmap

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Item holds the parts of a roadmap item that visitors see. Empty fields are not shown.
type Item struct {
	Slug, Title string
	Summary     string
	ColumnID    string
	CategoryIDs []string
	TargetLabel string
}

// Column holds the items that share a columnId, in the order of the board.
type Column[T any] struct {
	ID    string // empty for the items without a column
	Name  string // the heading, such as "In progress" for "in_progress"
	Items []T
}

// StandardColumns lists the ids of the columns that most boards have, in their usual order.
var StandardColumns = []string{"now", "next", "later", "done"}

// Columns groups items by column. The items must be in the order of the board. Columns are in the
// order of their first items, with the items without a column last. There is one exception: among
// themselves, the standard columns always have their usual order. Otherwise, moving an item to the
// top of a standard column could swap that column with another one.
func Columns[T any](items []T, column func(T) string) (out []Column[T]) {
	for _, item := range items {
		id := column(item)
		at := slices.IndexFunc(out, func(c Column[T]) bool { return c.ID == id })
		if at < 0 {
			at, out = len(out), append(out, Column[T]{ID: id, Name: Heading(id)})
		}
		out[at].Items = append(out[at].Items, item)
	}
	slices.SortStableFunc(out, func(a, b Column[T]) int { return emptyIDRank(a.ID) - emptyIDRank(b.ID) })
	var places []int
	var standard []Column[T]
	for n, c := range out {
		if standardIndex(c.ID) >= 0 {
			places, standard = append(places, n), append(standard, c)
		}
	}
	slices.SortStableFunc(standard, func(a, b Column[T]) int { return standardIndex(a.ID) - standardIndex(b.ID) })
	for n, at := range places {
		out[at] = standard[n]
	}
	return out
}

// standardIndex returns the index of a column in StandardColumns, or -1 if it is not a standard
// column.
func standardIndex(id string) int {
	return slices.IndexFunc(StandardColumns, func(s string) bool { return SameHeading(s, id) })
}

// SameHeading reports whether two ids have the same heading, ignoring case.
func SameHeading(a, b string) bool { return strings.EqualFold(Heading(a), Heading(b)) }

// AddMissing adds an empty column for each id in ids that has no column. It inserts the column
// after the column of the previous id in ids. For the first id, which has no previous one, it
// inserts the column before the first existing column whose id is in ids, or at the end of the
// columns that have an id.
func AddMissing[T any](columns []Column[T], ids []string) []Column[T] {
	find := func(id string) int {
		return slices.IndexFunc(columns, func(c Column[T]) bool { return c.ID != "" && SameHeading(c.ID, id) })
	}
	for n, id := range ids {
		if find(id) >= 0 {
			continue
		}
		at := slices.IndexFunc(columns, func(c Column[T]) bool {
			return c.ID == "" || n == 0 && slices.ContainsFunc(ids, func(other string) bool { return SameHeading(other, c.ID) })
		})
		if n > 0 {
			at = find(ids[n-1]) + 1
		} else if at < 0 {
			at = len(columns)
		}
		columns = slices.Insert(columns, at, Column[T]{ID: id, Name: Heading(id)})
	}
	return columns
}

func emptyIDRank(id string) int {
	if id == "" {
		return 1
	}
	return 0
}

// Heading turns an id such as "in_progress" into a heading such as "In progress". The empty id
// becomes "Other".
func Heading(id string) string {
	words := strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) }), " ")
	if words == "" {
		return "Other"
	}
	first := []rune(words)
	return string(unicode.ToUpper(first[0])) + string(first[1:])
}

// Board is the content of the page that WritePage writes.
type Board struct {
	Name        string
	Company     string // not shown if empty
	Home        string // the address of the company's website; no link if it is empty or not an http or https URL
	Brand       Brand
	Language    string // the language of the items, such as "en"
	PublishedAt string // an RFC 3339 time; empty if unknown
	Items       []Item
}

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"readable": Heading}).Parse(page))

// WritePage writes the board as one HTML page without scripts. The page loads no other files, so
// any host can serve it. The done items form a changelog below the columns.
func WritePage(w io.Writer, b Board) error {
	if b.Name == "" {
		b.Name = "Roadmap"
	}
	day, _, _ := strings.Cut(b.PublishedAt, "T")
	b.Home = webAddress(b.Home)
	columns := Columns(b.Items, func(i Item) string { return i.ColumnID })
	var done []Item
	columns = slices.DeleteFunc(columns, func(c Column[Item]) bool {
		if c.ID != "" && SameHeading(c.ID, "done") {
			done = c.Items
			return true
		}
		return false
	})
	err := pageTemplate.Execute(w, struct {
		Board
		Day     string
		Columns []Column[Item]
		Done    []Item
	}{b, day, columns, done})
	if err != nil {
		return fmt.Errorf("render the roadmap: %w", err)
	}
	return nil
}
