package studio_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/auth"
)

// newKeyForm returns the form that creates a new key with a name and scopes.
func (s *testStudio) newKeyForm(t *testing.T, name string, scopes ...string) url.Values {
	t.Helper()
	page := s.page(t, "/keys", `" required> <span>`, `name="preset" value="">`) // nothing is chosen
	form := fields(t, page, "newkey")
	form.Set("name", name)
	form["scope"] = scopes
	return form
}

// secretOf returns the secret from the file that a page names.
func secretOf(t *testing.T, body string) string {
	t.Helper()
	m := regexp.MustCompile(`is in the file (\S+), which only you can read`).FindStringSubmatch(visibleText(body))
	if m == nil {
		t.Fatal("no file: ", visibleText(body))
	}
	info, err := os.Stat(m[1])
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o600 {
		t.Fatalf("the file's permissions are %o, want 600", perm)
	}
	text, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// acceptsKey reports whether the service accepts a key.
func (s *testStudio) acceptsKey(t *testing.T, secret string) bool {
	t.Helper()
	return s.Send(t, secret, "GET", "/v1/companies/{companyId}", "").Status == http.StatusOK
}

// keyID returns the id of the key with the given name that has not been replaced by a new key.
func (s *testStudio) keyID(t *testing.T, name string) (id string) {
	t.Helper()
	for _, k := range s.Send(t, s.key, "GET", "/v1/companies/{companyId}/keys", "").Items(t) {
		if k["name"] == name && k["replacedBy"] == nil {
			id = k["id"].(string)
		}
	}
	return id
}

// Ensure sending the form for a new key twice creates one key. The secret in its file works, and
// the key can be rotated and revoked. No response and no log contains a secret.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	var bodies []string
	form := w.newKeyForm(t, "Nightly <import>", "company:read", "plan:read")
	form.Set("expires", "30")
	_, first := w.submit(t, "/keys", form)
	_, row, _ := strings.Cut(first, `<tr id="`+w.keyID(t, "Nightly <import>"))
	row, _, _ = strings.Cut(row, "</tr>")
	checkContains(t, "new", row, "not used yet", "Secret: <code>"+w.folder)
	checkNotContains(t, "new", row, "in use")
	w.Clock.Advance(time.Minute)
	_, again := w.submit(t, "/keys", form)
	secret := secretOf(t, first)
	if secretOf(t, again) != secret || !w.acceptsKey(t, secret) {
		t.Fatal("the second form created another key, or the key does not work")
	}
	bodies = append(bodies, first, again, w.page(t, "/keys"))
	id := w.keyID(t, "Nightly <import>")
	got := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/keys", "").Items(t)
	if len(got) != 2 || id == "" {
		t.Fatalf("%d keys, want 2, one of them with the id %q: %v", len(got), id, got)
	}
	checkContains(t, "listed", bodies[2], "Nightly <import>", "Reads Roadmap and Company", "As scopes: company:read, plan:read", "in use", "this studio")
	prefix := func(secret string) string { return secret[:len("sk_live_")+12] }
	_, overlapping := w.submit(t, "/keys/"+id+"/rotate", url.Values{"form": form["form"], "overlap": {"day"}, "once": {"overlap"}})
	second := secretOf(t, overlapping)
	checkContains(t, "overlapping", overlapping, "replaced by "+prefix(second)+"…", "replaces "+prefix(secret)+"…", "Aug 12, 2026")
	if !w.acceptsKey(t, second) || !w.acceptsKey(t, secret) {
		t.Error("one of two keys that overlap does not work")
	}
	bodies = append(bodies, overlapping)
	old := secret
	secret, id = second, w.keyID(t, "Nightly <import>")
	_, rotated := w.submit(t, "/keys/"+id+"/rotate", url.Values{"form": form["form"], "overlap": {"now"}, "once": {"rotate"}})
	next := secretOf(t, rotated)
	if next == secret || !w.acceptsKey(t, next) || w.acceptsKey(t, secret) {
		t.Error("not rotated")
	}
	_, revoked := w.submit(t, "/keys/"+w.keyID(t, "Nightly <import>")+"/revoke", url.Values{"form": form["form"]})
	checkContains(t, "revoked", revoked, "the service refuses it from now on")
	if w.acceptsKey(t, next) {
		t.Error("not revoked")
	}
	bodies = append(bodies, rotated, revoked, w.page(t, "/keys"))
	for n, body := range bodies {
		checkNotContains(t, "page "+string(rune('0'+n)), body, old, secret, next, w.key)
	}
	checkNotContains(t, "the log", w.logs.String(), old, secret, next, w.key)
}

// Ensure the preset for a drafting agent creates a key with the same scopes as on the command line,
// no matter which scopes are ticked. It must work even with a studio key that was issued before the
// drafting scopes existed. A studio key that lacks some of the preset's scopes must still grant the
// remaining ones.
func TestKeyForDraftingAgent(t *testing.T) {
	t.Parallel()
	old := slices.DeleteFunc(auth.Scopes(), func(s auth.Scope) bool { return strings.HasSuffix(string(s), ":draft") })
	for _, c := range []struct{ own, want []auth.Scope }{
		{auth.Scopes(), auth.DraftingAgentScopes()}, {old, auth.DraftingAgentScopes()},
		{[]auth.Scope{auth.KeysRead, auth.KeysWrite, auth.FeedbackWrite, auth.CompanyRead}, []auth.Scope{auth.CompanyRead, auth.FeedbackDraft}},
	} {
		w := newTestStudio(t, c.own...)
		form := w.newKeyForm(t, "Drafts", "keys:write")
		form.Set("preset", "drafting-agent")
		_, body := w.submit(t, "/keys", form)
		key := w.Send(t, secretOf(t, body), "GET", "/v1/companies/{companyId}/keys/current", "").JSON(t)
		if got, want := fmt.Sprint(key["scopes"]), fmt.Sprint(c.want); got != want {
			t.Errorf("a studio with %v: the key has the scopes %s, want %s", c.own, got, want)
		}
	}
}

// Ensure each preset creates a key with its scopes, and the list says in words what each key may
// do.
func TestKeyPresets(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for preset, want := range map[string]struct{ scopes, words string }{
		"ci":        {"[metrics:write]", "Edits Metrics"},
		"reviews":   {"[feedback:write]", "Edits Reviews"},
		"sender":    {"[feedback:send broadcast:send]", "Sends Reviews and Posts"},
		"read-only": {"[company:read plan:read feedback:read metrics:read optimise:read broadcast:read context:read]", "Reads everything but the keys"},
	} {
		form := w.newKeyForm(t, preset)
		form.Set("preset", preset)
		_, body := w.submit(t, "/keys", form)
		key := w.Send(t, secretOf(t, body), "GET", "/v1/companies/{companyId}/keys/current", "").JSON(t)
		if got := fmt.Sprint(key["scopes"]); got != want.scopes {
			t.Errorf("%s: the key has the scopes %s, want %s", preset, got, want.scopes)
		}
		checkContains(t, preset, body, want.words, "workspace key quota KEY_ID --company "+w.CompanyID, "Id: "+fmt.Sprint(key["id"]))
	}
	few := newTestStudio(t, auth.KeysRead, auth.KeysWrite, auth.PlanRead)
	body := few.page(t, "/keys", "Viewing only", "Something else", "Reads Roadmap; edits Keys")
	checkNotContains(t, "a key that grants little", body, "A program that sends", "CI or a job")
}

// Ensure the page keeps the typed values if the service refuses to create a key. A user can revoke
// the key that the studio itself uses, and the page then says that this has happened.
func TestKeysRefused(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	status, body := w.submit(t, "/keys", w.newKeyForm(t, strings.Repeat("n", 201), "plan:read"))
	checkContains(t, "refused", body, "No key was created.", strings.Repeat("n", 201), "must have at most 200 characters")
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	for _, m := range regexp.MustCompile(`name="scope" value="([^"]*)"( checked)?`).FindAllStringSubmatch(body, -1) {
		if (m[2] != "") != (m[1] == "plan:read") {
			t.Errorf("%s is ticked: %v", m[1], m[2] != "")
		}
	}
	own := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/keys/current", "").JSON(t)["id"].(string)
	form := fields(t, body, "newkey")
	_, body = w.submit(t, "/keys/"+own+"/revoke", url.Values{"form": form["form"]})
	checkContains(t, "its own", body, "It was the key of this studio")
}

// Ensure the page reports that a secret could not be stored, and names the id of the key so that
// the user can revoke the key.
func TestSecretNotStored(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	if err := os.WriteFile(filepath.Join(w.folder, "secrets"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, body := w.submit(t, "/keys", w.newKeyForm(t, "Lost", "plan:read"))
	checkContains(t, "lost", body, "The key "+w.keyID(t, "Lost")+" was created, but its secret could not be stored")
}

// Ensure a user whose key lacks keys:read sees no keys. A user whose key lacks only keys:write sees
// the keys but cannot change them.
func TestKeysScopes(t *testing.T) {
	t.Parallel()
	noScope := newTestStudio(t, auth.CompanyRead)
	if status, body := noScope.get(t, "/keys"); status != http.StatusForbidden || !strings.Contains(visibleText(body), "This key lacks the scope keys:read") {
		t.Errorf("status %d, want 403 with the missing scope: %s", status, visibleText(body))
	}
	reader := newTestStudio(t, auth.CompanyRead, auth.KeysRead)
	body := reader.page(t, "/keys")
	checkContains(t, "reader", body, "This key lacks keys:write")
	checkNotContains(t, "reader", body, "Rotate", "New key")
	reader.transport.respondWith(func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/keys") {
			return nil
		}
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result()
	})
	if status, _ := reader.get(t, "/keys"); status != http.StatusBadGateway {
		t.Errorf("status %d, want 502", status)
	}
}
