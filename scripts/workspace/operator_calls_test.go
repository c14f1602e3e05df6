package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"growthworkspace/shared/localdb"
)

// countedEngine is an engine behind a proxy that counts the calls to it and their read units.
type countedEngine struct {
	url string

	mu        sync.Mutex
	calls     map[string]int // by action
	readUnits float64
}

func startCountedEngine(t *testing.T) *countedEngine {
	t.Helper()
	dataFolder(t) // skips the test if no engine is installed
	e, err := localdb.Open(t.Context(), localdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	target, err := url.Parse(e.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := &countedEngine{calls: map[string]int{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: c.count}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// count counts a call. For a read that finds nothing, AWS charges half a unit, or one if the read
// is strongly consistent. An engine may report no units.
func (c *countedEngine) count(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, action, isCall := strings.Cut(r.Request.Header.Get("X-Amz-Target"), ".")
	if !isCall { // this request only checks whether the engine is running
		return nil
	}
	type capacity struct{ CapacityUnits float64 }
	var one struct{ ConsumedCapacity capacity }
	var many struct{ ConsumedCapacity []capacity }
	if json.Unmarshal(body, &one) != nil && json.Unmarshal(body, &many) != nil {
		return fmt.Errorf("the response to %s is not JSON: %s", action, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[action]++
	switch action {
	case "Query", "GetItem", "BatchGetItem":
		units := one.ConsumedCapacity.CapacityUnits
		for _, consumed := range many.ConsumedCapacity {
			units += consumed.CapacityUnits
		}
		c.readUnits += max(units, 0.5)
	}
	return nil
}

// run runs a command on the engine and returns its output, the calls it made and the read units it
// used.
func (c *countedEngine) run(t *testing.T, in, line string) (out map[string]any, calls map[string]int, readUnits float64) {
	t.Helper()
	c.mu.Lock()
	c.calls, c.readUnits = map[string]int{}, 0
	c.mu.Unlock()
	r := runCommand(t, in, append(strings.Fields(line), "--json", "--endpoint", c.url)...)
	if r.code != 0 {
		t.Fatalf("%s: exit code %d: %s", line, r.code, r.err)
	}
	if err := json.Unmarshal([]byte(r.out), &out); err != nil && !strings.HasPrefix(line, "export") {
		t.Fatalf("%s: the output is no JSON: %v: %s", line, err, r.out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return out, c.calls, c.readUnits
}

// Ensure the operator's commands never scan the table, except when they delete a company. `company
// list` must use at most two read units per company.
func TestOperatorCalls(t *testing.T) {
	t.Parallel()
	c := startCountedEngine(t)
	runWithoutScan := func(line, in string) (out map[string]any, readUnits float64) {
		t.Helper()
		out, calls, readUnits := c.run(t, in, line)
		if calls["Scan"] > 0 {
			t.Errorf("%s scans the table: %v", line, calls)
		}
		return out, readUnits
	}
	first, _, _ := c.run(t, "", "company create --name First")
	companyID := first["companyId"].(string)
	_, listUnits := runWithoutScan("company list", "")
	t.Logf("company list with 1 company: %v read units", listUnits)
	const more = 12
	for n := range more {
		runWithoutScan(fmt.Sprintf("company create --name N%d", n), "")
	}
	out, readUnits := runWithoutScan("company list", "")
	t.Logf("company list with %d companies: %v read units", 1+more, readUnits)
	if len(out["items"].([]any)) != 1+more || readUnits-listUnits > 2*more {
		t.Errorf("the list of %d companies: %v read units, of one %v: %v", 1+more, readUnits, listUnits, out)
	}
	runWithoutScan("import --company "+companyID+" -", duePost)
	for _, line := range []string{
		"company suspend " + companyID, "company resume " + companyID, "key issue --scopes all --company " + companyID, "key list --company " + companyID, "export --company " + companyID,
		"changes gap", "upgrade", "upgrade --again", "upgrade --check",
	} {
		runWithoutScan(line, "")
	}
	if _, calls, _ := c.run(t, "", "company delete "+companyID+" --yes"); calls["Scan"] == 0 {
		t.Error("company delete does not scan the table: then it no longer has to be an exception")
	}
}
