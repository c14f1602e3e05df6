package engine

import (
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

// call sends a request as a client of DynamoDB would. Neither engine checks the signature, only its
// format.
func call(t *testing.T, e *Engine, op, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.Endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Format("20060102T150405Z")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
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
		t.Fatalf("%s: status %s, want 200: %s %v", op, res.Status, b, err)
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
			// Earlier versions left the database readable.
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
