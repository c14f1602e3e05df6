package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An update that changes an index of the table changes only this one index and nothing else in the
// stack. CloudFormation accepts at most one index change per update, does not wait until a new
// index is backfilled, and rolls back the whole update if something else in it fails. So an index
// is added before the functions that query it are deployed. It is removed after the functions that
// queried it are gone.

// evolution is the state from which the steps of a deploy are planned.
type evolution struct {
	// managed reports whether the table is a resource of the stack. Otherwise the operator changes
	// its indexes, because CloudFormation would not.
	managed         bool
	table           tableState // the table that the new version uses; the zero value if the stack creates it
	deployedIndexes []index    // the indexes in the deployed template, which the deployed functions may query
	wantedIndexes   []index    // the indexes in the new template
	awsFlags        string     // the flags of printed commands
}

// step is one update of the stack.
type step struct {
	kind    stepKind
	index   index
	indexes []index // the table's indexes in the template that the step deploys
}

type stepKind int

const (
	addIndex    stepKind = iota // deploy the template that is deployed now, with one more index
	deployStack                 // deploy the new template; the table keeps the indexes that later steps remove
	removeIndex                 // deploy the new template with one index fewer
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
	if !e.managed || !e.table.exists() { // CloudFormation creates a new table with all its indexes
		return []step{{deployStack, index{}, e.wantedIndexes}}, nil
	}
	indexes := slices.Clone(e.deployedIndexes)
	for _, i := range e.wantedIndexes {
		if !containsIndex(indexes, i.name) {
			indexes = append(indexes, i)
			out = append(out, step{addIndex, i, slices.Clone(indexes)})
		}
	}
	removed := slices.DeleteFunc(slices.Clone(e.deployedIndexes), func(i index) bool { return containsIndex(e.wantedIndexes, i.name) })
	indexes = append(slices.Clone(e.wantedIndexes), removed...)
	out = append(out, step{deployStack, index{}, slices.Clone(indexes)})
	for _, i := range removed {
		indexes = slices.DeleteFunc(slices.Clone(indexes), func(other index) bool { return other.name == i.name })
		out = append(out, step{removeIndex, i, slices.Clone(indexes)})
	}
	return out, nil
}

// check returns an error if no sequence of steps can produce the wanted indexes. It is a
// manualChange if the operator must first change an index with DynamoDB itself.
func (e evolution) check() error {
	if !e.table.exists() {
		return nil
	}
	for _, i := range e.wantedIndexes {
		n := slices.IndexFunc(e.deployedIndexes, func(d index) bool { return d.name == i.name })
		found, inTable := e.table.index(i.name)
		isLeftOver := inTable && e.managed && n < 0
		switch {
		case n >= 0 && e.managed && e.deployedIndexes[n].indexKeys != i.indexKeys:
			return changedIndexError(i, e.deployedIndexes[n].indexKeys)
		case inTable && !isLeftOver && found.indexKeys != i.indexKeys:
			return changedIndexError(i, found.indexKeys)
		case inTable && found.status == types.IndexStatusDeleting:
			return fmt.Errorf("DynamoDB is deleting the index %s of the table %s: wait until it is gone, then run this again", i.name, e.table.name)
		case isLeftOver, !inTable && (n >= 0 || !e.managed):
			return manualChange{e.table.name, i, isLeftOver, e.awsFlags}
		}
	}
	names := map[string]bool{}
	for _, i := range slices.Concat(e.table.indexes, e.deployedIndexes, e.wantedIndexes) {
		names[i.name] = true
	}
	if len(names) > indexesMax {
		return fmt.Errorf("the table %s would have %d indexes during the deploy, but DynamoDB allows at most %d: first deploy the earlier version without the indexes that this one removes",
			e.table.name, len(names), indexesMax)
	}
	return nil
}

// manualChange is the error for an index that the operator must create or remove, because
// CloudFormation cannot.
type manualChange struct {
	table    string
	index    index
	removes  bool
	awsFlags string
}

func (m manualChange) Error() string {
	why, change, attributes := "lacks the index "+m.index.name+", and CloudFormation does not add it to this table. Add it", map[string]any{"Create": m.index.core()},
		" --attribute-definitions '"+compactJSON(m.index.attributes)+"'"
	if m.removes {
		why, change, attributes = "has the index "+m.index.name+", but the stack does not. A rolled-back update leaves an index behind, and CloudFormation cannot add it again. Remove it",
			map[string]any{"Delete": map[string]any{"IndexName": m.index.name}}, ""
	}
	return fmt.Sprintf(`the table %[1]s %[2]s, wait until DynamoDB has done it, and run this again:
  aws dynamodb update-table%[3]s --table-name %[1]s%[4]s --global-secondary-index-updates '%[5]s'
  aws dynamodb describe-table%[3]s --table-name %[1]s --query "Table.GlobalSecondaryIndexes[].[IndexName,IndexStatus]"`,
		m.table, why, m.awsFlags, attributes, compactJSON([]any{change}))
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

// String describes what the step does.
func (s step) String() string {
	switch s.kind {
	case addIndex:
		return "add the index " + s.index.name + " to the table, alone, and wait until it is ACTIVE"
	case removeIndex:
		return "remove the index " + s.index.name + " from the table, alone"
	}
	return "deploy the functions and everything else"
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
			case found.status == types.IndexStatusCreating:
				parts = append(parts, "the index "+i.name+" is CREATING")
			}
		}
		return strings.Join(parts, ", ")
	}
}
