package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// useKey lets commands call a server with a key.
func useKey(t *testing.T, s *server, key string) {
	t.Helper()
	t.Setenv(keyVariable, key)
	t.Setenv(urlVariable, s.BaseURL)
}

// callJSON runs a command that calls the API, and returns its JSON.
func callJSON(t *testing.T, args ...string) (object map[string]any) {
	t.Helper()
	r := runCommand(t, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || r.code != 0 {
		t.Fatalf("%v: exit code %d, %v: %s%s", args, r.code, err, r.out, r.err)
	}
	return object
}

// companyWith creates a company and imports lines into it.
func companyWith(t *testing.T, data string, lines ...string) (companyID string) {
	t.Helper()
	companyID = newCompany(t, data)
	if r := runCommand(t, strings.Join(lines, "\n"), "import", "--company", companyID, "-", "--data", data); r.code != 0 {
		t.Fatalf("import: exit code %d: %s", r.code, r.err)
	}
	return companyID
}

func resultIDs(t *testing.T, answer map[string]any) (out []string) {
	t.Helper()
	for _, i := range answer["items"].([]any) {
		out = append(out, i.(map[string]any)["id"].(string))
	}
	return out
}

const duePost = `{"type":"post","record":{"id":"pst_1","platform":"x","title":"T","body":"B","status":"scheduled","scheduledFor":"2020-01-01T00:00:00Z"}}`

// Ensure a command with `--claim none` can report the result for a record that was imported with
// the status "publishing" or "posting". Such a record has no claim.
func TestImportedClaims(t *testing.T) {
	isolateUserFolders(t)
	s, _, _, key := startServerWithRecords(t, strings.Replace(duePost, "scheduled", "publishing", 1), `{"type":"feedback","record":{"id":"fbk_1","externalId":"1","replyBody":"R","replyStatus":"posting"}}`)
	useKey(t, s, key)
	for _, area := range []string{"due", "approved"} {
		if stuck := callJSON(t, area, "stuck")["items"].([]any); len(stuck) != 1 || stuck[0].(map[string]any)["claimId"] != nil {
			t.Errorf("%s: stuck records %v, want one without a claim", area, stuck)
		}
	}
	if post := callJSON(t, "due", "retry", "pst_1", "--claim", "none"); post["status"] != "scheduled" {
		t.Errorf("the post is %v, want scheduled", post["status"])
	}
	if reply := callJSON(t, "approved", "failed", "fbk_1", "--claim", "none"); reply["replyStatus"] != "failed" {
		t.Errorf("the reply is %v, want failed", reply["replyStatus"])
	}
}
