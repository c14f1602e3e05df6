package company_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/company"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

const keysPath = "/v1/companies/{companyId}/keys"

// issuedKey is the response to creating or rotating a key.
type issuedKey struct{ ID, Secret string }

func createKey(t *testing.T, s *apitest.Service, key, body string) issuedKey {
	t.Helper()
	return issuedKeyOf(t, s.Send(t, key, "POST", keysPath, body))
}

func rotateKey(t *testing.T, s *apitest.Service, key, keyID, body string) issuedKey {
	t.Helper()
	return issuedKeyOf(t, s.Send(t, key, "POST", keysPath+"/"+keyID+"/rotate", body))
}

func issuedKeyOf(t *testing.T, r apitest.Response) (out issuedKey) {
	t.Helper()
	if r.Decode(t, &out); r.Status != http.StatusOK || out.ID == "" || !strings.HasPrefix(out.Secret, "sk_live_") {
		t.Fatalf("status %d, want 200, an id and a secret: %s", r.Status, r.Body)
	}
	return out
}

func checkKeyStatus(t *testing.T, s *apitest.Service, key string, want int) {
	t.Helper()
	if r := s.Send(t, key, "GET", keysPath+"/current", ""); r.Status != want {
		t.Errorf("got %d, want %d: %s", r.Status, want, r.Body)
	}
}

func requireError(t *testing.T, r apitest.Response, status int, want ...string) {
	t.Helper()
	_, messages := r.Messages(t)
	if diff := cmp.Diff(want, messages); r.Status != status || diff != "" {
		t.Errorf("got %d, want %d\n%s", r.Status, status, diff)
	}
}

func keysByID(t *testing.T, s *apitest.Service, key string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, k := range s.Send(t, key, "GET", keysPath+"?limit=200", "").Items(t) {
		out[k["id"].(string)] = k
	}
	return out
}

// Ensure a new key has the requested name, scopes and expiry, and its record does not contain the
// secret.
func TestCreateKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	r := s.Send(t, admin, "POST", keysPath, `{"name":"ci","scopes":["plan:read","company:read","plan:read"],"expiresAt":"2026-08-12T11:30:00.5+02:00"}`)
	key := issuedKeyOf(t, r)
	record := map[string]any{
		"id": key.ID, "companyId": s.CompanyID, "name": "ci", "kind": "secret", "prefix": key.Secret[:20], "scopes": []any{"plan:read", "company:read"},
		"apiVersion": fault.Version, "createdAt": "2026-08-11T09:30:00.000Z", "lastUsedAt": nil, "expiresAt": "2026-08-12T09:30:00.500Z", "revokedAt": nil, "replacedBy": nil,
	}
	response := r.JSON(t)
	delete(response, "secret")
	if diff := cmp.Diff(record, response); diff != "" {
		t.Errorf("created key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(record, keysByID(t, s, admin)[key.ID]); diff != "" {
		t.Errorf("listed key (-want +got):\n%s", diff)
	}
	s.Clock.Advance(time.Minute)
	record["lastUsedAt"] = "2026-08-11T09:31:00.000Z"
	if diff := cmp.Diff(record, s.Send(t, key.Secret, "GET", keysPath+"/current", "").JSON(t)); diff != "" {
		t.Errorf("current key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(record, keysByID(t, s, admin)[key.ID]); diff != "" {
		t.Errorf("listed key after a use (-want +got):\n%s", diff)
	}
	if r := s.Send(t, key.Secret, "GET", "/v1/companies/{companyId}", ""); r.Status != 200 {
		t.Errorf("a request within the key's scopes: %d", r.Status)
	}
	requireError(t, s.Send(t, key.Secret, "GET", keysPath, ""), 401, "the key lacks the scope keys:read")
	s.Clock.Advance(24*time.Hour - time.Minute)
	checkKeyStatus(t, s, key.Secret, 200)
	s.Clock.Advance(500 * time.Millisecond)
	checkKeyStatus(t, s, key.Secret, 401)
	if never := createKey(t, s, admin, `{"name":"x","scopes":["keys:read"]}`); keysByID(t, s, admin)[never.ID]["expiresAt"] != nil {
		t.Error("a key without expiresAt expires")
	}
}

// Ensure an invalid request to create a key returns all of its errors and creates no key.
func TestCreateKeyRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	scopes := strings.Join(auth.Scope("").Values(), ", ")
	for body, want := range map[string][]string{
		`{}`:                      {"body.name: is required", "body.scopes: is required"},
		`{"name":"","scopes":[]}`: {"body.name: must not be empty", "body.scopes: must have 1 to 50 elements, has 0"},
		`{"name":"x","scopes":["keys:read","all"]}`:                                              {"body.scopes[1]: must be one of " + scopes},
		`{"name":"x","scopes":["keys:read"],"expiresAt":"tomorrow"}`:                             {"body.expiresAt: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z"},
		`{"name":"x","scopes":["keys:read"],"expiresAt":"2026-08-11T09:30:00Z"}`:                 {"body.expiresAt: must be in the future"},
		`{"name":"x","scopes":["keys:read"],"expiresAt":"2026-08-11T09:30:00.0009Z"}`:            {"body.expiresAt: must be in the future"},
		`{"name":"x","scopes":["keys:read"],"secret":"s","kind":"publishable"}`:                  {"body.secret: unknown property", "body.kind: unknown property"},
		`{"name":"` + strings.Repeat("é", 201) + `","scopes":["keys:read"],"expiresAt":"never"}`: {"body.name: must have at most 200 characters, has 201", "body.expiresAt: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z"},
	} {
		requireError(t, s.Send(t, admin, "POST", keysPath, body), 400, want...)
	}
	if all := keysByID(t, s, admin); len(all) != 1 {
		t.Errorf("%d keys", len(all))
	}
}

// Ensure a key can grant only scopes that it has, whether it creates or rotates a key.
func TestKeyGrantsOnlyItsScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin, limitedKey := s.IssueKey(t), s.IssueKey(t, auth.KeysWrite, auth.PlanRead)
	strong := createKey(t, s, admin, `{"name":"strong","scopes":["plan:read","plan:publish","feedback:write"]}`)
	weak := createKey(t, s, limitedKey, `{"name":"weak","scopes":["plan:read"]}`)
	r := s.Send(t, limitedKey, "POST", keysPath, `{"name":"x","scopes":["plan:publish","plan:read","keys:read","plan:publish"]}`)
	requireError(t, r, 401, "the key lacks the scope plan:publish, so it cannot grant it", "the key lacks the scope keys:read, so it cannot grant it")
	if code, _ := r.Messages(t); code != "unauthorised" || r.Header.Get("WWW-Authenticate") != "Bearer" || r.Header.Get("RateLimit-Limit") != "120" {
		t.Errorf("code %s, want unauthorised, with the challenge Bearer and the limit 120: %v", code, r.Header)
	}
	requireError(t, s.Send(t, limitedKey, "POST", keysPath+"/"+strong.ID+"/rotate", `{}`), 401,
		"the key lacks the scope plan:publish, so it cannot grant it", "the key lacks the scope feedback:write, so it cannot grant it")
	checkKeyStatus(t, s, rotateKey(t, s, limitedKey, weak.ID, `{}`).Secret, 200)
	all := keysByID(t, s, admin)
	if len(all) != 5 || all[strong.ID]["replacedBy"] != nil || all[strong.ID]["expiresAt"] != nil {
		t.Errorf("%d keys, want 5; strong is %v, want it without replacedBy and expiresAt", len(all), all[strong.ID])
	}
	if r := s.Send(t, limitedKey, "DELETE", keysPath+"/"+strong.ID, ""); r.Status != 200 { // a key may revoke one with more scopes, because that grants nothing
		t.Errorf("revoke: status %d, want 200: %s", r.Status, r.Body)
	}
}

// Ensure a key can grant and rotate keys with scopes that its own scopes contain, but not with
// scopes that contain its own.
func TestKeyGrantsContainedScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	for _, area := range []string{"feedback:", "broadcast:"} {
		scopes := []string{area + "read", area + "draft", area + "write"} // from the narrowest to the widest
		for n, own := range scopes {
			limitedKey := s.IssueKey(t, auth.KeysWrite, auth.Scope(own))
			for m, granted := range scopes {
				target := createKey(t, s, admin, `{"name":"x","scopes":["`+granted+`"]}`)
				for _, r := range []apitest.Response{
					s.Send(t, limitedKey, "POST", keysPath, `{"name":"x","scopes":["`+granted+`"]}`),
					s.Send(t, limitedKey, "POST", keysPath+"/"+target.ID+"/rotate", `{}`),
				} {
					if m > n {
						requireError(t, r, 401, "the key lacks the scope "+granted+", so it cannot grant it")
					} else if scopes := r.JSON(t)["scopes"]; r.Status != 200 || !slices.Equal(scopes.([]any), []any{granted}) {
						t.Errorf("%s grants %s: status %d with %v, want 200 with exactly that scope", own, granted, r.Status, scopes)
					}
				}
			}
		}
	}
}

// Ensure both keys of a rotation work until the overlap ends, by default after one day. A key must
// be able to rotate itself.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	old := createKey(t, s, admin, `{"name":"ci","scopes":["keys:write","keys:read"]}`)
	fresh := rotateKey(t, s, old.Secret, old.ID, `{}`)
	all := keysByID(t, s, admin)
	want := map[string]any{
		"old replacedBy": fresh.ID, "old expiresAt": "2026-08-12T09:30:00.000Z",
		"new name": "ci", "new expiresAt": nil, "new scopes": []any{"keys:write", "keys:read"},
	}
	if diff := cmp.Diff(want, map[string]any{
		"old replacedBy": all[old.ID]["replacedBy"], "old expiresAt": all[old.ID]["expiresAt"],
		"new name": all[fresh.ID]["name"], "new expiresAt": all[fresh.ID]["expiresAt"], "new scopes": all[fresh.ID]["scopes"],
	}); diff != "" {
		t.Errorf("keys after the rotation (-want +got):\n%s", diff)
	}
	if fresh.Secret == old.Secret {
		t.Error("both keys have the same secret")
	}
	requireError(t, s.Send(t, admin, "POST", keysPath+"/"+old.ID+"/rotate", `{}`), 409, "the key has been rotated: "+fresh.ID+" replaces it")
	s.Clock.Advance(24*time.Hour - time.Millisecond)
	checkKeyStatus(t, s, old.Secret, 200)
	s.Clock.Advance(time.Millisecond)
	checkKeyStatus(t, s, old.Secret, 401)
	checkKeyStatus(t, s, fresh.Secret, 200)
	requireError(t, s.Send(t, admin, "POST", keysPath+"/"+old.ID+"/rotate", `{}`), 404, "no such record")
	last := rotateKey(t, s, fresh.Secret, fresh.ID, `{"overlapSeconds":0}`)
	checkKeyStatus(t, s, fresh.Secret, 401)
	checkKeyStatus(t, s, last.Secret, 200)
	for _, seconds := range []string{"-1", "2592001", "1.5", `"60"`} {
		requireError(t, s.Send(t, admin, "POST", keysPath+"/"+last.ID+"/rotate", `{"overlapSeconds":`+seconds+`}`), 400, overlapSecondsProblem(seconds))
	}
	checkKeyStatus(t, s, rotateKey(t, s, admin, last.ID, `{"overlapSeconds":2592000}`).Secret, 200)
}

func overlapSecondsProblem(seconds string) string {
	if seconds == "1.5" || seconds == `"60"` {
		return "body.overlapSeconds: must be a whole number, between 0 and 2592000"
	}
	return "body.overlapSeconds: must be between 0 and 2592000"
}

// Ensure a revoked key is rejected at once and keeps its record. A key can revoke itself. Revoking
// a key again returns not_found.
func TestRevokeKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	key := createKey(t, s, admin, `{"name":"x","scopes":["keys:write"]}`)
	checkKeyStatus(t, s, key.Secret, 200)
	r := s.Send(t, admin, "DELETE", keysPath+"/"+key.ID, "")
	if diff := cmp.Diff(map[string]any{"id": key.ID, "deleted": true}, r.JSON(t)); diff != "" {
		t.Errorf("revoke (-want +got):\n%s", diff)
	}
	checkKeyStatus(t, s, key.Secret, 401)
	if got := keysByID(t, s, admin)[key.ID]["revokedAt"]; got != "2026-08-11T09:30:00.000Z" {
		t.Errorf("revoked at %v", got)
	}
	for _, method := range []string{"DELETE", "POST"} {
		target, body := keysPath+"/"+key.ID, ""
		if method == "POST" {
			target, body = target+"/rotate", "{}"
		}
		requireError(t, s.Send(t, admin, method, target, body), 404, "no such record")
	}
	self := createKey(t, s, admin, `{"name":"x","scopes":["keys:write"]}`)
	if r := s.Send(t, self.Secret, "DELETE", keysPath+"/"+self.ID, ""); r.Status != 200 {
		t.Errorf("itself: %d %s", r.Status, r.Body)
	}
	checkKeyStatus(t, s, self.Secret, 401)
}

// Ensure a revoke with an earlier ETag in If-Match fails if the key has been rotated since, but not
// if it has only been used.
func TestRevokeKeyIfMatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	created := s.Send(t, admin, "POST", keysPath, `{"name":"x","scopes":["keys:read"]}`)
	key, etag := issuedKeyOf(t, created), created.Header.Get("ETag")
	s.Clock.Advance(time.Minute)
	used := s.Send(t, key.Secret, "GET", keysPath+"/current", "")
	if used.Header.Get("ETag") != etag || used.JSON(t)["lastUsedAt"] == nil {
		t.Errorf("the ETag is %s after a use of the key, %s before", used.Header.Get("ETag"), etag)
	}
	rotateKey(t, s, admin, key.ID, `{}`)
	currentETag := s.Send(t, key.Secret, "GET", keysPath+"/current", "").Header.Get("ETag")
	requireError(t, s.Send(t, admin, "DELETE", keysPath+"/"+key.ID, "", "If-Match", etag), 412, "header.If-Match: the record has changed since; read it again")
	if r := s.Send(t, admin, "DELETE", keysPath+"/"+key.ID, "", "If-Match", currentETag); r.Status != 200 {
		t.Errorf("revoke of the key as it is now: status %d, want 200: %s", r.Status, r.Body)
	}
	requireError(t, s.Send(t, admin, "DELETE", keysPath+"/"+key.ID, "", "If-Match", etag), 404, "no such record")
}

// Ensure requests for a different company's key return not_found.
func TestKeysOfOtherCompany(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t)
	admin, otherKey := s.IssueKey(t), createKey(t, other, other.IssueKey(t), `{"name":"x","scopes":["keys:read"]}`)
	for _, request := range [][3]string{
		{"DELETE", keysPath + "/" + otherKey.ID, ""}, {"POST", keysPath + "/" + otherKey.ID + "/rotate", "{}"},
		{"DELETE", strings.ReplaceAll(keysPath, "{companyId}", other.CompanyID) + "/" + otherKey.ID, ""},
		{"GET", strings.ReplaceAll(keysPath, "{companyId}", other.CompanyID), ""},
		{"GET", strings.ReplaceAll(keysPath, "{companyId}", other.CompanyID) + "/current", ""},
	} {
		requireError(t, s.Send(t, admin, request[0], request[1], request[2]), 404, "no such record")
	}
	checkKeyStatus(t, other, otherKey.Secret, 200)
	if all := keysByID(t, s, admin); len(all) != 1 || all[otherKey.ID] != nil {
		t.Errorf("keys %v, want one, which is not %s", all, otherKey.ID)
	}
	if r := s.Send(t, admin, "DELETE", keysPath+"/current", ""); r.Status != 405 || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE of current: status %d and Allow %q, want 405 and GET, HEAD", r.Status, r.Header.Get("Allow"))
	}
}

// Ensure keys are paged oldest first, without gaps or repeats.
func TestListKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := s.IssueKey(t)
	var want []string
	for n := range 7 {
		s.Clock.Advance(time.Millisecond)
		want = append(want, createKey(t, s, admin, fmt.Sprintf(`{"name":"%d","scopes":["keys:read"]}`, n)).ID)
	}
	var got []string
	args := map[string]any{"limit": 3}
	for range 3 {
		r := s.Call(t, admin, "list_keys", args)
		for _, k := range r.Items(t) {
			got = append(got, k["id"].(string))
		}
		args["cursor"], _ = r.NextCursor(t)
	}
	if args["cursor"] != "" || len(got) != 8 || !slices.Equal(got[1:], want) {
		t.Errorf("got %v, want the first key and %v; the last arguments are %v", got, want, args)
	}
	for _, limit := range []string{"0", "201", "x"} {
		if r := s.Send(t, admin, "GET", keysPath+"?limit="+limit, ""); r.Status != 400 {
			t.Errorf("limit %s: %d", limit, r.Status)
		}
	}
}

// Ensure a request that creates or rotates a key creates none if the key that sent it is revoked
// during the request. Otherwise a thief could keep a new key after the stolen one is revoked.
func TestRevokedWhileGranting(t *testing.T) {
	t.Parallel()
	transport := &apitest.BeforeMatch{Matches: apitest.IsTransaction}
	s := apitest.NewWithTransport(t, company.Operations, transport)
	admin := s.IssueKey(t)
	old := createKey(t, s, admin, `{"name":"x","scopes":["keys:read"]}`)
	for _, request := range [][2]string{{keysPath, `{"name":"x","scopes":["keys:read"]}`}, {keysPath + "/" + old.ID + "/rotate", `{}`}} {
		stolen := createKey(t, s, admin, `{"name":"stolen","scopes":["keys:read","keys:write"]}`)
		before := len(keysByID(t, s, admin))
		transport.Run = func() {
			if _, err := s.Keys.Revoke(t.Context(), s.CompanyID, stolen.ID); err != nil {
				t.Error(err)
			}
		}
		requireError(t, s.Send(t, stolen.Secret, "POST", request[0], request[1]), 401, "missing, unknown or revoked key; send Authorization: Bearer <secret key>")
		if all := keysByID(t, s, admin); transport.Run != nil || len(all) != before || all[old.ID]["replacedBy"] != nil {
			t.Errorf("%s: %d keys, want %d and no key that replaces %s; revoked meanwhile: %t: %v", request[0], len(all), before, old.ID, transport.Run == nil, all)
		}
	}
	self := createKey(t, s, admin, `{"name":"x","scopes":["keys:write"]}`)
	transport.Run = func() {
		if _, err := s.Keys.Revoke(t.Context(), s.CompanyID, self.ID); err != nil {
			t.Error(err)
		}
	}
	if r := s.Send(t, self.Secret, "POST", keysPath+"/"+self.ID+"/rotate", `{}`); r.Status != 401 && r.Status != 404 {
		t.Errorf("itself: %d %s", r.Status, r.Body)
	}
	if keysByID(t, s, admin)[self.ID]["replacedBy"] != nil {
		t.Error("a revoked key was rotated")
	}
}

// Ensure no secret appears in the log, in a record, or in any response except the one that issues
// it.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := start(t)
	s.Handler = api.New(company.Operations(s.ServingTable), s.Config(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	admin := s.IssueKey(t)
	key := createKey(t, s, admin, `{"name":"x","scopes":["keys:read","keys:write"]}`)
	fresh := rotateKey(t, s, key.Secret, key.ID, `{}`)
	secrets := []string{admin, key.Secret, fresh.Secret}
	var responses strings.Builder
	for _, secret := range secrets {
		for _, request := range [][3]string{
			{"GET", keysPath, ""}, {"GET", keysPath + "/current", ""}, {"GET", keysPath + "?key=" + secret, ""}, {"GET", keysPath + "?limit=" + secret, ""},
			{"POST", keysPath, `{"name":"x","scopes":["` + auth.SecretPrefix + `"]}`}, {"POST", keysPath + "/" + key.ID + "/rotate", `{}`}, {"DELETE", keysPath + "/" + fresh.ID, ""},
		} {
			responses.WriteString(s.Send(t, secret, request[0], request[1], request[2]).Body)
		}
	}
	records, err := json.Marshal(keysByID(t, s, admin))
	if err != nil || log.Len() == 0 {
		t.Fatalf("a log of %d bytes, want some: %v", log.Len(), err)
	}
	for _, secret := range secrets {
		hidden := secret[len(secret)-33:] // the part that is not visible in the record
		for what, text := range map[string]string{"log": log.String(), "responses": responses.String(), "records": string(records)} {
			if strings.Contains(text, hidden) {
				t.Errorf("a key is in the %s", what)
			}
		}
	}
}
