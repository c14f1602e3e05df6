// Package entity names the state of a record by an entity tag, so that a caller can say which one it has seen (RFC 9110,
// 13).
package entity

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Tagged is an answer that has an entity tag of its own, the opaque text between the quotes of the ETag header.
type Tagged interface{ ETag() string }

// Tag returns the entity tag of an answer: its own, or that of its body.
func Tag(v any, body []byte) string {
	if tagged, ok := v.(Tagged); ok {
		return tagged.ETag()
	}
	return tagOf(body)
}

func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Condition is the part of an input that makes an update or a delete conditional: embed it, and call Check with the record
// as an answer would show it, inside of the function that the write is conditional on (table.Modify, table.Remove).
type Condition struct {
	IfMatch *string `header:"If-Match" max:"2000" doc:"the ETag of the record as you read it; if it has changed since, precondition_failed"`
}

// Check returns precondition_failed when the caller has seen another state of the record than this one.
func (c Condition) Check(record any) error {
	if c.IfMatch == nil {
		return nil
	}
	body, err := schema.Encode(record)
	if err != nil {
		return err
	}
	if Matches(*c.IfMatch, Tag(record, body)) {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "header.If-Match: the record has changed since; read it again")
}

// Absent returns precondition_failed for a record that does not exist, whose states nobody can have seen.
func (c Condition) Absent() error {
	if c.IfMatch == nil {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "header.If-Match: there is no such record yet")
}

// Matches tells whether an If-Match value names the entity tag (RFC 9110, 13.1.1): a weak one never does.
func Matches(header, tag string) bool { return names(header, `"`+tag+`"`, "") }

// Seen tells whether an If-None-Match value names the tag that an ETag header has (RFC 9110, 13.1.2). Weak tags count.
func Seen(header, quoted string) bool { return names(header, quoted, "W/") }

func names(header, quoted, ignored string) bool {
	for value := range strings.SplitSeq(header, ",") {
		value = strings.TrimPrefix(strings.TrimSpace(value), ignored)
		if value == "*" || value == quoted {
			return true
		}
	}
	return false
}
