package localdb

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// call sends a request as a client of DynamoDB would.
func call(t *testing.T, e *Engine, op, body string) string {
	t.Helper()
	return callTarget(t, e, "DynamoDB_20120810."+op, body)
}

// callTarget sends a request to one of DynamoDB's services. Neither engine checks the signature,
// only its format.
func callTarget(t *testing.T, e *Engine, target, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.Endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Format("20060102T150405Z")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("X-Amz-Date", now)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/"+now[:8]+
		"/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=00")
	// A busy machine creates a table slowly, so the timeout of the readiness probe would be too
	// short.
	res, err := (&http.Client{Timeout: time.Minute, Transport: Transport(e.Socket)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %s, want 200: %s %v", target, res.Status, b, err)
	}
	return string(b)
}

const newTable = `{"TableName": "kept", "BillingMode": "PAY_PER_REQUEST",
"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}`

func TestRealEngines(t *testing.T) {
	t.Parallel()
	finders := newHost(nil).sources
	for _, s := range finders {
		t.Run(s.kind, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && s.kind == DynamoDBLocal {
				t.Skip("takes seconds: run without -short")
			}
			requireEngine(t, s.find)
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			// The database may have been copied here with another mode.
			if err := os.WriteFile(filepath.Join(dir, dataFiles[s.kind]), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			e, err := Open(t.Context(), Options{Data: dir, Prefer: s.kind})
			if err != nil {
				t.Fatal(err)
			}
			call(t, e, "CreateTable", newTable)
			requirePrivateFiles(t, dir) // checked while the engine's other files exist next to the database
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if !exists(filepath.Join(dir, dataFiles[s.kind])) {
				t.Errorf("no %s in the data folder", dataFiles[s.kind])
			}
			// The folder must use the same engine again by default.
			e = mustOpen(t, Options{Data: dir}, newHost(nil))
			if got := call(t, e, "ListTables", "{}"); !strings.Contains(got, "kept") {
				t.Errorf("after a restart the tables are %s", got)
			}
			m := mustOpen(t, Options{Prefer: s.kind}, newHost(nil))
			if got := call(t, m, "ListTables", "{}"); strings.Contains(got, "kept") {
				t.Errorf("a new engine in memory has the tables %s", got)
			}
		})
	}
}

// Ensure the stream of a data folder's table has no records of keys and feeds, and drops those that
// a reader has marked. The numbers of its records must grow even so, also after a restart.
func TestDynoxideStream(t *testing.T) {
	t.Parallel()
	requireEngine(t, findDynoxide)
	dir := t.TempDir()
	e := mustOpen(t, Options{Data: dir, Prefer: Dynoxide}, newHost(nil))
	call(t, e, "CreateTable", `{"TableName": "streamed", "BillingMode": "PAY_PER_REQUEST",
		"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
		"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
		"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}`)
	put := func(pk, sk, more string) {
		call(t, e, "PutItem", fmt.Sprintf(`{"TableName": "streamed", "Item": {"pk": {"S": %q}, "sk": {"S": %q}%s}}`, pk, sk, more))
	}
	requireRecords := func(want string) {
		t.Helper()
		if got := streamRecords(t, e); got != want {
			t.Errorf("the stream has %s, want %s", got, want)
		}
	}
	for _, sk := range []string{"a", "b", "c"} {
		put("co_1#plan", sk, "")
		put("co_1#keys", sk, "")
		put("co_1#changes", sk, "")
	}
	requireRecords("1:a 2:b 3:c")
	put(StreamMark, "read", `, "sequenceNumber": {"S": "2"}`)
	requireRecords("2:b 3:c")
	put(StreamMark, "read", `, "sequenceNumber": {"S": "3"}`)
	requireRecords("3:c")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = mustOpen(t, Options{Data: dir}, newHost(nil))
	put("co_1#plan", "d", "")
	requireRecords("3:c 4:d")
}

// streamRecords returns the number and the sort key of each record in the stream of the only table
// that has one.
func streamRecords(t *testing.T, e *Engine) string {
	t.Helper()
	request := func(op, body string, out any) {
		t.Helper()
		if err := json.Unmarshal([]byte(callTarget(t, e, "DynamoDBStreams_20120810."+op, body)), out); err != nil {
			t.Fatal(err)
		}
	}
	var list struct{ Streams []struct{ StreamArn string } }
	request("ListStreams", "{}", &list)
	arn := list.Streams[0].StreamArn
	var stream struct {
		StreamDescription struct{ Shards []struct{ ShardId string } }
	}
	request("DescribeStream", fmt.Sprintf(`{"StreamArn": %q}`, arn), &stream)
	var start struct{ ShardIterator string }
	request("GetShardIterator", fmt.Sprintf(`{"StreamArn": %q, "ShardId": %q, "ShardIteratorType": "TRIM_HORIZON"}`,
		arn, stream.StreamDescription.Shards[0].ShardId), &start)
	var page struct {
		Records []struct {
			Dynamodb struct {
				SequenceNumber string
				Keys           map[string]struct{ S string }
			}
		}
	}
	request("GetRecords", fmt.Sprintf(`{"ShardIterator": %q}`, start.ShardIterator), &page)
	var records []string
	for _, r := range page.Records {
		records = append(records, r.Dynamodb.SequenceNumber+":"+r.Dynamodb.Keys["sk"].S)
	}
	return strings.Join(records, " ")
}

// requirePrivateFiles checks that only the user can read the files in a folder that everyone can
// list.
func requirePrivateFiles(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 {
		t.Fatalf("the folder has %v, %v", entries, err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", e.Name(), st.Mode(), err)
		}
	}
}

// Ensure processes that install an engine at the same time leave one complete installation.
func TestRealInstallRace(t *testing.T) {
	t.Parallel()
	if os.Getenv("WORKSPACE_TEST_INSTALL") != "1" {
		skipMissing(t, "WORKSPACE_TEST_INSTALL=1 lets the tests run npm")
	}
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			h := newHost(nil)
			h.cacheDir = func() (string, error) { return cache, nil }
			e, err := open(t.Context(), Options{Install: true, Prefer: Dynoxide}, h)
			if err != nil {
				t.Error(err)
				return
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Join(cache, "growth-workspace"))
	if err != nil || len(entries) != 2 {
		t.Errorf("the cache holds %v (%v), want one installation and its lock", entries, err)
	}
}
