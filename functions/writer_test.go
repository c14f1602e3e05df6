package functions_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// writtenItem is a put or an update in a call to the table.
type writtenItem struct {
	Item                      map[string]struct{ S string }
	Key                       map[string]struct{ S string }
	UpdateExpression          string
	ExpressionAttributeValues map[string]struct{ S string }
}

// writer returns the value that the call stores as the item's writer.
func (w writtenItem) writer() string {
	if w.UpdateExpression == "" {
		return w.Item[table.WriterAttr].S
	}
	value := ":" + table.WriterAttr
	if !strings.Contains(w.UpdateExpression, table.WriterAttr+" = "+value) {
		return ""
	}
	return w.ExpressionAttributeValues[value].S
}

// writtenItems returns the puts and updates of a call.
func writtenItems(t *testing.T, call string) (out []writtenItem) {
	t.Helper()
	name, body, _ := strings.Cut(call, " ")
	if !strings.Contains(name, "Write") && name != "PutItem" && name != "UpdateItem" {
		return nil
	}
	var request struct {
		writtenItem
		TransactItems []struct{ Put, Update *writtenItem }
		RequestItems  map[string][]struct{ PutRequest *writtenItem }
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	if !strings.Contains(name, "Write") {
		out = append(out, request.writtenItem)
	}
	for _, i := range request.TransactItems {
		for _, w := range []*writtenItem{i.Put, i.Update} {
			if w != nil {
				out = append(out, *w)
			}
		}
	}
	for _, items := range request.RequestItems {
		for _, i := range items {
			if i.PutRequest != nil {
				out = append(out, *i.PutRequest)
			}
		}
	}
	return out
}

// Ensure each write by each operation stores the calling key as its writer. The write that
// admits the request, an update of the key's record, stores no writer. No response shows the writer
// of a record, or another attribute for the feed of changes.
func TestOperationsStoreTheCallingKey(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	key := s.IssueKey(t)
	keyID := s.Call(t, key, "get_current_key", nil).JSON(t)["id"].(string)
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(10 * time.Second) // to stay below the quota
		calls.reset()
		r := s.Call(t, key, op.ID, fixtureArguments[op.ID])
		if r.Status != http.StatusOK {
			t.Errorf("%s: status %d, want 200: %s", op.ID, r.Status, r.Body)
		}
		for _, hidden := range []string{table.WriterAttr, table.WriteIDAttr, `"rev"`} {
			if strings.Contains(r.Body, hidden) {
				t.Errorf("%s: the response has %s: %s", op.ID, hidden, r.Body)
			}
		}
		written := 0
		for _, call := range calls.calls {
			for _, w := range writtenItems(t, call) {
				admission := strings.Contains(w.UpdateExpression, "admission")
				if writer := w.writer(); !admission && writer != keyID || admission && writer != "" {
					t.Errorf("%s: the writer is %q, want the key %s, or none for its admission: %s", op.ID, writer, keyID, call)
				}
				if !admission {
					written++
				}
			}
		}
		if op.Effect == api.Read && written > 0 || op.Effect != api.Read && op.Effect != api.Destructive && written == 0 {
			t.Errorf("%s: wrote %d items", op.ID, written)
		}
	}
}

// Ensure an export contains no writers of records.
func TestExportsHideWriters(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, kind := range functions.Transfers(s.Table) {
		err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := json.Marshal(record)
			if strings.Contains(string(text), table.WriterAttr) {
				t.Errorf("an export has the writer: %s", text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Ensure every record that an import writes has ImportWriter as its writer until a key or the
// operator changes the record, and that an import replaces the previous writer.
func TestImportsMarkTheirRecords(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	imported := *s
	imported.Table = s.Table.AsImport()
	for _, c := range []struct {
		s    *apitest.Service
		want string
	}{{s, ""}, {&imported, table.ImportWriter}, {s, ""}} {
		importFixture(t, c.s)
		checked := 0
		in := &dynamodb.ScanInput{
			FilterExpression: aws.String("begins_with(pk, :company)"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: table.Item{":company": table.String(table.Partition(s.CompanyID, ""))},
		}
		for {
			page, err := s.Table.Scan(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				if strings.HasPrefix(table.KeyOf(item).SK, "snapshot#") {
					continue // each import adds new snapshots and keeps those of the earlier import
				}
				checked++
				if got := table.WriterOf(item); got != c.want {
					t.Errorf("the writer of %v is %q, want %q", table.KeyOf(item), got, c.want)
				}
			}
			if in.ExclusiveStartKey = page.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
				break
			}
		}
		if checked < len(functions.Transfers(nil)) {
			t.Errorf("only %d items", checked)
		}
	}
}
