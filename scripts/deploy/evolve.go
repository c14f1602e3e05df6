package main

import (
	"fmt"
	"slices"
	"strings"
)

// An update that changes an index of the table changes only this one index and nothing else in the
// stack. CloudFormation accepts at most one index change per update, does not wait until a new
// index is backfilled, and rolls back the whole update if something else in it fails. So an index
// is added before the functions that query it are deployed. It is removed after the functions that
// queried it are gone.

// evolution is the state from which the steps of a deploy are planned.
type evolution struct {
	// managed reports whether the table is a resource of the stack. Otherwise the indexes are
	// changed with DynamoDB's UpdateTable, because CloudFormation would not change them.
	managed         bool
	table           tableState // the table that the new version uses; the zero value if the stack creates it
	deployedIndexes []index    // the indexes in the deployed template, which the deployed functions may query
	wantedIndexes   []index    // the indexes in the new template
}

// step is one change to the account.
type step struct {
	kind  stepKind
	index index
	// indexes are the table's indexes in the template that the step deploys, or empty for a step
	// that deploys no template.
	indexes []index
}

type stepKind int

const (
	addIndex         stepKind = iota // deploy the template that is deployed now, with one more index
	deployStack                      // deploy the new template; the table keeps the indexes that later steps remove
	removeIndex                      // deploy the new template with one index fewer
	createTableIndex                 // add an index with UpdateTable
	deleteTableIndex                 // remove an index with UpdateTable
)

// indexesMax is how many global secondary indexes a table may have in CloudFormation. It is also
// DynamoDB's default quota.
const indexesMax = 20

// steps returns the steps of a deploy, in order. If a deploy stops after any step, the next deploy
// plans the remaining steps from the state that it finds.
func (e evolution) steps() (out []step, err error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	indexes := slices.Clone(e.deployedIndexes)
	for _, i := range e.wantedIndexes {
		found, inTable := e.table.index(i.name)
		inTemplate := containsIndex(e.deployedIndexes, i.name)
		switch {
		case !e.table.exists():
			// CloudFormation creates the table with all its indexes.
		case e.managed && !inTemplate:
			if inTable { // a rolled-back update left this index; CloudFormation would refuse to create it
				out = append(out, step{kind: deleteTableIndex, index: i})
			}
			indexes = append(indexes, i)
			out = append(out, step{addIndex, i, slices.Clone(indexes)})
		case !inTable || found.status == "DELETING":
			out = append(out, step{kind: createTableIndex, index: i})
		}
	}
	removed := slices.DeleteFunc(slices.Clone(e.deployedIndexes), func(i index) bool { return containsIndex(e.wantedIndexes, i.name) })
	if !e.managed {
		out = append(out, step{deployStack, index{}, e.wantedIndexes})
		for _, i := range removed {
			if found, ok := e.table.index(i.name); ok && found.status != "DELETING" {
				out = append(out, step{kind: deleteTableIndex, index: i})
			}
		}
		return out, nil
	}
	indexes = append(slices.Clone(e.wantedIndexes), removed...)
	out = append(out, step{deployStack, index{}, slices.Clone(indexes)})
	for _, i := range removed {
		indexes = withoutIndex(indexes, i.name)
		out = append(out, step{removeIndex, i, slices.Clone(indexes)})
	}
	return out, nil
}

// check returns an error if no sequence of steps can produce the wanted indexes.
func (e evolution) check() error {
	for _, i := range e.wantedIndexes {
		n := slices.IndexFunc(e.deployedIndexes, func(d index) bool { return d.name == i.name })
		found, inTable := e.table.index(i.name)
		switch {
		case n >= 0 && e.managed && e.deployedIndexes[n].indexKeys != i.indexKeys:
			return changedIndexError(i, e.deployedIndexes[n].indexKeys)
		case inTable && (n >= 0 || !e.managed) && found.indexKeys != i.indexKeys:
			return changedIndexError(i, found.indexKeys)
		}
	}
	names := map[string]bool{}
	for _, i := range e.table.indexes {
		names[i.name] = true
	}
	for _, i := range append(slices.Clone(e.deployedIndexes), e.wantedIndexes...) {
		names[i.name] = true
	}
	if e.table.exists() && len(names) > indexesMax {
		return fmt.Errorf("the table %s would have %d indexes during the deploy, but DynamoDB allows at most %d: first deploy the earlier version without the indexes that this one removes",
			e.table.name, len(names), indexesMax)
	}
	return nil
}

func changedIndexError(i index, actual indexKeys) error {
	return fmt.Errorf("the index %s has the keys %s and projects %s, but the new version defines the keys %s and projects %s. DynamoDB cannot change an index: rename it in the new version",
		i.name, actual.keys, actual.projection, i.keys, i.projection)
}

// foreignIndexes returns the names of the table's indexes that are in neither version. Somebody
// added them, or an update that was rolled back left them behind.
func (e evolution) foreignIndexes() (names []string) {
	for _, i := range e.table.indexes {
		if !containsIndex(e.deployedIndexes, i.name) && !containsIndex(e.wantedIndexes, i.name) {
			names = append(names, i.name)
		}
	}
	return names
}

func containsIndex(indexes []index, name string) bool {
	return slices.ContainsFunc(indexes, func(i index) bool { return i.name == name })
}

func withoutIndex(indexes []index, name string) []index {
	return slices.DeleteFunc(slices.Clone(indexes), func(i index) bool { return i.name == name })
}

// String describes what the step does.
func (s step) String() string {
	switch s.kind {
	case addIndex:
		return "add the index " + s.index.name + " to the table, alone, and wait until it is ACTIVE"
	case removeIndex:
		return "remove the index " + s.index.name + " from the table, alone"
	case createTableIndex:
		return "add the index " + s.index.name + " with UpdateTable, and wait until it is ACTIVE"
	case deleteTableIndex:
		return "remove the index " + s.index.name + " with UpdateTable"
	}
	return "deploy the functions and everything else"
}

// name returns the name of a step for use in the names of files and change sets.
func (s step) name() string {
	switch s.kind {
	case addIndex, createTableIndex:
		return "add-" + s.index.name
	case removeIndex, deleteTableIndex:
		return "remove-" + s.index.name
	}
	return "stack"
}

// indexAdded returns the index that the step adds, or nil if it adds none.
func (s step) indexAdded() []index {
	if s.kind == addIndex || s.kind == createTableIndex {
		return []index{s.index}
	}
	return nil
}

// describeMissing returns a function that describes which of the wanted indexes cannot be queried
// yet. The result of that function is empty if all of them can be queried.
func describeMissing(wanted []index) func(tableState) string {
	return func(t tableState) string {
		var parts []string
		for _, i := range wanted {
			found, ok := t.index(i.name)
			switch {
			case !ok:
				parts = append(parts, "the index "+i.name+" does not exist")
			case found.status == "CREATING":
				parts = append(parts, "the index "+i.name+" is CREATING")
			}
		}
		return strings.Join(parts, ", ")
	}
}
