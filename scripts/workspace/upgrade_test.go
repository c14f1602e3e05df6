package main

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/engine"
)

// Ensure the upgrade command reports its result for one company and for all, shows its progress,
// and can be repeated. The tests in shared/migration cover what an upgrade changes.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	company, _ := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	runJSON(t, data, "", "company", "create", "--name", "Two")
	lines := `{"type":"feedback","record":{"source":"reddit","externalId":"1","postedAt":"2026-08-01T00:00:00Z"}}`
	runJSON(t, data, lines, "import", "--company", company, "-")
	for _, args := range []string{"upgrade", "upgrade --again", "upgrade --again --company " + company} {
		got := runJSON(t, data, "", strings.Fields(args)...)
		want := 2.0
		if strings.Contains(args, company) {
			want = 1
		}
		if got["companies"] != want || got["filled"] != 0.0 {
			t.Errorf("%s: %v, want %v companies and nothing filled", args, got, want)
		}
	}
	r := runCommand(t, "", "upgrade", "--again", "--company", company, "--data", data)
	requireContains(t, r.err, "feedback: posted: company 1 of 1, "+company+": checked records: 1")
	requireContains(t, r.out, "companies that are up to date: 1; records put into an index: 0")
	r = runCommand(t, "", "upgrade", "--check", "--data", data)
	requireContains(t, r.out, "company: registry  yes", "feedback: posted ", "feedback: work ", "broadcast: work ")
	if r := runCommand(t, "", "upgrade", "--check", "--again", "--data", data); r.code != 2 {
		t.Errorf("--check with --again: exit code %d, want 2: %s", r.code, r.err)
	}
}

// Ensure a new table outside a data folder needs no upgrade. If a table has records that an earlier
// version stored, the operator's commands must say that it needs an upgrade until it has been
// upgraded.
func TestUpgradeReminder(t *testing.T) {
	t.Parallel()
	dataFolder(t) // skips the test if no engine is installed
	e, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	target, err := url.Parse(e.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var denied atomic.Value // the action that the role is not allowed to use
	denied.Store("-")
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+denied.Load().(string)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"made up"}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	const reminder = "has records of an earlier version"
	runOn := func(table string, args ...string) commandResult {
		t.Helper()
		r := runCommand(t, "", append(args, "--endpoint", front.URL, "--table", table)...)
		if r.code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, r.code, r.err)
		}
		return r
	}
	if r := runOn("new", "company", "create", "--name", "One"); strings.Contains(r.err, reminder) {
		t.Errorf("a new table: %s", r.err)
	}
	requireContains(t, runOn("new", "upgrade", "--check").out, "feedback: posted", "yes")

	runOn("older", "due", "list", "--company", "all") // creates the table without reading the migrations' marks
	putOlderRecord(t, e, "older")
	r := runOn("older", "company", "list")
	requireContains(t, r.err, "table older at "+front.URL+" "+reminder, "upgrade --table older --endpoint "+front.URL)
	requireContains(t, runOn("older", "upgrade", "--check").out, "feedback: posted", "no: run")
	denied.Store("Scan") // a role that may not scan cannot find out whether the table is empty
	requireContains(t, runCommand(t, "", "company", "list", "--endpoint", front.URL, "--table", "older").err, reminder)
	denied.Store("BatchGetItem")
	if r := runOn("older", "company", "list"); strings.Contains(r.err, reminder) {
		t.Errorf("a role that cannot read the marks: %s", r.err)
	}
	denied.Store("-")
	requireContains(t, runOn("older", "upgrade").out, "companies that are up to date: 0")
	if r := runOn("older", "company", "list"); strings.Contains(r.err, reminder) {
		t.Errorf("after the upgrade: %s", r.err)
	}
	requireContains(t, runOn("older", "upgrade", "--check").out, "feedback: posted", "yes")
}

// putOlderRecord stores a record in a table without writing a migration's mark.
func putOlderRecord(t *testing.T, e *engine.Engine, name string) {
	t.Helper()
	o := table.Options{
		Name: name, Endpoint: e.Endpoint, Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Transport: engine.Transport(e.Socket), Now: time.Now, NewID: id.NewGenerator(time.Now, rand.Reader),
	}
	key := table.Key{PK: table.Partition("co_1", "feedback"), SK: "feedback#fbk_1"}
	if err := table.New(o).AsOperator().BatchPut(t.Context(), []table.Item{{"pk": table.String(key.PK), "sk": table.String(key.SK)}}); err != nil {
		t.Fatal(err)
	}
}
