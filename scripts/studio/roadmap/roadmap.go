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

// Columns groups items, which are in the order of the board, by column. Columns are ordered by
// their first items, and so by their smallest sortOrder. The items without a column come last.
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
	return out
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
