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

// Item has the parts of an item that visitors see. An empty text is not shown.
type Item struct {
	Slug, Title string
	Summary     string
	ColumnID    string
	CategoryIDs []string
	TargetLabel string
}

// Column is the items with one columnId, in the order of the board.
type Column[T any] struct {
	ID    string // empty: the items without a column
	Name  string // the id made readable
	Items []T
}

// Standard has the columns of most boards, in their order.
var Standard = []string{"now", "next", "later", "done"}

// Columns groups items, which are in the order of the board, by column. Columns are ordered by
// their first items, and so by their smallest sortOrder. The standard columns keep their own order
// at the places that they take, so that a move to the top of one does not swap it with another. The
// items without a column come last.
func Columns[T any](items []T, column func(T) string) (out []Column[T]) {
	for _, item := range items {
		id := column(item)
		at := slices.IndexFunc(out, func(c Column[T]) bool { return c.ID == id })
		if at < 0 {
			at, out = len(out), append(out, Column[T]{ID: id, Name: Readable(id)})
		}
		out[at].Items = append(out[at].Items, item)
	}
	slices.SortStableFunc(out, func(a, b Column[T]) int { return none(a.ID) - none(b.ID) })
	var places []int
	var standard []Column[T]
	for n, c := range out {
		if standardAt(c.ID) >= 0 {
			places, standard = append(places, n), append(standard, c)
		}
	}
	slices.SortStableFunc(standard, func(a, b Column[T]) int { return standardAt(a.ID) - standardAt(b.ID) })
	for n, at := range places {
		out[at] = standard[n]
	}
	return out
}

// standardAt returns the index of a standard column, or -1.
func standardAt(id string) int {
	return slices.IndexFunc(Standard, func(s string) bool { return Same(s, id) })
}

// Same reports whether two ids have the same heading, without regard to case.
func Same(a, b string) bool { return strings.EqualFold(Readable(a), Readable(b)) }

// Complete adds empty columns for the ids that have none. Each comes after the one before it in ids,
// and the first before the next one that there is. Without either, it is the last one with an id.
func Complete[T any](columns []Column[T], ids []string) []Column[T] {
	find := func(id string) int {
		return slices.IndexFunc(columns, func(c Column[T]) bool { return c.ID != "" && Same(c.ID, id) })
	}
	for n, id := range ids {
		if find(id) >= 0 {
			continue
		}
		at := slices.IndexFunc(columns, func(c Column[T]) bool {
			return c.ID == "" || n == 0 && slices.ContainsFunc(ids, func(other string) bool { return Same(other, c.ID) })
		})
		if n > 0 {
			at = find(ids[n-1]) + 1
		} else if at < 0 {
			at = len(columns)
		}
		columns = slices.Insert(columns, at, Column[T]{ID: id, Name: Readable(id)})
	}
	return columns
}

func none(id string) int {
	if id == "" {
		return 1
	}
	return 0
}

// Readable turns an id such as in_progress into a heading such as In progress. The empty id becomes
// Other.
func Readable(id string) string {
	words := strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) }), " ")
	if words == "" {
		return "Other"
	}
	first := []rune(words)
	return string(unicode.ToUpper(first[0])) + string(first[1:])
}

// Board is the content of a page.
type Board struct {
	Name        string
	Company     string // empty: not shown
	Language    string // of the items, such as en
	PublishedAt string // an RFC 3339 time; empty: unknown
	Items       []Item
}

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"readable": Readable}).Parse(page))

// WritePage writes the board as one HTML page without scripts. It loads nothing, so it can be put
// on any host.
func WritePage(w io.Writer, b Board) error {
	if b.Name == "" {
		b.Name = "Roadmap"
	}
	day, _, _ := strings.Cut(b.PublishedAt, "T")
	err := pageTemplate.Execute(w, struct {
		Board
		Day     string
		Columns []Column[Item]
	}{b, day, Columns(b.Items, func(i Item) string { return i.ColumnID })})
	if err != nil {
		return fmt.Errorf("render the roadmap: %w", err)
	}
	return nil
}
