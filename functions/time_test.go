package functions_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// Ensure updatedAt never moves backwards. In this test, a writer whose clock is 20 s ahead has
// already changed every record. Any operation that then changes a record must advance the record's
// updatedAt by one millisecond, even in a transaction.
func TestUpdatedAtNeverGoesBack(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const ahead = 20 * time.Second
	last := timestamp.Format(apitest.Epoch.Add(ahead))
	next := timestamp.Format(apitest.Epoch.Add(ahead + time.Millisecond))
	s := start(t, nil)
	key := s.IssueKey(t)
	s.Call(t, key, "update_plan_item", map[string]any{"itemId": "itm_2", "status": "published"}) // so that there is something to publish
	for _, op := range functions.Operations(nil) {
		if op.Effect == api.Read {
			continue
		}
		setAndReadUpdatedAt(t, s, last)
		if got := s.Call(t, key, op.ID, fixtureArguments[op.ID]); got.Status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", op.ID, got.Status, got.Body)
		}
		moved := []string{}
		for record, at := range setAndReadUpdatedAt(t, s, "") {
			switch at {
			case last, timestamp.Format(s.Clock.Now()): // the record was not changed, or was just created
			case next:
				moved = append(moved, record)
			default:
				t.Errorf("%s: updatedAt of %s is %s, want %s", op.ID, record, at, next)
			}
		}
		if isUpdate := op.Method == http.MethodPatch || op.ID == "publish_plan_board"; isUpdate && len(moved) != 1 {
			t.Errorf("%s: updatedAt moved to %s in %v, want one record", op.ID, next, moved)
		}
	}
}

// Ensure an import keeps the updatedAt from the file, and refuses one that is more than a day ahead
// of the clock.
func TestImportRejectsFutureTimes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, kind := range functions.Transfers(s.Table) {
		err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := schema.Encode(record)
			if err != nil {
				return err
			}
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				return err
			}
			if _, has := fields["updatedAt"]; !has {
				return nil
			}
			for ahead, want := range map[time.Duration]string{
				-time.Hour: "", 24 * time.Hour: "", 24*time.Hour + time.Millisecond: "record.updatedAt: must be at most a day ahead, 2026-08-12T09:30:00.000Z",
			} {
				fields["updatedAt"] = s.Clock.Now().Add(ahead).Format(time.RFC3339Nano)
				line, err := json.Marshal(fields)
				if err != nil {
					return err
				}
				if _, problems := kind.Check(line); strings.Join(problems, "\n") != want {
					t.Errorf("%s, %s ahead: %q, want %q", kind.Name, ahead, problems, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// setAndReadUpdatedAt sets the updatedAt of every record to the given value, unless that is empty.
// It returns the updatedAt of every record, by type and id.
func setAndReadUpdatedAt(t *testing.T, s *apitest.Service, updatedAt string) map[string]string {
	t.Helper()
	out, kinds := map[string]string{}, functions.Transfers(s.Table)
	for _, kind := range kinds {
		var changed []json.RawMessage
		err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := schema.Encode(record)
			if err != nil {
				return err
			}
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				return err
			}
			at, has := fields["updatedAt"]
			if !has {
				return nil
			}
			if updatedAt != "" && at != updatedAt {
				fields["updatedAt"] = updatedAt
				if text, err = json.Marshal(fields); err != nil {
					return err
				}
				changed = append(changed, text)
			}
			out[kind.Name+" "+fields["id"].(string)], _ = fields["updatedAt"].(string)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(changed) > 0 {
			importLinesOf(t, s, kinds, kind.Name, changed...)
		}
	}
	return out
}
