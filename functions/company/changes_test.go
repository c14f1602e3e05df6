package company_test

import (
	"crypto/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/company"
	"growthworkspace/shared/change"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// storedItems returns the company's items by sort key. It leaves out the partition of API keys.
func storedItems(t *testing.T, s *apitest.Service) map[string]table.Item {
	t.Helper()
	out := map[string]table.Item{}
	for _, key := range remainingKeys(t, s.Table, s.CompanyID+"#company") {
		item, err := table.GetItem(t.Context(), s.Table, key)
		if err != nil {
			t.Fatal(err)
		}
		out[key.SK] = item
	}
	return out
}

// reportedChange is a change that a source of the area reports, with the key that made it.
type reportedChange struct {
	Type   change.Type
	Event  change.Event
	Writer string
}

// changesReportedBy calls the function do. It returns the changes to the company's items that the
// sources then report.
func changesReportedBy(t *testing.T, s *apitest.Service, do func()) (out []reportedChange) {
	t.Helper()
	before := storedItems(t, s)
	do()
	for sk, item := range storedItems(t, s) {
		if reflect.DeepEqual(before[sk], item) {
			continue
		}
		parts := strings.Split(table.KeyOf(item).PK, "#")
		w := change.Write{CompanyID: parts[0], Area: parts[1], SubPartition: parts[2:], SK: sk, Old: before[sk], New: item}
		for _, source := range company.Changes() {
			event, ok, err := source.Recognise(w)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				writer, _ := item[table.WriterAttr].(*types.AttributeValueMemberS)
				if writer == nil {
					writer = &types.AttributeValueMemberS{}
				}
				out = append(out, reportedChange{source.Type, event, writer.Value})
			}
		}
	}
	return out
}

// Ensure each change to a key is reported with the key that made the change, whether it comes
// through the API or from the operator. The use of a key is not reported.
func TestKeyChanges(t *testing.T) {
	t.Parallel()
	s := start(t)
	check := func(do func() []reportedChange) {
		t.Helper()
		var want []reportedChange
		got := changesReportedBy(t, s, func() { want = do() })
		byRecord := func(a, b reportedChange) int { return strings.Compare(a.Event.RecordID, b.Event.RecordID) }
		slices.SortFunc(want, byRecord)
		slices.SortFunc(got, byRecord)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	}
	event := func(keyID string, action change.Action, status, writer string) reportedChange {
		return reportedChange{"key", change.Event{RecordID: keyID, Action: action, Status: status}, writer}
	}
	admin := s.IssueKey(t)
	adminID := s.Send(t, admin, "GET", keysPath+"/current", "").JSON(t)["id"].(string)
	var fresh issuedKey
	check(func() []reportedChange {
		fresh = createKey(t, s, admin, `{"name":"ci","scopes":["plan:read"]}`)
		return []reportedChange{event(fresh.ID, change.Created, "", adminID)}
	})
	check(func() []reportedChange {
		checkKeyStatus(t, s, fresh.Secret, 200)
		return nil
	})
	var next issuedKey
	check(func() []reportedChange {
		next = rotateKey(t, s, admin, fresh.ID, `{}`)
		return []reportedChange{event(fresh.ID, change.Updated, "", adminID), event(next.ID, change.Created, "", adminID)}
	})
	check(func() []reportedChange {
		if r := s.Send(t, admin, "DELETE", keysPath+"/"+next.ID, ""); r.Status != 200 {
			t.Fatalf("revoke: %d %s", r.Status, r.Body)
		}
		return []reportedChange{event(next.ID, change.Updated, "revoked", adminID)}
	})
	check(func() []reportedChange {
		if r := s.Send(t, admin, "DELETE", keysPath+"/"+next.ID, ""); r.Status != 404 {
			t.Fatalf("revoke again: %d %s", r.Status, r.Body)
		}
		return nil
	})
	var operatorKey keys.Key
	check(func() (want []reportedChange) {
		var err error
		if operatorKey, _, err = s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "key"}, rand.Reader); err != nil {
			t.Fatal(err)
		}
		return []reportedChange{event(operatorKey.ID, change.Created, "", "")}
	})
	check(func() []reportedChange {
		replacement, _, err := s.Keys.Rotate(t.Context(), s.CompanyID, operatorKey.ID, time.Hour, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return []reportedChange{event(operatorKey.ID, change.Updated, "", ""), event(replacement.ID, change.Created, "", "")}
	})
	check(func() []reportedChange {
		if _, err := s.Keys.Revoke(t.Context(), s.CompanyID, fresh.ID); err != nil {
			t.Fatal(err)
		}
		return []reportedChange{event(fresh.ID, change.Updated, "revoked", "")}
	})
}

// Ensure an update of the profile is reported as a change to the company, with the key that made
// it.
func TestProfileChanges(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	adminID := s.Send(t, admin, "GET", keysPath+"/current", "").JSON(t)["id"].(string)
	got := changesReportedBy(t, s, func() {
		if r := s.Send(t, admin, "PATCH", "/v1/companies/{companyId}", `{"summary":"Notes for teams."}`); r.Status != 200 {
			t.Fatalf("update: %d %s", r.Status, r.Body)
		}
	})
	want := []reportedChange{{"company", change.Event{RecordID: s.CompanyID, Action: change.Updated}, adminID}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	source := company.Changes()[0]
	profile := storedItems(t, s)["profile"]
	for action, w := range map[change.Action]change.Write{change.Created: {New: profile}, change.Deleted: {Old: profile}} {
		w.CompanyID, w.Area, w.SK = s.CompanyID, "company", "profile"
		if e, ok, err := source.Recognise(w); err != nil || !ok || e != (change.Event{RecordID: s.CompanyID, Action: action}) {
			t.Errorf("%s: recognised %v as %+v: %v", action, ok, e, err)
		}
	}
}
