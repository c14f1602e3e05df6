package main

import (
	"fmt"
	"slices"
	"strings"
)

// An update of the stack changes at most one index of the table, and nothing else in the same
// update: CloudFormation accepts no more than one, does not wait until a new index is filled, and
// rolls the whole update back when something else in it fails. So an index is added before the
// functions that query it are deployed, and removed after the functions that queried it are gone.

// evolution is what the steps of a deploy are planned from.
type evolution struct {
	// managed reports whether the table belongs to the stack. Otherwise DynamoDB's UpdateTable
	// changes the indexes, because CloudFormation would not.
	managed  bool
	table    tableState // the table that the new version uses; the zero value if the stack creates it
	deployed []index    // the indexes in the deployed template: the deployed functions may query them
	wanted   []index    // the indexes in the new template
}

// step is one change of the account.
type step struct {
	kind  stepKind
	index index
	// indexes are the indexes of the table in the template that the step deploys. It has none in a
	// step without a template.
	indexes []index
}

type stepKind int

const (
	addIndex         stepKind = iota // deploy the deployed template with one index more
	deployStack                      // deploy the new template; the table keeps the indexes that later steps remove
	removeIndex                      // deploy the new template with one index less
	createTableIndex                 // add an index with UpdateTable
	deleteTableIndex                 // remove an index with UpdateTable
)

// indexesMax is how many global secondary indexes a table may have in CloudFormation. It is also
// DynamoDB's default quota.
const indexesMax = 20

// steps returns the steps of a deploy, in order. A deploy that stopped after any of them is planned
// again from the state that it left, and goes on.
func (e evolution) steps() (out []step, err error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	indexes := slices.Clone(e.deployed)
	for _, i := range e.wanted {
		found, inTable := e.table.index(i.name)
		inTemplate := has(e.deployed, i.name)
		switch {
		case !e.table.exists():
			// CloudFormation creates the table with all its indexes.
		case e.managed && !inTemplate:
			if inTable { // left by an update that was rolled back: CloudFormation would refuse to create it
				out = append(out, step{kind: deleteTableIndex, index: i})
			}
			indexes = append(indexes, i)
			out = append(out, step{addIndex, i, slices.Clone(indexes)})
		case !inTable || found.status == "DELETING":
			out = append(out, step{kind: createTableIndex, index: i})
		}
	}
	removed := slices.DeleteFunc(slices.Clone(e.deployed), func(i index) bool { return has(e.wanted, i.name) })
	if !e.managed {
		out = append(out, step{deployStack, index{}, e.wanted})
		for _, i := range removed {
			if found, ok := e.table.index(i.name); ok && found.status != "DELETING" {
				out = append(out, step{kind: deleteTableIndex, index: i})
			}
		}
		return out, nil
	}
	indexes = append(slices.Clone(e.wanted), removed...)
	out = append(out, step{deployStack, index{}, slices.Clone(indexes)})
	for _, i := range removed {
		indexes = without(indexes, i.name)
		out = append(out, step{removeIndex, i, slices.Clone(indexes)})
	}
	return out, nil
}

// check returns an error if no sequence of steps leads to the wanted indexes.
func (e evolution) check() error {
	for _, i := range e.wanted {
		n := slices.IndexFunc(e.deployed, func(d index) bool { return d.name == i.name })
		found, inTable := e.table.index(i.name)
		switch {
		case n >= 0 && e.managed && e.deployed[n].indexKeys != i.indexKeys:
			return changedIndexError(i, e.deployed[n].indexKeys)
		case inTable && (n >= 0 || !e.managed) && found.indexKeys != i.indexKeys:
			return changedIndexError(i, found.indexKeys)
		}
	}
	names := map[string]bool{}
	for _, i := range e.table.indexes {
		names[i.name] = true
	}
	for _, i := range append(slices.Clone(e.deployed), e.wanted...) {
		names[i.name] = true
	}
	if e.table.exists() && len(names) > indexesMax {
		return fmt.Errorf("the table %s would have %d indexes during the deploy, and DynamoDB allows %d: first deploy a version without the indexes that go",
			e.table.name, len(names), indexesMax)
	}
	return nil
}

func changedIndexError(i index, is indexKeys) error {
	return fmt.Errorf("the index %s has the keys %s and projects %s, and the new version wants %s and %s: DynamoDB cannot change an index; give it another name in the new version",
		i.name, is.keys, is.projection, i.keys, i.projection)
}

// foreign returns the names of the table's indexes that neither version knows. Somebody has added
// them, or an update that was rolled back left them.
func (e evolution) foreign() (names []string) {
	for _, i := range e.table.indexes {
		if !has(e.deployed, i.name) && !has(e.wanted, i.name) {
			names = append(names, i.name)
		}
	}
	return names
}

func has(indexes []index, name string) bool {
	return slices.ContainsFunc(indexes, func(i index) bool { return i.name == name })
}

func without(indexes []index, name string) []index {
	return slices.DeleteFunc(slices.Clone(indexes), func(i index) bool { return i.name == name })
}

// String says what the step does.
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

// name returns the name of a step for files and change sets.
func (s step) name() string {
	switch s.kind {
	case addIndex, createTableIndex:
		return "add-" + s.index.name
	case removeIndex, deleteTableIndex:
		return "remove-" + s.index.name
	}
	return "stack"
}

// indexAdded returns the index that the step adds, if it does.
func (s step) indexAdded() []index {
	if s.kind == addIndex || s.kind == createTableIndex {
		return []index{s.index}
	}
	return nil
}

// missing returns what the functions of a version wait for before they can query its indexes.
func missing(wanted []index) func(tableState) string {
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
