package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/fault"
)

// Ensure a restart of the server keeps the key and the data. Only the owner of the key's file can
// read it.
func TestRestart(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	if s.MCPURL != s.BaseURL+"/mcp" || s.CompanyID != demo.CompanyID {
		t.Errorf("%+v, want the tools at /mcp and the company %s", s.Announcement, demo.CompanyID)
	}
	before := exportOf(t, data, s.CompanyID)
	s.stop(t)
	file := filepath.Join(data, "demo-key.json")
	requireSecretFile(t, file)
	again := startServer(t, data)
	if again.Key != s.Key || again.CompanyID != s.CompanyID {
		t.Error("another key or company after a restart")
	}
	if got, body := get(t, s.Key, again.BaseURL+"/v1/companies/"+s.CompanyID+"/feedback?replyStatus=needs_review"); got != 200 || len(body["items"].([]any)) == 0 {
		t.Errorf("status %d, want 200 and the feedback that was there: %v", got, body)
	}
	if after := exportOf(t, data, s.CompanyID); after != before {
		t.Error("the data changed with a restart")
	}
	again.stop(t)

	// The server replaces a key that no longer works, and keeps the company.
	for _, spoil := range []func(){
		func() { _ = os.Remove(file) },
		func() { _ = os.WriteFile(file, []byte("nonsense"), 0o600) },
		func() {
			items := runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any)
			runJSON(t, data, "", "key", "revoke", items[len(items)-1].(map[string]any)["id"].(string), "--company", s.CompanyID)
		},
	} {
		spoil()
		fresh := startServer(t, data)
		if got, _ := get(t, fresh.Key, fresh.BaseURL+"/v1/companies"); got != 200 || fresh.Key == s.Key {
			t.Error(got, "with a replaced key")
		}
		fresh.stop(t)
	}
	if items := runJSON(t, data, "", "company", "list")["items"].([]any); len(items) != 1 {
		t.Errorf("%d companies, want 1: %v", len(items), items)
	}
}

// Ensure two servers can share a data folder. The first one runs the database engine, and the
// engine stops with it. The second server must then exit with an error that says so. It can be
// restarted.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	first := startServer(t, data)
	second := startServer(t, data)
	if first.Key != second.Key {
		t.Error("two keys for one folder")
	}
	if got, body := get(t, second.Key, second.BaseURL+"/v1/companies"); got != 200 {
		t.Errorf("the second server: status %d, want 200: %v", got, body)
	}
	first.stop(t)
	why := "the process that had started the engine of " + data + " has ended, and the engine with it: run this command again"
	if code := <-second.exitCode; code != 1 || !strings.Contains(second.logs.String(), why) {
		t.Errorf("the second server ended with %d, want 1 and %s: %s", code, why, second.logs)
	}
	second.cancel = nil // it has ended
	third := startServer(t, data)
	if got, body := get(t, third.Key, third.BaseURL+"/v1/companies"); got != 200 {
		t.Errorf("a server started again: status %d, want 200: %v", got, body)
	}
}

// Ensure `serve` enforces the limits of package devserver, and refuses requests with an error in
// the API's format.
func TestServeRefusesInTheEnvelope(t *testing.T) {
	t.Parallel()
	s, _ := useServer(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.BaseURL[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/companies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	out, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	if refusal, err := fault.Parse(body); err != nil || out.StatusCode != 413 || refusal.Code != fault.PayloadTooLarge {
		t.Errorf("%s %s: %v; want 413 %s", out.Status, body, err, fault.PayloadTooLarge)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	s, _ := useServer(t)
	addr := s.BaseURL[len("http://"):]
	requireContains(t, runRefused(t, 1, "", "serve", "--addr", addr, "--data", t.TempDir()), addr+" is taken", "--addr")
}
