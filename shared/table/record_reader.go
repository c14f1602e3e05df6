package table

import "reflect"

// recordReader reads records of one type into structs.
type recordReader struct {
	fields *attributes[*fieldPlan]
	slab   slab
	into   reflect.Value
}

var recordFields memo[reflect.Type, *attributes[*fieldPlan]]

func newRecordReader(t reflect.Type) *recordReader {
	return &recordReader{fields: recordFields.get(t, newRecordFields)}
}

func newRecordFields(t reflect.Type) *attributes[*fieldPlan] {
	fields, plan := &attributes[*fieldPlan]{}, planOf(t)
	for i := range plan {
		fields.add(plan[i].name, &plan[i])
	}
	return fields
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
type attributes[T any] [slots][]named[T]

type named[T any] struct {
	name  string
	value T
}

// slots is how many slots the names are spread over; few have more than one.
const slots = 64

func slotOf(name string) int {
	if name == "" {
		return 0
	}
	return int(uint8(len(name))*7+name[0]*5+name[len(name)-1]) % slots
}

func (a *attributes[T]) add(name string, value T) {
	slot := &a[slotOf(name)]
	*slot = append(*slot, named[T]{name, value})
}

func (a *attributes[T]) find(name string) (value T, known bool) {
	slot := a[slotOf(name)]
	for i := range slot {
		if slot[i].name == name {
			return slot[i].value, true
		}
	}
	return value, false
}
