package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Ensure the key and company commands take effect over HTTP at once, without a restart.
func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	data := folder(t)
	s := startServer(t, data)
	id := newCompany(t, data)
	at := s.BaseURL + "/v1/companies/" + id
	status := func(key, path string, wanted int) {
		t.Helper()
		if got, body := get(t, key, at+path); got != wanted {
			t.Errorf("%s: %d instead of %d: %v", path, got, wanted, body)
		}
	}
	issued := answer(t, data, "", "key", "issue", "--company", id, "--scopes", "company:read, feedback:read", "--name", "bot", "--expires", "90d")
	key, keyID := issued["key"].(string), issued["id"].(string)
	if !strings.HasPrefix(key, "sk_live_") || issued["name"] != "bot" || len(issued["scopes"].([]any)) != 2 || issued["expiresAt"] == nil {
		t.Error(issued)
	}
	status(key, "", 200)
	status(key, "/plan/boards", 401)
	other, _ := get(t, key, s.BaseURL+"/v1/companies/"+s.CompanyID)
	if other != 404 {
		t.Error(other)
	}

	quota := answer(t, data, "", "key", "quota", keyID, "--company", id, "--class", "read", "--limit", "0")
	if quota["id"] != keyID || quota["class"] != "read" || quota["limit"] != 0.0 {
		t.Error(quota)
	}
	status(key, "", 403) // a quota of 0 freezes the class
	answer(t, data, "", "key", "quota", keyID, "--company", id, "--class", "read", "--limit", "1000")

	rotated := answer(t, data, "", "key", "rotate", keyID, "--company", id, "--overlap", "1h")
	fresh := rotated["key"].(string)
	if rotated["replaces"] != keyID || rotated["replacedExpiresAt"] == nil || fresh == key {
		t.Error(rotated)
	}
	status(key, "", 200)
	status(fresh, "", 200)
	want(t, refusal(t, 1, "", "key", "rotate", keyID, "--company", id, "--data", data), "has been rotated")

	if current := answer(t, data, key+"\n", "key", "current"); current["id"] != keyID || current["companyId"] != id || !strings.HasPrefix(current["state"].(string), "works until ") || current["secret"] != nil {
		t.Error(current)
	}

	answer(t, data, "", "company", "suspend", id)
	status(key, "", 403)
	if _, body := get(t, key, at); body["errors"].([]any)[0].(map[string]any)["code"] != "forbidden" {
		t.Error(body)
	}
	status(fresh, "", 403)
	late := answer(t, data, "", "key", "issue", "--company", id, "--scopes", "all")["key"].(string)
	status(late, "", 403)
	answer(t, data, "", "company", "resume", id)
	status(fresh, "", 200)
	status(late, "", 200)

	if revoked := answer(t, data, "", "key", "revoke", keyID, "--company", id); revoked["revokedAt"] == nil {
		t.Error(revoked)
	}
	status(key, "", 401)
	status(fresh, "", 200)
	want(t, call(t, key, "key", "current", "--data", data).out, keyID, id, "revoked ")
	want(t, refusal(t, 1, "", "key", "revoke", keyID, "--company", id, "--data", data), "no key")
	want(t, refusal(t, 1, "", "key", "revoke", "nonsense", "--company", id, "--data", data), "no key")

	items := answer(t, data, "", "key", "list", "--company", id)["items"].([]any)
	if len(items) != 3 || items[0].(map[string]any)["id"] != keyID || items[0].(map[string]any)["key"] != nil {
		t.Error(items)
	}
	r := call(t, "", "key", "list", "--company", id, "--data", data)
	want(t, r.out, "revoked", "works", "bot")
	s.stop(t)
	found, err := os.ReadFile(filepath.Join(data, "dynoxide.db"))
	if err == nil && strings.Contains(string(found), fresh) {
		t.Error("a key is in the table")
	}
}

// Ensure `key current` rejects invalid and unknown keys, and its errors do not repeat the key.
func TestCurrentRefuses(t *testing.T) {
	t.Parallel()
	data := folder(t)
	id := newCompany(t, data)
	key := answer(t, data, "", "key", "issue", "--company", id, "--scopes", "all")["key"].(string)
	elsewhere := folder(t)
	for in, wanted := range map[string]string{
		"": "no valid secret key", key[:len(key)-1]: "no valid secret key", "pk_live_" + key[8:]: "a publishable key",
		key + key: "no valid secret key", key: "not in this table",
	} {
		got := refusal(t, 1, in, "key", "current", "--data", elsewhere)
		if want(t, got, wanted); strings.Contains(got, key[30:60]) {
			t.Error("the key is in the error")
		}
	}
}

// Ensure an overlap of 0s ends the old key at once.
func TestRotateWithoutOverlap(t *testing.T) {
	t.Parallel()
	data := folder(t)
	s := startServer(t, data)
	id := newCompany(t, data)
	issued := answer(t, data, "", "key", "issue", "--company", id, "--scopes", "all")
	answer(t, data, "", "key", "rotate", issued["id"].(string), "--company", id, "--overlap", "0s")
	if got, _ := get(t, issued["key"].(string), s.BaseURL+"/v1/companies/"+id); got != 401 {
		t.Error(got)
	}
}

// Ensure concurrent commands can share the engine of a running server.
func TestListWhileServing(t *testing.T) {
	t.Parallel()
	data := folder(t)
	s := startServer(t, data)
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if items := answer(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any); len(items) != 1 {
				t.Error(items)
			}
		})
		wait.Go(func() {
			if got, body := get(t, s.Key, s.BaseURL+"/v1/companies"); got != 200 {
				t.Error(got, body)
			}
		})
	}
	wait.Wait()
}
