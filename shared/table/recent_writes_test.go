package table_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// interveningWritesProxy returns a proxy that passes on the first call of the named operation,
// loses its response, and calls otherWrites before the client retries.
func interveningWritesProxy(name string, otherWrites func()) *faultProxy {
	var once sync.Once
	return &faultProxy{respond: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		out, err := pass()
		if call != name || err != nil {
			return out, err
		}
		lost := false
		once.Do(func() { lost = true })
		if !lost {
			return out, nil
		}
		_, err = io.Copy(io.Discard, out.Body)
		otherWrites()
		return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
	}}
}

func setTag(name string) func(*note) error {
	return func(n *note) error { n.Tags, n.Count = append(n.Tags, name), n.Count+1; return nil }
}

// Ensure that a change whose response was lost is applied once, even if others write the record
// before the retry, and that the caller gets the record as this change left it.
func TestModifyAfterALostResponseAndOtherWrites(t *testing.T) {
	t.Parallel()
	counts := []int{1, 5, 40, 150}
	if testing.Short() {
		counts = counts[:2]
	}
	for _, others := range counts {
		other, _ := newTestClient(t, nil)
		n := insert(t, other, newNote(other))
		c, _ := newTestClient(t, interveningWritesProxy("UpdateItem", func() {
			for m := range others {
				if _, err := table.Modify(t.Context(), other, noteKey(n.Company, n.ID), keysOf, setTag(fmt.Sprint(m))); err != nil {
					t.Error(err)
				}
			}
		}))
		mine, err := table.Modify(t.Context(), c, noteKey(n.Company, n.ID), keysOf, setTag("mine"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(mine.Tags, []string{"mine"}) || mine.Count != 1 || mine.UpdatedAt == nil {
			t.Errorf("%d others: the caller reads %v, count %d, updated at %v; want its own change", others, mine.Tags, mine.Count, mine.UpdatedAt)
		}
		got, err := table.Get[note](t.Context(), other, noteKey(n.Company, n.ID))
		if err != nil {
			t.Fatal(err)
		}
		if got.Count != int64(others)+1 || got.Tags[0] != "mine" || slices.Contains(got.Tags[1:], "mine") {
			t.Errorf("%d others: %v, count %d; want each change once, and mine first", others, got.Tags, got.Count)
		}
	}
}

// Ensure an insert whose response was lost creates one record, even if others change it before the
// retry.
func TestInsertAfterALostResponseAndOtherWrites(t *testing.T) {
	t.Parallel()
	other, _ := newTestClient(t, nil)
	n := newNote(other)
	c, _ := newTestClient(t, interveningWritesProxy("PutItem", func() {
		if _, err := table.Modify(t.Context(), other, noteKey(n.Company, n.ID), keysOf, setTag("other")); err != nil {
			t.Error(err)
		}
	}))
	if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
		t.Error(err)
	}
	if err := c.Insert(t.Context(), keysOf(n), n); !errors.Is(err, table.ErrExists) {
		t.Errorf("a second insert: %v", err)
	}
}

// Ensure a record keeps write tokens for as long as writes may be retried, but only a bounded
// number of them.
func TestRecentWritesAreForgotten(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	clock := &apitest.Clock{}
	clock.Advance(apitest.Epoch.Sub(clock.Now()))
	c := table.New(apitest.Options(t, clock.Now, nil)).AsOperator()
	n := insert(t, c, newNote(c))
	modifyAndCountTokens := func() int {
		t.Helper()
		if _, err := table.Modify(t.Context(), c, noteKey(n.Company, n.ID), keysOf, setTag("x")); err != nil {
			t.Fatal(err)
		}
		item, err := table.GetItem(t.Context(), c, noteKey(n.Company, n.ID))
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			Recent []string `store:"recentWrites"`
		}
		if err := table.Decode(item, &record); err != nil {
			t.Fatal(err)
		}
		return len(record.Recent)
	}
	for want := 1; want <= 405; want++ {
		if got := modifyAndCountTokens(); got != min(want, 400) {
			t.Fatalf("write %d leaves %d tokens", want, got)
		}
	}
	clock.Advance(9 * time.Second)
	if got := modifyAndCountTokens(); got != 400 {
		t.Errorf("%d tokens after 9 s", got)
	}
	clock.Advance(11 * time.Second)
	if got := modifyAndCountTokens(); got != 0 {
		t.Errorf("%d tokens after 11 s more", got)
	}
}
