package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// everyWrite returns every kind of write, to a record that exists and to others that do not.
func everyWrite(c *table.Client, n note) map[string]func(context.Context) error {
	key := noteKey(n.Company, n.ID)
	keyItem := table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)}
	return map[string]func(context.Context) error{
		"UpdateItem": func(ctx context.Context) error {
			_, err := c.UpdateItem(ctx, updateOf(n))
			return err
		},
		"PutItem": func(ctx context.Context) error {
			return c.PutItem(ctx, &dynamodb.PutItemInput{Item: c.NewItem(keysOf(n), n)})
		},
		"DeleteItem": func(ctx context.Context) error { return c.DeleteItem(ctx, &dynamodb.DeleteItemInput{Key: keyItem}) },
		"Insert":     func(ctx context.Context) error { other := newNote(c); return c.Insert(ctx, keysOf(other), other) },
		"Modify": func(ctx context.Context) error {
			_, err := table.Modify(ctx, c, key, keysOf, func(n *note) error { n.Count++; return nil })
			return err
		},
		"Remove": func(ctx context.Context) error {
			_, err := table.Remove(ctx, c, key, func(note) error { return nil })
			return err
		},
		"Put":    func(ctx context.Context) error { return c.BatchPut(ctx, []table.Item{c.NewItem(keysOf(n), n)}) },
		"Delete": func(ctx context.Context) error { return c.BatchDelete(ctx, []table.Key{key}) },
		"Transact": func(ctx context.Context) error {
			return c.Transact(ctx, c.WriteCheckExists(key), c.WriteCreate(keysOf(note{ID: "x", Company: n.Company}), n))
		},
	}
}

// Ensure no write happens before the caller's key is verified, and a refused key writes nothing.
func TestWritesWaitForThePermit(t *testing.T) {
	t.Parallel()
	countWrites := func(p *faultProxy) int { return p.count("") - p.count("GetItem") }
	for name := range everyWrite(nil, note{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &faultProxy{}
			c, _ := newTestClient(t, p)
			n := insert(t, c, newNote(c))
			before := countWrites(p)
			run := func(request *table.Request) chan error {
				done := make(chan error, 1)
				go func() { done <- everyWrite(c, n)[name](table.WithRequest(t.Context(), request)) }()
				return done
			}

			request := table.NewRequest()
			done := run(request)
			requireStored(t, c, n) // this read needs no permit; a write that wrongly did not wait would finish during it
			if _, err := table.Get[note](table.WithRequest(t.Context(), request), c, noteKey(n.Company, n.ID)); err != nil {
				t.Error(err)
			}
			select {
			case err := <-done:
				t.Fatalf("did not wait: %v", err)
			default:
			}
			request.SettlePermit(auth.ErrSuspended)
			if err := <-done; !errors.Is(err, auth.ErrSuspended) || countWrites(p) != before {
				t.Errorf("%v, %d writes", err, countWrites(p)-before)
			}

			request = table.NewRequest()
			done = run(request)
			request.SettlePermit(nil)
			if err := <-done; err != nil || countWrites(p) != before+1 {
				t.Errorf("%v, %d writes", err, countWrites(p)-before)
			}
		})
	}
}

// Ensure reads never wait: they run in parallel with the verification of the caller's key.
func TestReadsDoNotWait(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	ctx := table.WithRequest(t.Context(), table.NewRequest()) // never settled
	key := noteKey(n.Company, n.ID)
	if _, err := table.Get[note](ctx, c, key); err != nil {
		t.Error(err)
	}
	if list, _, err := list[note](ctx, c, table.Query{Partitions: []string{key.PK}, Limit: 1}); err != nil || len(list) != 1 {
		t.Errorf("%d records, want 1: %v", len(list), err)
	}
	if _, err := table.ReadAll[note](ctx, c, table.Collection{Partition: key.PK}); err != nil {
		t.Error(err)
	}
	if _, err := c.Scan(ctx, &dynamodb.ScanInput{Limit: aws.Int32(1)}); err != nil {
		t.Error(err)
	}
}

// Ensure every call is counted, even a failed one, with its units if DynamoDB reports them.
func TestUnits(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	for name, calls := range map[string]int{
		"UpdateItem": 1, "PutItem": 1, "DeleteItem": 1, "Insert": 1, "Modify": 2, "Remove": 2, "Put": 1, "Delete": 1, "Transact": 1,
	} {
		n := insert(t, c, newNote(c))
		m := table.NewRequest()
		m.SettlePermit(nil)
		ctx := table.WithRequest(t.Context(), m)
		if err := everyWrite(c, n)[name](ctx); err != nil {
			t.Fatal(err)
		}
		if total := m.Usage(); total.Calls != calls || total.Write < 1 || (calls == 2) != (total.Read > 0) {
			t.Errorf("%s: units %+v, want %d calls, a unit of a write, and of a read if there are 2", name, total, calls)
		}
	}

	n := insert(t, c, newNote(c))
	key := noteKey(n.Company, n.ID)
	for name, call := range map[string]func(context.Context) error{
		"Insert":   func(ctx context.Context) error { return c.Insert(ctx, keysOf(n), n) },
		"Transact": func(ctx context.Context) error { return c.Transact(ctx, c.WriteCheckAbsent(key)) },
		"DeleteItem": func(ctx context.Context) error {
			return c.DeleteItem(ctx, &dynamodb.DeleteItemInput{Key: table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)}, ConditionExpression: aws.String("attribute_exists(nothing)")})
		},
		"Query": func(ctx context.Context) error { _, err := c.Query(ctx, &dynamodb.QueryInput{}); return err },
		"Scan": func(ctx context.Context) error {
			_, err := c.Scan(ctx, &dynamodb.ScanInput{FilterExpression: aws.String("=")})
			return err
		},
		"Get": func(ctx context.Context) error { _, err := table.Get[note](ctx, c, table.Key{}); return err },
		"Put": func(ctx context.Context) error { return c.BatchPut(ctx, []table.Item{{}}) },
		"invalid transaction": func(ctx context.Context) error {
			return c.Transact(ctx, c.WriteCheck(key, "=", nil, nil))
		},
	} {
		m := table.NewRequest()
		m.SettlePermit(nil)
		ctx := table.WithRequest(t.Context(), m)
		if err := call(ctx); err == nil || m.Usage() != (table.Usage{Calls: 1}) {
			t.Errorf("a failed %s: %+v, %v", name, m.Usage(), err)
		}
	}
}
