package table

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// WriterAttr is the attribute that contains the id of the key that last wrote the record, or
// ImportWriter. A write by the operator removes it. A Client sets it in every write except
// UpdateKey. Users of the API never see it. The feed of changes reads it from the table's stream.
const WriterAttr = "writtenBy"

// ImportWriter is the writer of records that an import or an upgrade wrote. The feed of changes
// does not report these writes.
const ImportWriter = "import"

// AsImport is like AsOperator, but the client's writes have the writer ImportWriter.
func (c *Client) AsImport() *Client {
	o := c.AsOperator()
	o.isImport = true
	return o
}

// ActorOf identifies who makes the calls with ctx. It returns the id of the request's key or, if
// there is none, the name that Options.Operator returns.
func (c *Client) ActorOf(ctx context.Context) (name string, isKey bool) {
	if r := RequestOf(ctx); r != nil && r.KeyID != "" {
		return r.KeyID, true
	}
	return c.operatorName(ctx), false
}

// writer is the value of WriterAttr, or empty for the operator.
type writer string

func (c *Client) writerOf(ctx context.Context) writer {
	if c.isImport {
		return ImportWriter
	}
	if r := RequestOf(ctx); r != nil {
		return writer(r.KeyID)
	}
	return ""
}

// applyTo returns w with the writer attribute set or removed. It does not modify the caller's
// values, because the caller may send w again.
func (wr writer) applyTo(w Write) Write {
	switch {
	case w.Put != nil:
		put := *w.Put
		put.Item = wr.applyToItem(put.Item)
		w.Put = &put
	case w.Update != nil:
		update := *w.Update
		update.UpdateExpression, update.ExpressionAttributeValues = wr.applyToUpdate(update.UpdateExpression, update.ExpressionAttributeValues)
		w.Update = &update
	}
	return w
}

// applyToItem returns a copy of an item with the writer attribute set, or without it for the
// operator.
func (wr writer) applyToItem(item Item) Item {
	out := make(Item, len(item)+1)
	maps.Copy(out, item)
	if delete(out, WriterAttr); wr != "" {
		out[WriterAttr] = wr.attribute()
	}
	return out
}

// applyToUpdate returns an update expression that also sets or removes the writer attribute, and
// the values of its placeholders. An expression may contain each of the keywords SET and REMOVE
// once, in capitals and followed by a space.
func (wr writer) applyToUpdate(expression *string, values Item) (*string, Item) {
	keyword, clause := "REMOVE ", WriterAttr
	if wr != "" {
		keyword, clause = "SET ", WriterAttr+" = :"+WriterAttr
		withWriter := make(Item, len(values)+1)
		maps.Copy(withWriter, values)
		withWriter[":"+WriterAttr] = wr.attribute()
		values = withWriter
	}
	text := ""
	if expression != nil {
		text = *expression
	}
	if at := keywordIndex(text, keyword); at >= 0 {
		at += len(keyword)
		text = text[:at] + clause + ", " + text[at:]
	} else {
		text = strings.TrimPrefix(text+" "+keyword+clause, " ")
	}
	return &text, values
}

// keywordIndex returns the index of a keyword in an update expression, or -1.
func keywordIndex(expression, keyword string) int {
	if strings.HasPrefix(expression, keyword) {
		return 0
	}
	if at := strings.Index(expression, " "+keyword); at >= 0 {
		return at + 1
	}
	return -1
}

func (wr writer) attribute() types.AttributeValue { return String(string(wr)) }

// WriterOf returns the WriterAttr of a stored item, or "" if it has none.
func WriterOf(item Item) string {
	s, _ := item[WriterAttr].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// IsSameRevision reports whether two images of a stored item have the same revision. A write that
// leaves the revision unchanged, such as an update to a parent's count, changes nothing that
// clients see. A missing item has no revision.
func IsSameRevision(old, new Item) bool {
	return len(old) > 0 && len(new) > 0 && equalAttribute(old[revAttr], new[revAttr]) && equalAttribute(old[writeIDAttr], new[writeIDAttr])
}
