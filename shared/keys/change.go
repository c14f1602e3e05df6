package keys

import (
	"strings"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// changeArea is the area of the partition that contains the key changes. KeysArea cannot be used:
// its records change with every request, so the feed's event source leaves them out.
const changeArea = "company"

// ChangePrefix begins the sort keys of key changes.
const ChangePrefix = "keychange#"

// revokedStatus is the status of a revoked key in the feed of changes.
const revokedStatus = "revoked"

// keyChange is the last change to a key, stored for the feed of changes:
//
//	access                    key
//	issue, rotate, revoke     <company>#company / keychange#<keyId>
type keyChange struct {
	Action change.Action `store:"action"`
	Status string        `store:"status"`
}

// writeChange returns the write that reports a change to a key. It belongs in the transaction that
// changes the key. It is an update and not a put, so a function that only revokes keys needs no
// permission to put items.
func (s *Store) writeChange(companyID, keyID string, action change.Action, status string) table.Write {
	key := table.Key{PK: table.Partition(companyID, changeArea), SK: ChangePrefix + keyID}
	return s.table.WriteUpdate(key, "SET #action = :action, #status = :status ADD rev :one", "",
		map[string]string{"#action": "action", "#status": "status"},
		table.Item{":action": table.String(string(action)), ":status": table.String(status), ":one": table.Number(1)})
}

// RecogniseChange reports whether w changed a key, and returns the event. It is for a
// change.Source.
func RecogniseChange(w change.Write) (e change.Event, ok bool, err error) {
	keyID, isKey := strings.CutPrefix(w.SK, ChangePrefix)
	if w.Area != changeArea || len(w.SubPartition) > 0 || !isKey || w.New == nil {
		return e, false, nil
	}
	var stored keyChange
	if err := table.Decode(w.New, &stored); err != nil {
		return e, false, err
	}
	return change.Event{RecordID: keyID, Action: stored.Action, Status: stored.Status}, true, nil
}
