package table

import "reflect"

// recordReader reads records of one type into structs.
type recordReader struct {
	fields attributes[*fieldPlan]
	slab   slab
	into   reflect.Value
}

func newRecordReader(t reflect.Type) *recordReader {
	r := &recordReader{}
	plan := planOf(t)
	for i := range plan {
		r.fields.add(plan[i].name, &plan[i])
	}
	return r
}

func (r *recordReader) open(*answerReader) {}

func (r *recordReader) begin(into reflect.Value) { r.into = into }

func (r *recordReader) attribute(a *answerReader, name, kind string) (known, ok bool) {
	field, known := r.fields.find(name)
	if !known {
		return false, true
	}
	at := r.into
	for _, i := range field.index {
		at = at.Field(i)
	}
	return true, field.read(a, kind, at, &r.slab)
}

func (r *recordReader) end() bool { return true }

func (r *recordReader) decode(item Item, into reflect.Value) error {
	return Decode(item, into.Addr().Interface())
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

// attributes finds what belongs to an attribute by its name, in a fraction of a map's time: names are few and short.
type attributes[T any] [heaps][]named[T]

type named[T any] struct {
	name  string
	value T
}

// heaps is how many heaps the names are sorted into; few have more than one.
const heaps = 64

func heapOf(name string) int {
	if name == "" {
		return 0
	}
	return int(uint8(len(name))*7+name[0]*5+name[len(name)-1]) % heaps
}

func (a *attributes[T]) add(name string, value T) {
	heap := &a[heapOf(name)]
	*heap = append(*heap, named[T]{name, value})
}

func (a *attributes[T]) find(name string) (value T, known bool) {
	heap := a[heapOf(name)]
	for i := range heap {
		if heap[i].name == name {
			return heap[i].value, true
		}
	}
	return value, false
}
