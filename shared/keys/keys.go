// Package keys stores the keys of companies and admits requests. One conditional write checks a
// key, counts the request against its rate limit and records the use. See
// scripts/docs/explanation/one-round-trip.md.
//
// A key's record is stored in the company's keys partition, under the key's id. The key itself
// contains the company's id and its own, so no index is needed. Validity is never cached, so a
// revoked key is refused at once.
package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// Key is the record of a key as the API returns it, without the secret.
type Key struct {
	ID         string   `json:"id" doc:"the key's id"`
	CompanyID  string   `json:"companyId" doc:"the company that the key belongs to"`
	Name       *string  `json:"name" doc:"what the key is for"`
	Kind       *string  `json:"kind" doc:"secret"`
	Prefix     *string  `json:"prefix" doc:"the start of the key, to tell keys apart; not a secret"`
	Scopes     []string `json:"scopes" doc:"what the key may do"`
	APIVersion *string  `json:"apiVersion" doc:"the version of the API for requests that name none"`
	CreatedAt  *string  `json:"createdAt" format:"date-time"`
	LastUsedAt *string  `json:"lastUsedAt" format:"date-time" doc:"when the key was last used"`
	ExpiresAt  *string  `json:"expiresAt" format:"date-time" doc:"when the key expires; null: never"`
	RevokedAt  *string  `json:"revokedAt" format:"date-time" doc:"when the key was revoked; null: it is not revoked"`
	ReplacedBy *string  `json:"replacedBy" doc:"the id of the key that replaced it in a rotation"`
}

// ETag implements api.ETagger. It changes with the key's name, scopes, expiry, revocation and
// replacement, but not when the key is used.
func (k Key) ETag() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		k.ID, valueOrEmpty(k.Name), strings.Join(k.Scopes, " "), valueOrEmpty(k.ExpiresAt), valueOrEmpty(k.RevokedAt), valueOrEmpty(k.ReplacedBy),
	}))
	return hex.EncodeToString(sum[:16])
}

// IssuedKey is a new key: its record and its secret, which is not stored and never returned again.
type IssuedKey struct {
	Key

	Secret string `json:"secret" doc:"the key; returned only once"`
}

// storedKey is the stored record of a key.
type storedKey struct {
	Key

	Rev            int64   `store:"rev"`  // counts changes, but not uses
	Hash           string  `store:"hash"` // SHA-256 of the whole key, in hex
	SuspendedAt    *string `store:"suspendedAt"`
	AdmissionToken string  `store:"admission"` // the write token of the last admission
	ReadTAT        int64   `store:"tatRead"`
	WriteTAT       int64   `store:"tatWrite"`
	PublishTAT     int64   `store:"tatPublish"`
	PushTAT        int64   `store:"tatPush"`
	keyQuotas
}

// keyQuotas contains the quota of each class; nil means the default of the class.
type keyQuotas struct {
	ReadQuota    *float64 `store:"quotaRead"`
	WriteQuota   *float64 `store:"quotaWrite"`
	PublishQuota *float64 `store:"quotaPublish"`
	PushQuota    *float64 `store:"quotaPush"`
}

// bucketAttributes maps a class to the attributes of its bucket in a storedKey.
var bucketAttributes = map[auth.Class]struct{ tat, quota string }{
	auth.ClassRead: {"tatRead", "quotaRead"}, auth.ClassWrite: {"tatWrite", "quotaWrite"},
	auth.ClassPublish: {"tatPublish", "quotaPublish"}, auth.ClassPush: {"tatPush", "quotaPush"},
}

func (k storedKey) bucket(c auth.Class) (quota auth.Quota, tat int64) {
	custom := k.ReadQuota
	switch tat = k.ReadTAT; c {
	case auth.ClassWrite:
		tat, custom = k.WriteTAT, k.WriteQuota
	case auth.ClassPublish:
		tat, custom = k.PublishTAT, k.PublishQuota
	case auth.ClassPush:
		tat, custom = k.PushTAT, k.PushQuota
	}
	if custom != nil {
		return auth.Quota(*custom), tat
	}
	return auth.DefaultQuota(c), tat
}

// recordKey returns the table key of a key's record:
//
//	access                     key
//	verify, use, revoke, read  <company>#keys / key#<keyId>
//	list                       <company>#keys, read whole (bounded)
func recordKey(companyID, keyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, table.KeysArea), SK: table.JoinKey("key", keyID)}
}
