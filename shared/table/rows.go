package table

import (
	"context"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// rows are the records of a query. The answer is read into them in one pass, without a map of attributes for each: a list
// has thousands of attributes. An answer that this cannot read, such as one with an attribute of an unexpected type, is
// read as every other one is, so that it fails, or not, in the same words.
type rows[T any] struct {
	records []T
	sortBy  string   // the sort key's attribute; empty: not wanted
	keys    []string // the sort keys of the records
	begun   int      // how many records there were before the answer that is being read
	reader  *recordReader
}

func newRows[T any](sortBy string) rows[T] { return rows[T]{records: []T{}, sortBy: sortBy} }

// query adds one page of a partition, and returns where the next one begins.
func (r *rows[T]) query(ctx context.Context, c *Client, in *dynamodb.QueryInput) (next Item, err error) {
	r.begun = len(r.records)
	out, err := c.Query(context.WithValue(ctx, itemsKey{}, r), in)
	if err != nil {
		return nil, err
	}
	for _, item := range out.Items { // none when they were read in one pass
		var record T
		if err := Decode(item, &record); err != nil {
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
	if r.reader == nil {
		r.reader = newRecordReader(reflect.TypeFor[T](), r.sortBy)
	}
	var none T
	begin := a.at
	r.add(none, "")
	last := len(r.records) - 1
	key, ok := r.reader.read(a, reflect.ValueOf(&r.records[last]).Elem())
	if !ok {
		return false
	}
	if r.sortBy != "" {
		r.keys[last] = key
	}
	if last == r.begun { // the others are about as long as the first one
		more := (len(a.text) - a.at) / (a.at - begin)
		r.records = slices.Grow(r.records, more+more/8)
		if r.sortBy != "" {
			r.keys = slices.Grow(r.keys, more+more/8)
		}
	}
	return true
}

func (r *rows[T]) forget() {
	r.records = r.records[:r.begun]
	if r.sortBy != "" {
		r.keys = r.keys[:r.begun]
	}
}

// recordReader reads records of one type.
type recordReader struct {
	slots  [slots][]slot
	slab   slab
	sortBy string
}

// slot is a field by its attribute's name.
type slot struct {
	name  string
	field *fieldPlan
}

// slots is how many heaps the names are sorted into; few have more than one.
const slots = 64

func slotOf(name string) int {
	if name == "" {
		return 0
	}
	return int(uint8(len(name))*7+name[0]*5+name[len(name)-1]) % slots
}

func newRecordReader(t reflect.Type, sortBy string) *recordReader {
	plan := planOf(t)
	r := &recordReader{sortBy: sortBy}
	for i := range plan {
		heap := &r.slots[slotOf(plan[i].name)]
		*heap = append(*heap, slot{plan[i].name, &plan[i]})
	}
	return r
}

func (r *recordReader) find(name string) *slot {
	heap := r.slots[slotOf(name)]
	for i := range heap {
		if heap[i].name == name {
			return &heap[i]
		}
	}
	return nil
}

// read reads one record into a struct that is zero.
func (r *recordReader) read(a *answerReader, into reflect.Value) (sortKey string, ok bool) {
	ok = a.object(func(name string) bool {
		kind, ok := a.kind()
		if !ok {
			return false
		}
		s := r.find(name)
		begin := a.at
		if name == r.sortBy {
			sortKey, ok = a.string()
			if ok = ok && kind == "S"; ok && s != nil {
				a.at = begin
			}
		}
		switch {
		case s != nil && ok:
			at := into
			for _, i := range s.field.index {
				at = at.Field(i)
			}
			ok = s.field.read(a, kind, at, &r.slab)
		case name != r.sortBy:
			ok = a.skip(kind)
		}
		return ok && a.is('}')
	})
	return sortKey, ok
}

// slab has the values that the pointers of records point to.
type slab struct {
	strings values[string]
	floats  values[float64]
}

// values are made many at once.
type values[T any] []T

const valuesAtOnce = 64

func (v *values[T]) add(value T) *T {
	if len(*v) == 0 {
		*v = make([]T, valuesAtOnce)
	}
	p := &(*v)[0]
	*p, *v = value, (*v)[1:]
	return p
}
