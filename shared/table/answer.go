package table

import (
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
// the attributes share the memory of the body. Where into is not nil, it takes the records of a Query.
func readAnswer(body string, into itemsReader) (a reading, ok bool) {
	if !plain(body) {
		return a, false
	}
	r := &answerReader{text: body}
	ok = r.object(func(name string) bool {
		switch name {
		case "Items":
			if into != nil && a.items != nil {
				return false
			}
			if into != nil {
				a.items = []Item{}
				return r.array(func() bool { return into.readItem(r) })
			}
			return r.itemsInto(&a.items)
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

// readBatch reads the answer to a BatchGetItem, as readAnswer does the others. Keys that the table left over are for the SDK.
func readBatch(body string, out *dynamodb.BatchGetItemOutput) (ok bool) {
	if !plain(body) {
		return false
	}
	r := &answerReader{text: body}
	ok = r.object(func(name string) bool {
		switch name {
		case "Responses":
			if out.Responses != nil {
				return false
			}
			out.Responses = map[string][]Item{}
			return r.object(func(table string) bool {
				if out.Responses[table] != nil {
					return false
				}
				var items []Item
				ok := r.itemsInto(&items)
				out.Responses[table] = items
				return ok
			})
		case "UnprocessedKeys":
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{}
			return r.object(func(string) bool { return false })
		case "ConsumedCapacity":
			out.ConsumedCapacity = []types.ConsumedCapacity{}
			return r.array(func() bool {
				out.ConsumedCapacity = append(out.ConsumedCapacity, types.ConsumedCapacity{})
				return r.capacity(&out.ConsumedCapacity[len(out.ConsumedCapacity)-1])
			})
		}
		return false
	})
	r.space()
	return ok && r.at == len(r.text)
}

// plain tells whether a text is valid UTF-8 without control characters, which JSON forbids in strings and DynamoDB writes
// nowhere else.
func plain(text string) bool {
	const low, high = 0x2020202020202020, 0x8080808080808080
	var seen uint64
	at := 0
	for ; at+8 <= len(text); at += 8 {
		s := text[at : at+8]
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (word-low)&^word&high != 0 { // one of the eight bytes is below a space
			return false
		}
		seen |= word
	}
	for ; at < len(text); at++ {
		if text[at] < ' ' {
			return false
		}
		seen |= uint64(text[at])
	}
	return seen&high == 0 || utf8.ValidString(text)
}
