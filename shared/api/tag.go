package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// An entity tag identifies one revision of a record, so that a request can be conditional on it
// (RFC 9110, section 13).

// ETagger is a record that computes its own entity tag: the opaque string between the quotes of the
// ETag header.
type ETagger interface{ ETag() string }

// etagOf returns the entity tag of a record: that of its ETag method, or a digest of its JSON.
func etagOf(record any, body []byte) string {
	if tagged, ok := record.(ETagger); ok {
		return tagged.ETag()
	}
	return hashText(body)
}

func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// ETagDigest returns an entity tag for a record with content that is not part of its JSON. version
// identifies that content. It is for ETag methods. It panics if the record cannot be encoded as
// JSON.
func ETagDigest(record any, version string) string {
	body, err := schema.Encode(record)
	if err != nil {
		panic(fmt.Sprintf("api: the entity tag of a %T: %v", record, err))
	}
	return hashText(append(append(body, '\n'), version...))
}

// The precondition headers. A write operation without a field for ifMatch refuses requests with
// that header.
const (
	ifMatch     = "If-Match"
	ifNoneMatch = "If-None-Match"
)

// Condition is the part of an input that makes an update or a delete conditional. Embed it, and
// call RequireMatch in the function that is passed to table.Modify or table.Remove, with the record
// as it would appear in a response.
type Condition struct {
	IfMatch *string `header:"If-Match" max:"2000" doc:"the ETag of the record that you read; if the record has changed since, the error is precondition_failed" tool:"ETag you read; fails if changed"`
}

// RequireMatch returns precondition_failed if there is an If-Match that does not match the record's
// entity tag.
func (c Condition) RequireMatch(record any) error {
	if c.IfMatch == nil {
		return nil
	}
	body, err := schema.Encode(record)
	if err != nil {
		return err
	}
	if IfMatchHas(*c.IfMatch, etagOf(record, body)) {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "header.If-Match: the record has changed since; read it again")
}

// RequireAbsent returns precondition_failed if there is an If-Match. It is for a record that does
// not exist, which has no entity tag to match.
func (c Condition) RequireAbsent() error {
	if c.IfMatch == nil {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "header.If-Match: the record does not exist yet")
}

// IfMatchHas reports whether an If-Match header contains the entity tag. A weak tag never matches
// (RFC 9110, section 13.1.1).
func IfMatchHas(header, tag string) bool { return headerHasETag(header, `"`+tag+`"`, "") }

// ifNoneMatchHas reports whether an If-None-Match header contains the entity tag in quoted, the
// value of an ETag header. Weak tags match (section 13.1.2).
func ifNoneMatchHas(header, quoted string) bool { return headerHasETag(header, quoted, "W/") }

func headerHasETag(header, quoted, ignoredPrefix string) bool {
	for value := range strings.SplitSeq(header, ",") {
		value = strings.TrimPrefix(strings.TrimSpace(value), ignoredPrefix)
		if value == "*" || value == quoted {
			return true
		}
	}
	return false
}
