package schema

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
)

// recordSentArgument records that an argument was sent, for Digest and for the Body of the input.
func (b *Binder) recordSentArgument(f *Field, a argument) {
	if f.record != nil {
		b.markPropertySent(f)
	}
	if b.sentValues == nil {
		b.sentValues = map[string]any{}
	}
	if f.In == InBody {
		b.sentValues[f.Name] = a.json
	} else {
		b.sentValues[f.Name] = a.filterText()
	}
}

// Digest returns a digest of the arguments that were sent, without those in except. It is the same
// for an HTTP request and for a tool call, and does not depend on whitespace, the order of
// properties or the notation of numbers. Arguments that were left out have no effect on it, so a
// release that adds a field changes no digest.
func (b *Binder) Digest(except ...string) (digest [sha256.Size]byte, err error) {
	members := make(map[string]any, len(b.sentValues))
	for name, value := range b.sentValues {
		members[name] = canonicalValue(value)
	}
	for _, name := range except {
		delete(members, name)
	}
	text, err := json.Marshal(members) // Marshal sorts the keys
	if err != nil {
		return digest, fmt.Errorf("digest of a request: %w", err)
	}
	return sha256.Sum256(text), nil
}

// canonicalValue returns a parsed JSON value with its objects as maps and its numbers in one form.
func canonicalValue(value any) any {
	switch value := value.(type) {
	case Object:
		members := make(map[string]any, len(value))
		for _, m := range value {
			members[m.name] = canonicalValue(m.value)
		}
		return members
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = canonicalValue(v)
		}
		return list
	case json.RawMessage: // not parsed because of its size, so the digest depends on the order of its properties and the notation of its numbers
		sum := sha256.Sum256(value)
		return sum[:]
	case json.Number:
		if n, err := strconv.ParseFloat(string(value), 64); err == nil {
			return n + 0 // -0 is 0
		}
	}
	return value
}
