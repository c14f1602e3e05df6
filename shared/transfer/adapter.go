package transfer

import "context"

// untypedKind is a Kind[T] whose records are values of the interface type any. check gets a pointer
// to a record.
type untypedKind interface {
	check(record any) []string
	entry(record any) Entry
	verify(ctx context.Context, companyID string, records []any) ([]Problem, error)
	exist(ctx context.Context, companyID string, records []any) ([]bool, error)
	store(ctx context.Context, companyID string, records []any, m Mode) (skipped int, err error)
	canMerge() bool
	merge(ctx context.Context, companyID string, records []any) ([]Merged, error)
	export(ctx context.Context, companyID string, emit func(any) error) error
}

// adapter implements untypedKind. A Kind without an optional method has no such rule.
type adapter[T any] struct{ kind Kind[T] }

func (a adapter[T]) check(record any) []string { return a.kind.Check(record.(*T)) }

func (a adapter[T]) entry(record any) Entry {
	if l, ok := a.kind.(lister[T]); ok {
		return l.Entry(record.(T))
	}
	return Entry{}
}

func (a adapter[T]) verify(ctx context.Context, companyID string, records []any) ([]Problem, error) {
	if v, ok := a.kind.(verifier[T]); ok {
		return v.Verify(ctx, companyID, castAll[T](records))
	}
	return nil, nil
}

func (a adapter[T]) exist(ctx context.Context, companyID string, records []any) ([]bool, error) {
	return a.kind.Exist(ctx, companyID, castAll[T](records))
}

func (a adapter[T]) store(ctx context.Context, companyID string, records []any, m Mode) (skipped int, err error) {
	return a.kind.Import(ctx, companyID, castAll[T](records), m)
}

func (a adapter[T]) canMerge() bool {
	_, ok := a.kind.(merger[T])
	return ok
}

func (a adapter[T]) merge(ctx context.Context, companyID string, records []any) ([]Merged, error) {
	return a.kind.(merger[T]).Merge(ctx, companyID, castAll[T](records))
}

func (a adapter[T]) export(ctx context.Context, companyID string, emit func(any) error) error {
	return a.kind.Export(ctx, companyID, func(record T) error { return emit(record) })
}

func castAll[T any](records []any) []T {
	typed := make([]T, len(records))
	for i, r := range records {
		typed[i] = r.(T)
	}
	return typed
}
