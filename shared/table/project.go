package table

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// projection asks for some attributes only.
type projection struct {
	expression string
	names      map[string]string
}

type projectionKey struct {
	record  reflect.Type
	texts   bool
	sortKey string
}

var projections memo[projectionKey, projection]

// project asks for the attributes that a record of T, or a text of one, has, and for a sort key. The keys of the indexes, which
// every record has up to eight of, are two fifths of an answer of reviews: they cost no units, but time on the way and in here.
func project[T any](in *dynamodb.QueryInput, sortKey string) {
	record, texts := recordOf[T]()
	p := projections.get(projectionKey{record, texts, sortKey}, newProjection)
	in.ProjectionExpression = &p.expression
	if in.ExpressionAttributeNames == nil {
		in.ExpressionAttributeNames = make(map[string]string, len(p.names))
	}
	maps.Copy(in.ExpressionAttributeNames, p.names)
}

func newProjection(key projectionKey) projection {
	var attributes []string
	for _, f := range planOf(key.record) {
		if key.texts {
			if _, shown := textLayouts.get(key.record, newTextLayout).places.find(f.name); !shown {
				continue
			}
		}
		attributes = append(attributes, f.name)
	}
	if key.sortKey != "" && !slices.Contains(attributes, key.sortKey) {
		attributes = append(attributes, key.sortKey)
	}
	p := projection{names: make(map[string]string, len(attributes))}
	var placeholders []string
	for i, attribute := range attributes { // each needs a placeholder, because many are words of the language
		placeholder := "#p" + strconv.Itoa(i)
		p.names[placeholder] = attribute
		placeholders = append(placeholders, placeholder)
	}
	p.expression = strings.Join(placeholders, ",")
	return p
}
