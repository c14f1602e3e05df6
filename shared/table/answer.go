package table

import (
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// reading is what the answer to a read, or to an update, has.
type reading struct {
	items          []Item
	item           Item
	itemName       string // of the property that item was
	last           Item
	count, scanned int32
	consumed       *types.ConsumedCapacity
}

// onlyItem tells whether the answer has nothing but the capacity and a record under this name, if any.
func (a reading) onlyItem(name string) bool {
	return a.items == nil && a.last == nil && (a.item == nil || a.itemName == name)
}

// readAnswer reads the answer to a Query, a GetItem or an UpdateItem in one pass. ok is false for whatever it does not
// know or what is not as DynamoDB writes it: the SDK's reader, which allocates ten times as often, then decides. The texts of
// the attributes share the memory of one copy of the body.
func readAnswer(body []byte) (a reading, ok bool) {
	if !plain(body) {
		return a, false
	}
	r := &answerReader{text: string(body)}
	ok = r.object(func(name string) bool {
		switch name {
		case "Items":
			a.items = []Item{}
			return r.array(func() bool {
				item, ok := r.item()
				a.items = append(a.items, item)
				return ok
			})
		case "Item", "Attributes":
			if a.item != nil {
				return false
			}
			a.itemName = name
			return r.itemInto(&a.item)
		case "LastEvaluatedKey":
			return r.itemInto(&a.last)
		case "Count":
			return r.int32(&a.count)
		case "ScannedCount":
			return r.int32(&a.scanned)
		case "ConsumedCapacity":
			a.consumed = &types.ConsumedCapacity{}
			return r.capacity(a.consumed)
		}
		return false
	})
	r.space()
	return a, ok && r.at == len(r.text)
}

// plain tells whether a text is valid UTF-8 without control characters, which JSON forbids in strings and DynamoDB writes
// nowhere else.
func plain(body []byte) bool {
	for _, c := range body {
		if c < ' ' {
			return false
		}
	}
	return utf8.Valid(body)
}
