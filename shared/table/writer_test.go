package table_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/table"
)

// storedWriter returns the writer of a stored note, or an empty string if the note or its writer is
// absent.
func storedWriter(t *testing.T, c *table.Client, n note) string {
	t.Helper()
	item, err := table.GetItem(t.Context(), c, noteKey(n.Company, n.ID))
	if err != nil {
		t.Fatal(err)
	}
	return stringValue(item[table.WriterAttr])
}

// requestContext returns the context of a permitted request from the key with this id.
func requestContext(t *testing.T, keyID string) context.Context {
	t.Helper()
	r := table.NewRequest()
	r.KeyID = keyID
	r.SettlePermit(nil)
	return table.WithRequest(t.Context(), r)
}

// Ensure every kind of write stores the key that made it, and a write by the operator or an import
// replaces that key.
func TestWritesStoreTheirWriter(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	writes := everyWriteOfOneNote(c)
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := insert(t, c, newNote(c))
			for _, step := range []struct {
				writer string
				client *table.Client
				ctx    context.Context
				want   string
			}{
				{"a key", c, requestContext(t, "key_1"), "key_1"},
				{"another key", c, requestContext(t, "key_2"), "key_2"},
				{"the operator", c, t.Context(), ""},
				{"an import", c.AsImport(), t.Context(), table.ImportWriter},
				{"a key after an import", c, requestContext(t, "key_1"), "key_1"},
			} {
				if err := write(step.ctx, step.client, n); err != nil {
					t.Fatalf("%s: %v", step.writer, err)
				}
				if got := storedWriter(t, c, n); got != step.want {
					t.Errorf("written by %s: the writer is %q, want %q", step.writer, got, step.want)
				}
			}
		})
	}
}

// everyWriteOfOneNote returns a function for each kind of write to a note. Some of the functions
// delete the note first.
func everyWriteOfOneNote(c *table.Client) map[string]func(context.Context, *table.Client, note) error {
	update := func(expression string) func(context.Context, *table.Client, note) error {
		return func(ctx context.Context, c *table.Client, n note) error {
			return c.Transact(ctx, c.WriteUpdate(noteKey(n.Company, n.ID), expression, "", map[string]string{"#t": "tags"}, table.Item{":one": table.Number(1)}))
		}
	}
	deleteNote := func(ctx context.Context, c *table.Client, n note) error {
		return c.BatchDelete(ctx, []table.Key{noteKey(n.Company, n.ID)})
	}
	return map[string]func(context.Context, *table.Client, note) error{
		"UpdateItem": func(ctx context.Context, c *table.Client, n note) error {
			_, err := c.UpdateItem(ctx, updateOf(n))
			return err
		},
		"PutItem": func(ctx context.Context, c *table.Client, n note) error {
			return c.PutItem(ctx, &dynamodb.PutItemInput{Item: c.NewItem(keysOf(n), n)})
		},
		"PutItem of an item that was read": func(ctx context.Context, c *table.Client, n note) error {
			item, err := table.GetItem(ctx, c, noteKey(n.Company, n.ID))
			if err != nil {
				return err
			}
			return c.PutItem(ctx, &dynamodb.PutItemInput{Item: item})
		},
		"Insert": func(ctx context.Context, c *table.Client, n note) error {
			if err := deleteNote(ctx, c, n); err != nil {
				return err
			}
			return c.Insert(ctx, keysOf(n), n)
		},
		"InsertMissing": func(ctx context.Context, c *table.Client, n note) error {
			if err := deleteNote(ctx, c, n); err != nil {
				return err
			}
			_, err := c.InsertMissing(ctx, []table.Item{c.NewItem(keysOf(n), n)})
			return err
		},
		"Modify": func(ctx context.Context, c *table.Client, n note) error {
			_, err := table.Modify(ctx, c, noteKey(n.Company, n.ID), keysOf, func(n *note) error { n.Count++; return nil })
			return err
		},
		"ModifyWith": func(ctx context.Context, c *table.Client, n note) error {
			_, err := table.ModifyWith(ctx, c, noteKey(n.Company, n.ID), table.WithKeys(keysOf, func(n *note) error { n.Count++; return nil }),
				func(_ any, update table.Write) error { return c.Transact(ctx, update) })
			return err
		},
		"BatchPut": func(ctx context.Context, c *table.Client, n note) error {
			return c.BatchPut(ctx, []table.Item{c.NewItem(keysOf(n), n)})
		},
		"StoreUnits": func(ctx context.Context, c *table.Client, n note) error {
			_, err := c.StoreUnits(ctx, []table.Unit{{Writes: []table.Write{c.WritePut(keysOf(n), n)}}})
			return err
		},
		"WriteCreate": func(ctx context.Context, c *table.Client, n note) error {
			if err := deleteNote(ctx, c, n); err != nil {
				return err
			}
			return c.Transact(ctx, c.WriteCreate(keysOf(n), n))
		},
		"WriteChild": func(ctx context.Context, c *table.Client, n note) error {
			return c.Transact(ctx, c.WriteChild(noteKey(n.Company, n.ID)))
		},
		"an update that sets":          update("SET x = :one, #t = :one"),
		"an update that adds":          update("ADD x :one, #t :one"),
		"an update that sets and adds": update("SET x = :one REMOVE #t ADD y :one"),
	}
}

// Ensure that a transaction that conflicts is repeated with the same expression, and that a write
// keeps its writer if its response is lost.
func TestRetryKeepsTheWriter(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{"UpdateItem": "UpdateItem", "Modify": "UpdateItem", "Insert": "PutItem", "ModifyWith": "TransactWriteItems"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup, _ := newTestClient(t, nil)
			n := insert(t, setup, newNote(setup))
			c, _ := newTestClient(t, responseLosingProxy(call, 1))
			if err := everyWriteOfOneNote(c)[name](requestContext(t, "key_1"), c, n); err != nil {
				t.Fatal(err)
			}
			if got := storedWriter(t, setup, n); got != "key_1" {
				t.Errorf("the writer is %q, want key_1", got)
			}
		})
	}
}

// Ensure a caller may send a write again, with the same values or in another request.
func TestTransactDoesNotChangeItsWrites(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	update := c.WriteUpdate(noteKey(n.Company, n.ID), "SET x = :x REMOVE y", "", nil, table.Item{":x": table.Number(1)})
	other := newNote(c)
	put := c.WritePut(keysOf(other), other)
	for _, key := range []string{"key_1", "key_2"} {
		if err := c.Transact(requestContext(t, key), update, put); err != nil {
			t.Fatal(err)
		}
		for _, n := range []note{n, other} {
			if got := storedWriter(t, c, n); got != key {
				t.Errorf("the writer is %q, want %q", got, key)
			}
		}
	}
	if err := c.Transact(t.Context(), update, put); err != nil {
		t.Fatal(err)
	}
	if got := storedWriter(t, c, other); got != "" {
		t.Errorf("the writer is %q after a write by the operator, want none", got)
	}
}

// Ensure the write that verifies a key leaves the key's writer unchanged, because it is not a
// change to the key.
func TestUpdateKeyKeepsTheWriter(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	key := table.Key{PK: table.Partition(c.NewID("co"), table.KeysArea), SK: "key#1"}
	if err := c.Transact(requestContext(t, "key_1"), c.WriteCreate(table.Keys{Key: key}, struct{}{})); err != nil {
		t.Fatal(err)
	}
	_, err := c.UpdateKey(requestContext(t, "key_2"), &dynamodb.UpdateItemInput{
		Key:              table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)},
		UpdateExpression: aws.String("SET x = :x"), ExpressionAttributeValues: table.Item{":x": table.Number(1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	item, err := table.GetItem(t.Context(), c, key)
	if got := stringValue(item[table.WriterAttr]); err != nil || got != "key_1" {
		t.Errorf("the writer is %q, want key_1: %v", got, err)
	}
}
