package table

import (
	"context"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/entity"
)

// rows are the records of a query, or their texts (entity.Text). The answer is read into them in one pass, without a map of
// attributes for each: a list has thousands of attributes. An answer that this cannot read, such as one with an attribute of an
// unexpected type, is read as every other one is, so that it fails, or not, in the same words.
type rows[T any] struct {
	records []T
	sortBy  string   // the sort key's attribute; empty: not wanted
	keys    []string // the sort keys of the records
	begun   int      // how many records there were before the answer that is being read
	reader  reader
}

// reader reads the attributes of a record that it is asked for.
type reader interface {
	open(a *answerReader)     // an answer, at its first record
	begin(into reflect.Value) // a record that is zero
	attribute(a *answerReader, name, kind string) (known, ok bool)
	end() (ok bool)
	decode(item Item, into reflect.Value) error
}

func newRows[T any](sortBy string) rows[T] {
	return rows[T]{records: []T{}, sortBy: sortBy, reader: newReader[T]()}
}

// recordOf is the type of the records of rows.
func recordOf[T any]() (t reflect.Type, texts bool) {
	var none T
	if text, ok := any(none).(entity.Spelled); ok {
		return text.RecordType(), true
	}
	return reflect.TypeFor[T](), false
}

func newReader[T any]() reader {
	t, texts := recordOf[T]()
	if texts {
		return newTextReader(t)
	}
	return newRecordReader(t)
}

// query adds one page of a partition, and returns where the next one begins.
func (r *rows[T]) query(ctx context.Context, c *Client, in *dynamodb.QueryInput) (next Item, err error) {
	r.begun = len(r.records)
	out, err := c.Query(context.WithValue(ctx, itemsKey{}, r), in)
	if err != nil {
		return nil, err
	}
	for _, item := range out.Items { // none when they were read in one pass
		var record T
		if err := r.reader.decode(item, reflect.ValueOf(&record).Elem()); err != nil {
			return nil, err
		}
		key, _ := item[r.sortBy].(*types.AttributeValueMemberS)
		if key == nil {
			key = &types.AttributeValueMemberS{}
		}
		r.add(record, key.Value)
	}
	return out.LastEvaluatedKey, nil
}

func (r *rows[T]) add(record T, key string) {
	r.records = append(r.records, record)
	if r.sortBy != "" {
		r.keys = append(r.keys, key)
	}
}

// itemsKey is the context key of the itemsReader of a query.
type itemsKey struct{}

// itemsReader takes the records of an answer one by one.
type itemsReader interface {
	readItem(a *answerReader) bool
	forget() // what was read of this answer
}

func (r *rows[T]) readItem(a *answerReader) bool {
	var none T
	begin := a.at
	r.add(none, "")
	last := len(r.records) - 1
	if last == r.begun {
		r.reader.open(a)
	}
	r.reader.begin(reflect.ValueOf(&r.records[last]).Elem())
	key, ok := r.read(a)
	if !ok {
		return false
	}
	if r.sortBy != "" {
		r.keys[last] = key
	}
	if last == r.begun { // the others are about as long as the first one
		more := min((len(a.text)-a.at)/(a.at-begin)*9/8, growMost)
		r.records = slices.Grow(r.records, more)
		if r.sortBy != "" {
			r.keys = slices.Grow(r.keys, more)
		}
	}
	return true
}

// growMost bounds what room is made for at once, should the first record be unlike the others.
const growMost = 1000

// read reads the attributes of one record.
func (r *rows[T]) read(a *answerReader) (sortKey string, ok bool) {
	ok = a.object(func(name string) bool {
		kind, ok := a.kind()
		if !ok {
			return false
		}
		after := -1
		if name == r.sortBy {
			begin := a.at
			if sortKey, ok = a.string(); !ok || kind != "S" {
				return false
			}
			a.at, after = begin, a.at
		}
		known, ok := r.reader.attribute(a, name, kind)
		switch {
		case !known && after >= 0:
			a.at, ok = after, true
		case !known:
			ok = a.skip(kind)
		}
		return ok && a.is('}')
	})
	return sortKey, ok && r.reader.end()
}

func (r *rows[T]) forget() {
	r.records = r.records[:r.begun]
	if r.sortBy != "" {
		r.keys = r.keys[:r.begun]
	}
}
