package table_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

func modify(t *testing.T, c *table.Client, n note, change func(*note) error) (note, error) {
	t.Helper()
	return table.Modify(t.Context(), c, noteKey(n.Company, n.ID), keysOf, change)
}

// Ensure updatedAt changes only when a value changes, and nothing is written when no value changes.
func TestModifyWithoutChange(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, clock := newTestClient(t, p)
	n := newNote(c)
	n.N, n.Tags, n.Any, n.Done = ptr(0.0), []string{}, []byte(`{"a": 1e400}`), ptr(false)
	insert(t, c, n)
	clock.Advance(time.Hour)
	before := p.count("")
	got, err := modify(t, c, n, func(n *note) error {
		n.N, n.Tags, n.Text, n.Done = ptr(math.Copysign(0, -1)), []string{}, ptr("a"), ptr(false)
		return nil
	})
	if err != nil || p.count("") != before+1 || p.count("UpdateItem") != 0 {
		t.Errorf("%v, %d calls", err, p.count("")-before)
	}
	if diff := cmp.Diff(n, got); diff != "" {
		t.Errorf("record of the same values (-want +got):\n%s", diff)
	}
	requireStored(t, c, n)
}

// Ensure each kind of change is written and returned, and null differs from empty.
func TestModifyWritesTheDifference(t *testing.T) {
	t.Parallel()
	c, clock := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	for i, change := range []func(*note){
		func(n *note) { n.Tags = []string{} },
		func(n *note) { n.Tags = []string{"a", "b"} },
		func(n *note) { n.Tags = nil },
		func(n *note) { n.Text = ptr("") },
		func(n *note) { n.Text = nil },
		func(n *note) { n.N = ptr(1e125) },
		func(n *note) { n.N = ptr(-1.5) },
		func(n *note) { n.N = nil },
		func(n *note) { n.Any, n.Bytes, n.Done, n.Count = []byte(`null`), []byte{}, ptr(true), 7 },
		func(n *note) { n.Any, n.Bytes, n.Done, n.Count = nil, nil, nil, 0 },
	} {
		clock.Advance(time.Second)
		change(&n)
		n.UpdatedAt = ptr(c.Now())
		got, err := modify(t, c, n, func(n *note) error { change(n); return nil })
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Errorf("change %d (-want +got):\n%s", i, diff)
		}
		requireStored(t, c, n)
	}
}

// Ensure a record whose updatedAt is null, such as an imported one, gets an updatedAt with its
// first change. A record type without the field must not get one.
func TestModifyUpdatedAt(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := newNote(c)
	n.UpdatedAt = nil
	insert(t, c, n)
	got, err := modify(t, c, n, func(n *note) error { n.Count++; return nil })
	if err != nil || got.UpdatedAt == nil || *got.UpdatedAt != c.Now() {
		t.Errorf("updatedAt %v, want %s: %v", got.UpdatedAt, c.Now(), err)
	}

	type bare struct {
		Count int64 `json:"count"`
	}
	key := table.Key{PK: c.NewID("co"), SK: "bare"}
	keys := func(bare) table.Keys { return table.Keys{Key: key} }
	if err := c.Insert(t.Context(), keys(bare{}), bare{}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Modify(t.Context(), c, key, keys, func(b *bare) error { b.Count++; return nil }); err != nil {
		t.Fatal(err)
	}
	if item, err := table.GetItem(t.Context(), c, key); err != nil || item["updatedAt"] != nil {
		t.Errorf("a record without updatedAt is stored as %v: %v", item, err)
	}
}

// Ensure a change to only silent fields is written but does not change updatedAt.
func TestModifySilently(t *testing.T) {
	t.Parallel()
	type marked struct {
		Text      string   `json:"text"`
		Marks     []string `json:"-" store:"marks,silent"`
		UpdatedAt *string  `json:"updatedAt"`
	}
	c, clock := newTestClient(t, nil)
	stored := marked{"a", nil, ptr(c.Now())}
	key := table.Key{PK: c.NewID("co"), SK: "marked"}
	keys := func(marked) table.Keys { return table.Keys{Key: key} }
	if err := c.Insert(t.Context(), keys(stored), stored); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		text        string
		marks       []string
		wantUpdated bool
	}{{"a", []string{"x"}, false}, {"b", []string{"x"}, true}, {"b", nil, false}, {"c", []string{"y"}, true}} {
		clock.Advance(time.Second)
		if change.wantUpdated {
			stored.UpdatedAt = ptr(c.Now())
		}
		stored.Text, stored.Marks = change.text, change.marks
		got, err := table.Modify(t.Context(), c, key, keys, func(m *marked) error { m.Text, m.Marks = change.text, change.marks; return nil })
		if diff := cmp.Diff(stored, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", change, err, diff)
		}
	}
}

// Ensure the new updatedAt of a record is the clock's time, or a millisecond after the stored time
// if the clock is behind the stored time.
func TestNowAfter(t *testing.T) {
	t.Parallel()
	c, clock := newTestClient(t, nil)
	at := func(d time.Duration) string { return timestamp.Format(clock.Now().Add(d)) }
	for _, test := range []struct {
		stored *string
		want   string
	}{
		{nil, at(0)}, {ptr(at(-time.Hour)), at(0)}, {ptr(at(-time.Millisecond)), at(0)}, {ptr(at(0)), at(time.Millisecond)},
		{ptr(at(time.Hour)), at(time.Hour + time.Millisecond)}, {ptr("yesterday"), at(0)},
		{ptr("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z"},
	} {
		if got := c.NowAfter(test.stored); got != test.want {
			t.Errorf("after %v: %s, want %s", test.stored, got, test.want)
		}
	}
	n := newNote(c)
	n.UpdatedAt = ptr(at(20 * time.Second))
	insert(t, c, n)
	got, err := modify(t, c, n, func(n *note) error { n.Count++; return nil })
	if want := at(20*time.Second + time.Millisecond); err != nil || *got.UpdatedAt != want {
		t.Errorf("updatedAt is %s, want %s, %v", *got.UpdatedAt, want, err)
	}
}

// Ensure that after every change, a record has exactly the index keys that follow from its fields.
func TestModifyMovesIndexKeys(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := newNote(c)
	n.Status, n.N = "draft", ptr(1.0)
	insert(t, c, n)
	indexEntries := func() (found []string) {
		t.Helper()
		for _, part := range []string{"all", "draft", "sent"} {
			index := table.GSI2
			if part == "all" {
				index = table.GSI1
			}
			list, err := table.ReadAll[note](t.Context(), c, table.Collection{Index: index, Partition: table.Partition(n.Company, "notes", part)})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range list {
				found = append(found, fmt.Sprint(part, " ", n.Status, " ", noteSortKey(n) == noteSortKey(list[0])))
			}
		}
		return found
	}
	for _, step := range []struct {
		change func(*note)
		want   []string
	}{
		{func(*note) {}, []string{"all draft true", "draft draft true"}},
		{func(n *note) { n.Status = "sent" }, []string{"all sent true", "sent sent true"}},
		{func(n *note) { n.Status = "" }, []string{"all  true"}},
		{func(n *note) { n.Status, n.N = "draft", nil }, []string{"all draft true", "draft draft true"}},
	} {
		got, err := modify(t, c, n, func(n *note) error { step.change(n); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, indexEntries()); diff != "" {
			t.Errorf("indexes (-want +got):\n%s", diff)
		}
		item, err := table.GetItem(t.Context(), c, noteKey(n.Company, n.ID))
		if err != nil || stringValue(item["gsi1sk"]) != noteSortKey(got) {
			t.Errorf("gsi1sk %v, want %s: %v", item["gsi1sk"], noteSortKey(got), err)
		}
	}
}

// Ensure attributes that belong to another part of the program are kept.
func TestModifyLeavesUnknownAttributes(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := newNote(c)
	item := c.NewItem(keysOf(n), n)
	item["theirs"] = table.String("kept")
	if err := c.BatchPut(t.Context(), []table.Item{item}); err != nil {
		t.Fatal(err)
	}
	if _, err := modify(t, c, n, func(n *note) error { n.Text = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := table.GetItem(t.Context(), c, noteKey(n.Company, n.ID))
	if err != nil {
		t.Fatal(err)
	}
	if stringValue(got["theirs"]) != "kept" || got["text"] != nil || got["rev"] == nil {
		t.Errorf("stored %v, want theirs kept, no text and a revision", got)
	}
}

// Ensure concurrent changes are all applied.
func TestModifyConcurrently(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	const writers = 16
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			if _, err := modify(t, c, n, func(n *note) error { n.Count++; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := table.Get[note](t.Context(), c, noteKey(n.Company, n.ID)); err != nil || got.Count != writers {
		t.Errorf("%d of %d, %v", got.Count, writers, err)
	}
}

// Ensure a change is applied exactly once even if its response is lost.
func TestModifyAfterALostResponse(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, responseLosingProxy("UpdateItem", 2))
	n := insert(t, c, newNote(c))
	got, err := modify(t, c, n, func(n *note) error { n.Count++; return nil })
	if err != nil || got.Count != 1 {
		t.Fatalf("count %d, want 1: %v", got.Count, err)
	}
	requireStored(t, c, got)
}

// Ensure Modify returns fault.ErrNotFound and creates no record if the record is deleted between
// the read and the write.
func TestModifyOfADeletedRecord(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	remove := func(key table.Key) {
		if err := c.BatchDelete(t.Context(), []table.Key{key}); err != nil {
			t.Fatal(err)
		}
	}
	key := noteKey(n.Company, n.ID)
	if _, err := modify(t, c, n, func(n *note) error { n.Count++; remove(key); return nil }); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := modify(t, c, n, func(*note) error { t.Error("called"); return nil }); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if item, err := table.GetItem(t.Context(), c, key); err != nil || len(item) > 0 {
		t.Errorf("a record was created: %v, %v", item, err)
	}
}

// Ensure Modify and Remove start again if the record is replaced between the read and the write,
// even though an imported record starts at the same rev.
func TestModifyOfAReplacedRecord(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	imported := n
	imported.Text = ptr("imported")
	replace := func() {
		if err := c.BatchPut(t.Context(), []table.Item{c.NewItem(keysOf(imported), imported)}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	got, err := modify(t, c, n, func(n *note) error {
		if seen = append(seen, *n.Text); len(seen) == 1 {
			replace()
		}
		n.Text = ptr(*n.Text + "!")
		return nil
	})
	if err != nil || *got.Text != "imported!" || !cmp.Equal(seen, []string{"a", "imported"}) {
		t.Errorf("%v after %v, %v", got.Text, seen, err)
	}

	seen = nil
	removed, err := table.Remove(t.Context(), c, noteKey(n.Company, n.ID), func(n note) error {
		if seen = append(seen, *n.Text); len(seen) == 1 {
			imported.Text = ptr("again")
			replace()
		}
		return nil
	})
	if err != nil || *removed.Text != "again" || len(seen) != 2 {
		t.Errorf("%v after %v, %v", removed.Text, seen, err)
	}
}

// Ensure Modify and Remove detect a concurrent update by a transaction, which increments rev but
// leaves writeId unchanged.
func TestModifyAfterATransaction(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	setCount := func(count int64) {
		if err := c.Transact(t.Context(), c.WriteUpdate(noteKey(n.Company, n.ID), "SET #count = :count ADD rev :one", "", map[string]string{"#count": "count"},
			table.Item{":count": table.Number(count), ":one": table.Number(1)})); err != nil {
			t.Fatal(err)
		}
	}
	var seen []int64
	got, err := modify(t, c, n, func(n *note) error {
		if seen = append(seen, n.Count); len(seen) == 1 {
			setCount(100)
		}
		n.Count++
		return nil
	})
	if err != nil || got.Count != 101 || len(seen) != 2 {
		t.Errorf("%d after %v, %v", got.Count, seen, err)
	}
	seen = nil
	removed, err := table.Remove(t.Context(), c, noteKey(n.Company, n.ID), func(n note) error {
		if seen = append(seen, n.Count); len(seen) == 1 {
			setCount(200)
		}
		return nil
	})
	if err != nil || removed.Count != 200 || len(seen) != 2 {
		t.Errorf("%d after %v, %v", removed.Count, seen, err)
	}
}

// Ensure an error returned by change is returned unwrapped, and nothing is written.
func TestModifyRefused(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	n := insert(t, c, newNote(c))
	errRefused := fault.New(fault.Conflict, "is sent")
	if _, err := modify(t, c, n, func(n *note) error { n.Count++; return errRefused }); err != error(errRefused) {
		t.Errorf("got %v", err)
	}
	if _, err := table.Remove(t.Context(), c, noteKey(n.Company, n.ID), func(note) error { return errRefused }); err != error(errRefused) {
		t.Errorf("got %v", err)
	}
	if p.count("UpdateItem")+p.count("DeleteItem") != 0 {
		t.Error("written")
	}
	requireStored(t, c, n)
}

// Ensure Reindex adds the index keys that a record lacks, and corrects or removes wrong ones. It
// must change nothing else except the revision, write nothing if the keys are correct, and make a
// concurrent update start again.
func TestReindex(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := newNote(c)
	key := noteKey(n.Company, n.ID)
	keysWithGSI5 := func(n note) table.Keys {
		keys := keysOf(n)
		keys.GSI5 = table.Key{PK: table.Partition(n.Company, "notes", "fifth"), SK: "s"}
		return keys
	}
	readItem := func() table.Item {
		item, err := table.GetItem(t.Context(), c, key)
		if err != nil {
			t.Fatal(err)
		}
		return item
	}
	insert(t, c, n)
	before := readItem()
	if err := c.BatchDelete(t.Context(), []table.Key{key}); err != nil {
		t.Fatal(err)
	}
	if written, err := table.Reindex(t.Context(), c, before, keysWithGSI5); written || err != nil {
		t.Errorf("a deleted record: %v, %v", written, err)
	}
	insert(t, c, n)
	before = readItem()
	for _, tt := range []struct {
		name    string
		keysOf  func(note) table.Keys
		written bool
		want    string
	}{{"adds", keysWithGSI5, true, "s"}, {"knows", keysWithGSI5, false, "s"}, {"removes", keysOf, true, ""}} {
		written, err := table.Reindex(t.Context(), c, readItem(), tt.keysOf)
		if err != nil || written != tt.written {
			t.Fatalf("%s: written %t, want %t: %v", tt.name, written, tt.written, err)
		}
		after := readItem()
		if got, _ := after["gsi5sk"].(*types.AttributeValueMemberS); (got == nil) != (tt.want == "") {
			t.Errorf("%s: gsi5sk %v, want %q: %v", tt.name, got, tt.want, after)
		}
		for _, name := range []string{"gsi5pk", "gsi5sk", "rev", "writeId", "recentWrites"} {
			delete(after, name)
			delete(before, name)
		}
		if !reflect.DeepEqual(after, before) {
			t.Errorf("%s: %v, want %v", tt.name, after, before)
		}
	}
	raced := false
	_, err := table.Modify(t.Context(), c, key, keysWithGSI5, func(n *note) error {
		if n.Text = new("t"); !raced {
			raced = true
			if _, err := table.Reindex(t.Context(), c, readItem(), keysWithGSI5); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	after := readItem()
	if rev := after["rev"].(*types.AttributeValueMemberN).Value; after["gsi5sk"] == nil || rev != "5" {
		t.Errorf("revision %s and index key %v, want 5 and one: %v", rev, after["gsi5sk"], after)
	}
}

// Ensure any change adds the index keys that a record lacks and removes those that it should not
// have, even if they do not depend on the change. If no field changes, no index keys are written.
func TestModifyCorrectsIndexKeys(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	n := insert(t, c, newNote(c))
	key := noteKey(n.Company, n.ID)
	keysWithGSI5 := func(n note) table.Keys {
		keys := keysOf(n)
		keys.GSI5, keys.GSI1 = table.Key{PK: table.Partition(n.Company, "notes", "fifth"), SK: "s"}, table.Key{}
		return keys
	}
	if _, err := table.Modify(t.Context(), c, key, keysWithGSI5, func(*note) error { return nil }); err != nil || p.count("UpdateItem") != 0 {
		t.Errorf("%d updates, %v", p.count("UpdateItem"), err)
	}
	for _, keysOf := range []func(note) table.Keys{keysWithGSI5, keysOf} {
		got, err := table.Modify(t.Context(), c, key, keysOf, func(n *note) error { n.Count++; return nil })
		item, failure := table.GetItem(t.Context(), c, key)
		if err != nil || failure != nil {
			t.Fatal(err, failure)
		}
		wanted := c.NewItem(keysOf(got), got)
		for _, i := range table.Indexes() {
			if !reflect.DeepEqual(item[i.PK()], wanted[i.PK()]) || !reflect.DeepEqual(item[i.SK()], wanted[i.SK()]) {
				t.Errorf("%s: %v, want %v", i.Name(), item[i.PK()], wanted[i.PK()])
			}
		}
	}
}

// Ensure Create adds the indexes that an older version's table lacks, and the new indexes contain
// the existing records.
func TestCreateAddsIndexes(t *testing.T) {
	t.Parallel()
	o := apitest.Options(t, time.Now, nil)
	db := dynamodb.New(dynamodb.Options{
		Region: o.Region, BaseEndpoint: &o.Endpoint, Credentials: o.Credentials, HTTPClient: &http.Client{Transport: apitest.Transport},
	})
	o.Name = o.NewID("older")
	older := table.CreateTableInput(o.Name)
	older.GlobalSecondaryIndexes, older.AttributeDefinitions = older.GlobalSecondaryIndexes[:3], older.AttributeDefinitions[:2*(1+3)]
	if _, err := db.CreateTable(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	c := table.New(o).AsOperator()
	t.Cleanup(func() {
		if err := c.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	key := func(name string) table.Key { return table.Key{PK: name, SK: name} }
	if err := c.Insert(t.Context(), table.Keys{Key: key("a"), GSI4: key("b"), GSI5: key("c")}, note{ID: "n"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, no index is missing
		if err := c.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for index, partition := range map[table.Index]string{table.GSI4: "b", table.GSI5: "c"} {
		found, err := table.ReadAll[note](t.Context(), c, table.Collection{Index: index, Partition: partition})
		if err != nil || len(found) != 1 || found[0].ID != "n" {
			t.Errorf("%s: %v, want the record n: %v", index.Name(), found, err)
		}
	}
}

// Ensure a change in a transaction is made once even if its response is lost and the engine does
// not recognise the retry. A local engine does not recognise it if it was restarted in between.
func TestModifyWithUnrecognisedRetry(t *testing.T) {
	t.Parallel()
	attempts := 0
	p := &faultProxy{respond: func(call string, pass func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		if call != "TransactWriteItems" {
			return pass()
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var in map[string]any
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		attempts++
		in["ClientRequestToken"] = fmt.Sprint("attempt ", attempts)
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out, err := pass()
		if attempts > 1 || err != nil {
			return out, err
		}
		return nil, errors.Join(errors.New("the response was lost"), out.Body.Close())
	}}
	c, _ := newTestClient(t, p)
	n := insert(t, c, newNote(c))
	got, err := table.ModifyWith(t.Context(), c, noteKey(n.Company, n.ID), table.WithKeys(keysOf, func(n *note) error { n.Count++; return nil }),
		func(_ any, update table.Write) error { return c.Transact(t.Context(), update) })
	if err != nil || attempts != 2 || got.Count != 1 {
		t.Fatalf("count %d after %d attempts, want 1 after 2: %v", got.Count, attempts, err)
	}
	requireStored(t, c, got)
}
