package overview

import (
	"time"

	"growthworkspace/shared/timestamp"
)

// key is what the rules read of a key.
type key struct {
	ID         string
	Name       *string
	ExpiresAt  *string
	RevokedAt  *string
	ReplacedBy *string
}

// keyNotice is how long before its end a key is announced.
const keyNotice = 14 * 24 * time.Hour

func (r *reader) startKeys() *records[key] {
	return startList[key](r, "list_keys", map[string]any{"limit": pageMax}, countMax, r.isExpiring)
}

// isExpiring reports whether a key in use ends soon. A key that was rotated ends because its
// successor is in use.
func (r *reader) isExpiring(k key) bool {
	return k.RevokedAt == nil && k.ReplacedBy == nil && isBefore(k.ExpiresAt, r.now().Add(keyNotice)) &&
		*k.ExpiresAt > timestamp.Format(r.now())
}

func keysToAttend(keys *records[key]) Attention {
	var items []AttentionItem
	for _, k := range keys.all {
		items = append(items, item(k.ID, nil, k.ExpiresAt, "", k.Name))
	}
	return attentionOf(KindKeyExpiring, oldestFirst(items), keys.more)
}
