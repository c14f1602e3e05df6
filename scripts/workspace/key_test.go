package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Ensure the commands that change keys and companies take effect immediately in a running server.
func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	id := newCompany(t, data)
	companyURL := s.BaseURL + "/v1/companies/" + id
	requireStatus := func(key, path string, wanted int) {
		t.Helper()
		if got, body := get(t, key, companyURL+path); got != wanted {
			t.Errorf("%s: %d instead of %d: %v", path, got, wanted, body)
		}
	}
	issued := runJSON(t, data, "", "key", "issue", "--company", id, "--scopes", "company:read, feedback:read", "--name", "bot", "--expires", "90d")
	key, keyID := issued["key"].(string), issued["id"].(string)
	if !strings.HasPrefix(key, "sk_live_") || issued["expiresAt"] == nil {
		t.Errorf("key %q expires at %v, want sk_live_... and a time", key, issued["expiresAt"])
	}
	if scopes := issued["scopes"].([]any); issued["name"] != "bot" || len(scopes) != 2 {
		t.Errorf("name %v and scopes %v, want bot and 2 scopes", issued["name"], scopes)
	}
	requireStatus(key, "", 200)
	requireStatus(key, "/plan/boards", 401)
	quota := runJSON(t, data, "", "key", "quota", keyID, "--company", id, "--class", "read", "--limit", "0")
	if diff := objectDifference(map[string]any{"id": keyID, "class": "read", "limit": 0.0}, quota); diff != "" {
		t.Errorf("changed quota (-want +got):\n%s", diff)
	}
	requireStatus(key, "", 403) // a quota of 0 blocks every request to which the quota applies
	runJSON(t, data, "", "key", "quota", keyID, "--company", id, "--class", "read", "--limit", "1000")

	rotated := runJSON(t, data, "", "key", "rotate", keyID, "--company", id, "--overlap", "1h")
	fresh := rotated["key"].(string)
	if rotated["replaces"] != keyID || rotated["replacedExpiresAt"] == nil || fresh == key {
		t.Errorf("rotated key %v, want another that replaces %s, and the end of that one", rotated, keyID)
	}
	requireStatus(key, "", 200)
	requireStatus(fresh, "", 200)
	requireContains(t, runRefused(t, 1, "", "key", "rotate", keyID, "--company", id, "--data", data), "has been rotated")

	current := runJSON(t, data, key+"\n", "key", "current")
	if diff := objectDifference(map[string]any{"id": keyID, "companyId": id, "secret": nil}, current); diff != "" {
		t.Errorf("current key (-want +got):\n%s", diff)
	}
	if state := current["state"].(string); !strings.HasPrefix(state, "works until ") {
		t.Errorf("the rotated key's state is %q, want works until ...", state)
	}

	runJSON(t, data, "", "company", "suspend", id)
	requireStatus(key, "", 403)
	if _, body := get(t, key, companyURL); body["errors"].([]any)[0].(map[string]any)["code"] != "forbidden" {
		t.Errorf("a key of a suspended company: %v, want forbidden", body)
	}
	runJSON(t, data, "", "company", "resume", id)
	requireStatus(fresh, "", 200)

	if revoked := runJSON(t, data, "", "key", "revoke", keyID, "--company", id); revoked["revokedAt"] == nil {
		t.Errorf("revokedAt is missing: %v", revoked)
	}
	requireStatus(key, "", 401)
	requireStatus(fresh, "", 200)
	requireContains(t, runCommand(t, key, "key", "current", "--data", data).out, keyID, id, "revoked ")
	requireContains(t, runRefused(t, 1, "", "key", "revoke", keyID, "--company", id, "--data", data), "no key")
	requireContains(t, runRefused(t, 1, "", "key", "revoke", "nonsense", "--company", id, "--data", data), "no key")

	items := runJSON(t, data, "", "key", "list", "--company", id)["items"].([]any)
	if len(items) != 2 || items[0].(map[string]any)["id"] != keyID || items[0].(map[string]any)["key"] != nil {
		t.Errorf("%d keys, want 2 that begin with %s without its secret: %v", len(items), keyID, items)
	}
	r := runCommand(t, "", "key", "list", "--company", id, "--data", data)
	requireContains(t, r.out, "revoked", "works", "bot")
	s.stop(t)
	found, err := os.ReadFile(filepath.Join(data, "dynoxide.db"))
	if err == nil && strings.Contains(string(found), fresh) {
		t.Error("a key is in the table")
	}
}

// Ensure `key current` rejects invalid and unknown keys. Its errors do not contain the key.
func TestKeyCurrentRefuses(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	key := runJSON(t, data, "", "key", "issue", "--company", id, "--scopes", "all")["key"].(string)
	otherData := dataFolder(t)
	for in, wanted := range map[string]string{
		"": "no valid secret key", key[:len(key)-1]: "no valid secret key", "pk_live_" + key[8:]: "a publishable key",
		key + key: "no valid secret key", key: "not in this table",
	} {
		got := runRefused(t, 1, in, "key", "current", "--data", otherData)
		if requireContains(t, got, wanted); strings.Contains(got, key[30:60]) {
			t.Error("the key is in the error")
		}
	}
}

// Ensure concurrent commands can use the database engine of a running server.
func TestListWhileServing(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if items := runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any); len(items) != 1 {
				t.Errorf("%d keys, want 1: %v", len(items), items)
			}
		})
		wait.Go(func() {
			if got, body := get(t, s.Key, s.BaseURL+"/v1/companies"); got != 200 {
				t.Errorf("status %d, want 200: %v", got, body)
			}
		})
	}
	wait.Wait()
}

// Ensure the preset for a drafting agent issues a key that can only read and draft. An unknown
// preset, or a preset together with --scopes, must be refused.
func TestKeyPreset(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	issued := runJSON(t, data, "", "key", "issue", "--company", id, "--preset", "drafting-agent")
	want := []any{"company:read", "plan:read", "feedback:draft", "metrics:read", "optimise:read", "broadcast:draft", "context:read"}
	if scopes := issued["scopes"].([]any); !slices.Equal(scopes, want) {
		t.Errorf("scopes %v, want %v", scopes, want)
	}
	for _, c := range []struct {
		args    []string
		wantErr string
	}{
		{[]string{"--preset", "drafting-agent", "--scopes", "all"}, "leave out --scopes"},
		{[]string{"--preset", "reader"}, "the only one is drafting-agent"},
	} {
		requireContains(t, runRefused(t, 2, "", append([]string{"key", "issue", "--company", id, "--data", data}, c.args...)...), c.wantErr)
	}
}
