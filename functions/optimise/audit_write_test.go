package optimise_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func TestCreateAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	const op, now, later = "create_optimise_audit", "2026-08-11T09:30:00.000Z", "2026-08-11T09:30:00.001Z"
	withFields := func(more ...any) map[string]any {
		args := map[string]any{"rootUrl": "https://shop.example"}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return args
	}
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: op, Args: withFields(), Check: func(t *testing.T, r apitest.Response) {
			id := r.JSON(t)["id"].(string)
			want := `{"id":"` + id + `","companyId":"` + s.CompanyID + `","siteId":null,"rootUrl":"https://shop.example","status":"complete","startedAt":"` + now +
				`","finishedAt":"` + now + `","scoreSeo":null,"scoreAeo":null,"scoreGeo":null,"pagesAudited":null,"summary":null,"error":null,"createdAt":"` + now + `","updatedAt":"` + now + `"}`
			if r.Body != want || !strings.HasPrefix(id, "aud_") {
				t.Errorf("%s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most", Op: op, Args: withFields("siteId", "sit_gone", "status", "failed", "startedAt", "2026-08-11T11:00:00+02:00", "finishedAt", "2026-08-11T09:00:00Z",
			"scoreSeo", 0, "scoreAeo", 100, "scoreGeo", 99.95, "pagesAudited", 0, "summary", strings.Repeat("ü", 2000), "error", strings.Repeat("e", 2000), "findings", map[string]any{"a": []any{1}}),
			WantFields: map[string]any{"siteId": "sit_gone", "status": "failed", "startedAt": "2026-08-11T09:00:00.000Z", "finishedAt": "2026-08-11T09:00:00.000Z",
				"scoreSeo": 0, "scoreAeo": 100, "scoreGeo": 99.95, "pagesAudited": 0, "error": strings.Repeat("e", 2000)}},
		{Name: "running", Op: op, Args: withFields("status", "running"), WantFields: map[string]any{"status": "running", "startedAt": now, "finishedAt": nil}},
		{Name: "failed", Op: op, Args: withFields("status", "failed", "finishedAt", later), WantFields: map[string]any{"status": "failed", "finishedAt": later}},
		{Name: "running and finished", Op: op, Args: withFields("status", "running", "finishedAt", now), Want: 400, WantMessage: "body.finishedAt: must be left out while status is running"},
		{Name: "finished before it started", Op: op, Args: withFields("startedAt", later, "finishedAt", now), Want: 400, WantMessage: "body.finishedAt: must not be before startedAt, which is " + later},
		{Name: "starts in the future", Op: op, Args: withFields("startedAt", later), WantFields: map[string]any{"startedAt": later, "finishedAt": later}},
		{Name: "running in the future", Op: op, Args: withFields("startedAt", later, "status", "running"), WantFields: map[string]any{"startedAt": later}},
		{Name: "no address", Op: op, Args: map[string]any{"summary": "A"}, Want: 400, WantMessage: "body.rootUrl: is required"},
		{Name: "no web address", Op: op, Args: withFields("rootUrl", "ftp://shop.example"), Want: 400, WantMessage: "body.rootUrl: must be an http or https address"},
		{Name: "no id of a site", Op: op, Args: withFields("siteId", "aud_1"), Want: 400, WantMessage: "body.siteId: must match ^sit_"},
		{Name: "score below 0", Op: op, Args: withFields("scoreSeo", -0.1), Want: 400, WantMessage: "body.scoreSeo: must be between 0 and 100"},
		{Name: "score above 100", Op: op, Args: withFields("scoreAeo", 100.1), Want: 400, WantMessage: "body.scoreAeo: must be between 0 and 100"},
		{Name: "half a page", Op: op, Args: withFields("pagesAudited", 1.5), Want: 400, WantMessage: "body.pagesAudited: must be a whole number, between 0 and 9007199254740991"},
		{Name: "less than no page", Op: op, Args: withFields("pagesAudited", -1), Want: 400, WantMessage: "body.pagesAudited: must be between 0 and 9007199254740991"},
		{Name: "long summary", Op: op, Args: withFields("summary", strings.Repeat("ü", 2001)), Want: 400, WantMessage: "body.summary: must have at most 2000 characters, has 2001"},
		{Name: "long error", Op: op, Args: withFields("error", strings.Repeat("e", 2001)), Want: 400, WantMessage: "body.error: must have at most 2000 characters, has 2001"},
		{Name: "no such status", Op: op, Args: withFields("status", "done"), Want: 400, WantMessage: "body.status: must be one of running, complete, failed"},
		{Name: "nothing else was stored", Op: "list_optimise_audits", Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 6 {
				t.Errorf("%d audits", n)
			}
		}},
	})
	if got := sortKeysIn(t, s); countPrefix(got, "draft#") != 0 || countPrefix(got, "audit#") != 6 {
		t.Errorf("stored keys %q, want 6 audits and no draft", got)
	}
}

// Ensure an update can change the status only from "running" to "complete" or "failed". It can
// change the other fields in any state, but must not set finishedAt to a time before startedAt.
func TestUpdateAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit",
		`{"id":"aud_r","status":"running","startedAt":"2026-08-11T09:00:00Z"}`, `{"id":"aud_f","status":"running","startedAt":"2026-08-11T09:00:00Z"}`,
		`{"id":"aud_c","siteId":"sit_1","status":"complete","startedAt":"2026-08-11T09:00:00Z","finishedAt":"2026-08-11T09:10:00Z","findings":[1]}`,
		`{"id":"aud_none"}`,
		`{"id":"aud_a","status":"running","startedAt":"2026-08-11T09:30:01Z"}`, `{"id":"aud_b","status":"running","startedAt":"2026-08-11T09:30:01Z"}`)
	storeUnchecked(t, s, "audit", `{"id":"aud_odd","status":"complete","startedAt":"2026-08-11T09:00:00Z","finishedAt":"2026-08-11T08:00:00Z"}`,
		`{"id":"aud_odder","status":"running","startedAt":"2026-08-11T09:00:00Z","finishedAt":"2026-08-11T08:00:00Z"}`)
	const op = "update_optimise_audit"
	argsOf := func(id string, more ...any) map[string]any {
		args := map[string]any{"auditId": id}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return args
	}
	s.Run(t, []apitest.Scenario{
		{Name: "finished while running", Op: op, Args: argsOf("aud_r", "finishedAt", "2026-08-11T09:10:00Z"), Want: 400, WantMessage: "body.finishedAt: must be left out while status is running"},
		{Name: "scores while running", Op: op, Args: argsOf("aud_r", "scoreSeo", 12.5), WantFields: map[string]any{"status": "running", "scoreSeo": 12.5, "finishedAt": nil}},
		{Name: "still running", Op: op, Args: argsOf("aud_r", "status", "running"), WantFields: map[string]any{"finishedAt": nil}},
		{Name: "too early", Op: op, Args: argsOf("aud_r", "status", "complete", "finishedAt", "2026-08-11T08:59:59.999Z"), Want: 400, WantMessage: "body.finishedAt: must not be before startedAt, which is 2026-08-11T09:00:00.000Z"},
		{Name: "completes now", Op: op, Args: argsOf("aud_r", "status", "complete"), WantFields: map[string]any{"status": "complete", "finishedAt": "2026-08-11T09:30:00.000Z", "scoreSeo": 12.5}},
		{Name: "fails then", Op: op, Args: argsOf("aud_f", "status", "failed", "finishedAt", "2026-08-11T09:05:00Z", "error", "timeout"), WantFields: map[string]any{"status": "failed", "finishedAt": "2026-08-11T09:05:00.000Z"}},
		{Name: "complete to failed", Op: op, Args: argsOf("aud_r", "status", "failed"), Want: 409, WantCode: "conflict", WantMessage: "the audit is complete; only a running audit can change its status"},
		{Name: "complete to running", Op: op, Args: argsOf("aud_r", "status", "running"), Want: 409},
		{Name: "failed to complete", Op: op, Args: argsOf("aud_f", "status", "complete"), Want: 409, WantMessage: "the audit is failed"},
		{Name: "the same status", Op: op, Args: argsOf("aud_f", "status", "failed", "summary", "A"), WantFields: map[string]any{"status": "failed", "summary": "A", "finishedAt": "2026-08-11T09:05:00.000Z"}},
		{Name: "starts later", Op: op, Args: argsOf("aud_c", "startedAt", "2026-08-11T09:10:00.001Z"), Want: 400, WantMessage: "body.startedAt: must not be after finishedAt, which is 2026-08-11T09:10:00.000Z"},
		{Name: "starts as it ends", Op: op, Args: argsOf("aud_c", "startedAt", "2026-08-11T09:10:00Z"), WantFields: map[string]any{"startedAt": "2026-08-11T09:10:00.000Z"}},
		{Name: "another site", Op: op, Args: argsOf("aud_c", "siteId", "sit_2"), WantFields: map[string]any{"siteId": "sit_2"}},
		{Name: "odd times stay", Op: op, Args: argsOf("aud_odd", "summary", "A"), WantFields: map[string]any{"finishedAt": "2026-08-11T08:00:00.000Z"}},
		{Name: "odd times stay with the status", Op: op, Args: argsOf("aud_odd", "status", "complete"), WantFields: map[string]any{"finishedAt": "2026-08-11T08:00:00.000Z"}},
		{Name: "an odd end while running", Op: op, Args: argsOf("aud_odder", "status", "complete"), WantFields: map[string]any{"finishedAt": "2026-08-11T09:30:00.000Z"}},
		{Name: "completes, started by a clock ahead", Op: op, Args: argsOf("aud_a", "status", "complete"), WantFields: map[string]any{"finishedAt": "2026-08-11T09:30:01.000Z"}},
		{Name: "fails, started by a clock ahead", Op: op, Args: argsOf("aud_b", "status", "failed"), WantFields: map[string]any{"finishedAt": "2026-08-11T09:30:01.000Z"}},
		{Name: "no status gets one", Op: op, Args: argsOf("aud_none", "status", "running"), WantFields: map[string]any{"status": "running", "finishedAt": nil}},
		{Name: "null status", Op: op, Args: argsOf("aud_c", "status", nil), Want: 400, WantMessage: "body.status: must not be null"},
		{Name: "null time", Op: op, Args: argsOf("aud_c", "finishedAt", nil), Want: 400, WantMessage: "body.finishedAt: must not be null"},
		{Name: "no findings in the response", Op: op, Args: argsOf("aud_c", "findings", "new"), Check: func(t *testing.T, r apitest.Response) {
			if strings.Contains(r.Body, "findings") {
				t.Errorf("body %s, want none of the findings", r.Body)
			}
		}},
		{Name: "but stored", Op: "get_optimise_audit", Args: argsOf("aud_c"), WantFields: map[string]any{"findings": "new"}},
		{Name: "no such audit", Op: op, Args: argsOf("aud_x", "findings", "new"), Want: 404},
		{Name: "by status", Op: "list_optimise_audits", Args: map[string]any{"status": "running"}, Check: func(t *testing.T, r apitest.Response) {
			if got := ids(r.Items(t)); !slices.Equal(got, []string{"aud_none"}) {
				t.Errorf("running audits %v, want aud_none", got)
			}
		}},
		{Name: "by site", Op: "list_optimise_audits", Args: map[string]any{"siteId": "sit_2"}, Check: func(t *testing.T, r apitest.Response) {
			if got := ids(r.Items(t)); !slices.Equal(got, []string{"aud_c"}) {
				t.Errorf("audits of sit_2 %v, want aud_c", got)
			}
		}},
	})
	if got := sortKeysIn(t, s, "findings", "aud_x"); len(got) != 0 {
		t.Errorf("findings of no audit: %v", got)
	}
}

// Ensure the entity tag of an audit changes with its fields and its findings, and is the same in
// every response that contains the audit.
func TestAuditETags(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	created := s.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://a.example", "findings": []any{1}})
	auditArgs := map[string]any{"auditId": created.JSON(t)["id"]}
	last := ""
	check := func(what string, r apitest.Response) {
		t.Helper()
		tag := r.Header.Get("ETag")
		read := s.Call(t, key, "get_optimise_audit", auditArgs)
		if r.Status != 200 {
			t.Errorf("%s: status %d, want 200: %s", what, r.Status, r.Body)
		}
		if tag == "" || tag == last {
			t.Errorf("%s: ETag %q, want a new one after %q", what, tag, last)
		}
		if next := read.Header.Get("ETag"); tag != next {
			t.Errorf("%s: ETag %s, that of the next read %s", what, tag, next)
		}
		last = tag
	}
	update := func(more map[string]any) apitest.Response {
		args := map[string]any{"If-Match": last, "auditId": auditArgs["auditId"]}
		for name, value := range more {
			args[name] = value
		}
		return s.Call(t, key, "update_optimise_audit", args)
	}
	check("create", created)
	stale := last
	check("other findings", update(map[string]any{"findings": []any{2}}))
	check("no findings", update(map[string]any{"findings": nil}))
	check("a field", update(map[string]any{"summary": "A"}))
	if r := update(map[string]any{}); r.Header.Get("ETag") != last {
		t.Error("an empty update has another tag")
	}
	last = ""
	for _, findings := range []string{"1", "2"} { // both imports have the same updatedAt
		importRecords(t, s, "audit", `{"id":"aud_i","updatedAt":"2026-01-01T00:00:00Z","findings":`+findings+`}`)
		tag := s.Call(t, key, "get_optimise_audit", map[string]any{"auditId": "aud_i"}).Header.Get("ETag")
		if tag == last {
			t.Errorf("other findings have the same tag %s", tag)
		}
		last = tag
	}
	last = stale
	if r := update(map[string]any{"findings": []any{3}}); r.Status != 412 {
		t.Errorf("a stale tag: %d", r.Status)
	}
	if got := sortKeysIn(t, s, "findings", auditArgs["auditId"].(string)); len(got) != 0 {
		t.Errorf("findings of a refused update: %v", got)
	}
	if got := sortKeysIn(t, s); countPrefix(got, "draft#") != 0 {
		t.Errorf("stored keys %q, want no draft", got)
	}
}

// Ensure an update changes nothing if the audit already has the findings in the request: updatedAt,
// the tag and the chunks must stay the same. If the audit was stored without a digest of its
// findings, the update must store one.
func TestUnchangedFindings(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "audit", `{"id":"aud_i","findings":{"a" : [1, 2]}}`, `{"id":"aud_n"}`)
	created := s.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://a.example", "findings": map[string]any{"a": []any{1, 2}}}).JSON(t)["id"].(string)
	patch := func(auditID, body string) (updatedAt any, tag string, chunks []string) {
		t.Helper()
		s.Clock.Advance(time.Minute)
		r := s.Send(t, key, "PATCH", "/v1/companies/{companyId}/optimise/audits/"+auditID, body)
		if r.Status != 200 {
			t.Fatalf("update of %s with %s: status %d, want 200: %s", auditID, body, r.Status, r.Body)
		}
		return r.JSON(t)["updatedAt"], r.Header.Get("ETag"), sortKeysIn(t, s, "findings", auditID)
	}
	check := func(auditID, body string, wantChange bool) {
		t.Helper()
		updatedAt, tag, chunks := patch(auditID, "{}")
		newAt, newTag, newChunks := patch(auditID, body)
		if (updatedAt != newAt) != wantChange || (tag != newTag) != wantChange {
			t.Errorf("%s %s: updatedAt %v then %v, tag %s then %s", auditID, body, updatedAt, newAt, tag, newTag)
		}
		if replaced := wantChange && strings.Contains(body, "findings"); slices.Equal(chunks, newChunks) == replaced {
			t.Errorf("%s %s: chunks %v, then %v", auditID, body, chunks, newChunks)
		}
	}
	const same = `{"findings": {"a":[1, 2]} }`
	check("aud_i", same, false)
	check("aud_n", `{"findings":null}`, false)
	check(created, same, false)
	check(created, `{"findings":{"a":[2,1]}}`, true)
	check(created, `{"findings":{"a":[2,1]}}`, false)
	check(created, same, true)
	_, _, chunks := patch(created, "{}")
	if _, _, again := patch(created, `{"findings":{"a":[1,2]},"summary":"A"}`); !slices.Equal(chunks, again) {
		t.Errorf("a summary with the same findings: %v then %v", chunks, again)
	}
	type digestRecord struct {
		Digest *string `store:"findingsDigest"`
	}
	auditKey := table.Key{PK: table.Partition(s.CompanyID, "optimise"), SK: table.JoinKey("audit", created)}
	if _, err := table.Modify(t.Context(), s.Table, auditKey, func(digestRecord) table.Keys { return table.Keys{} }, func(o *digestRecord) error {
		if o.Digest == nil {
			t.Error("no digest is stored")
		}
		o.Digest = nil
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	check(created, same, true)
	check(created, same, false)
	check(created, `{"findings":null}`, true)
	if got := sortKeysIn(t, s); countPrefix(got, "draft#") != 0 {
		t.Errorf("stored keys %q, want no draft", got)
	}
}

// Ensure the size limit for findings is the same in requests and in imports.
func TestFindingsBound(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := s.IssueKey(t)
	for size, want := range map[int]int{findingsMax: 200, findingsMax + 1: 400} {
		body := `{"rootUrl":"https://a.example","findings": ` + incompressibleFindings(size) + `}`
		r := s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", body)
		if r.Status != want {
			t.Errorf("findings of %d bytes: status %d, want %d: %.300s", size, r.Status, want, r.Body)
		}
		if want == 400 {
			_, messages := r.Messages(t)
			if wantMessage := "body.findings: must have at most 4194304 bytes as compact JSON, has 4194305"; messages[0] != wantMessage {
				t.Errorf("message %q, want %q", messages[0], wantMessage)
			}
		}
	}
	spacious := `{"rootUrl":"https://a.example","findings":[` + strings.Repeat(" ", findingsMax) + `1]` // the limit on findings ignores insignificant whitespace
	for _, c := range []struct{ size, want int }{{findingsMax + 256<<10, 200}, {findingsMax + 256<<10 + 1, 413}} {
		r := s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", spacious+strings.Repeat(" ", c.size-len(spacious)-1)+"}")
		if r.Status != c.want {
			t.Errorf("a body of %d: %d %.300s", c.size, r.Status, r.Body)
		}
		if c.want == 413 {
			code, messages := r.Messages(t)
			if wantMessage := "body: must have at most 4456448 bytes"; code != "payload_too_large" || messages[0] != wantMessage {
				t.Errorf("code %s and message %q, want payload_too_large and %q", code, messages[0], wantMessage)
			}
		}
	}
}

// ageDrafts advances the clock, so that every stored draft becomes old enough to be removed.
func ageDrafts(s *apitest.Service) { s.Clock.Advance(time.Hour + time.Second) }

// Ensure a create that crashes at any table call leaves no partial audit, and that a retry with its
// Idempotency-Key leads to exactly one audit. A later write must delete what the crash left behind.
func TestCreateAuditCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	args := map[string]any{"rootUrl": "https://a.example", "findings": incompressibleText(700_000), "Idempotency-Key": "once"}
	prepare := func(*apitest.Service) map[string]any { return args }
	forEachCrash(t, "create_optimise_audit", prepare, func(s *apitest.Service, first, retry apitest.Response) {
		if retry.Status != 200 || first.Status == 200 && first.Body != retry.Body {
			t.Errorf("%d, then %d %s", first.Status, retry.Status, retry.Body)
		}
		audits := slices.DeleteFunc(sortKeysIn(t, s), func(k string) bool { return !strings.HasPrefix(k, "audit#") })
		if len(audits) != 1 {
			t.Fatalf("%d audits", len(audits))
		}
		checkFindingsSettled(t, s, strings.TrimPrefix(audits[0], "audit#"), args["findings"])
	})
}

// checkFindingsSettled checks that an audit has the given findings, and that after another write,
// no unreferenced chunk or draft is left.
func checkFindingsSettled(t *testing.T, s *apitest.Service, auditID string, findings any) {
	t.Helper()
	var drafts []struct {
		AuditID string `store:"auditId"`
	}
	drafts, err := table.ReadAll[struct {
		AuditID string `store:"auditId"`
	}](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "optimise"), Prefix: "draft#", Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	ageDrafts(s)
	key := s.IssueKey(t)
	later := s.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://b.example", "findings": 1})
	if later.Status != 200 {
		t.Fatalf("create: status %d, want 200: %s", later.Status, later.Body)
	}
	want, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	if got := getFindings(t, s, key, auditID); got != string(want) {
		t.Errorf("findings %.100s, want %.100s", got, want)
	}
	if got := sortKeysIn(t, s); countPrefix(got, "draft#") != 0 || countPrefix(got, "removed#") != 0 {
		t.Errorf("left: %v", got)
	}
	generations := func(auditID string) int {
		names := map[string]bool{}
		for _, sk := range sortKeysIn(t, s, "findings", auditID) {
			names[strings.Split(sk, "#")[0]] = true
		}
		return len(names)
	}
	for _, d := range drafts {
		if d.AuditID != auditID && generations(d.AuditID) != 0 {
			t.Errorf("findings of %s, which does not exist, are left", d.AuditID)
		}
	}
	if n := generations(auditID); n > 1 || n == 0 && findings != nil {
		t.Errorf("%d generations of findings", n)
	}
}

// incompressibleText returns a string of n bytes that compression hardly reduces.
func incompressibleText(n int) string { return strings.Trim(incompressibleFindings(n+2), `"`) }

// Ensure an update that crashes at any table call leaves either the old or the new audit, with all
// of its findings.
func TestUpdateAuditCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, findings := range map[string]any{"other findings": incompressibleText(700_000), "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(s *apitest.Service) map[string]any {
				importRecords(t, s, "audit", `{"id":"aud_1","findings":`+incompressibleFindings(650_000)+`}`)
				return map[string]any{"auditId": "aud_1", "findings": findings, "summary": "A"}
			}
			forEachCrash(t, "update_optimise_audit", prepare, func(s *apitest.Service, first, retry apitest.Response) {
				if retry.Status != 200 {
					t.Errorf("%d, then %d %s", first.Status, retry.Status, retry.Body)
				}
				checkFindingsSettled(t, s, "aud_1", findings)
			})
		})
	}
}

// Ensure a delete that crashes at any table call can be completed by repeating it. Neither the
// audit nor its findings may be left.
func TestDeleteAuditCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	prepare := func(s *apitest.Service) map[string]any {
		importRecords(t, s, "audit", `{"id":"aud_1","findings":`+incompressibleFindings(650_000)+`}`)
		return map[string]any{"auditId": "aud_1"}
	}
	forEachCrash(t, "delete_optimise_audit", prepare, func(s *apitest.Service, first, retry apitest.Response) {
		if retry.Status != 200 && !(first.Status == 200 && retry.Status == 404) {
			t.Errorf("%d, then %d %s", first.Status, retry.Status, retry.Body)
		}
		if left := append(sortKeysIn(t, s), sortKeysIn(t, s, "findings", "aud_1")...); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// Ensure concurrent updates of an audit's findings and deletes of the audit leave either a complete
// audit or nothing.
func TestAuditRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	s := start(t)
	key := s.IssueKey(t)
	outcomes := map[string]int{}
	for n := range rounds {
		s.Clock.Advance(time.Minute)
		auditID := fmt.Sprintf("aud_%d", n)
		importRecords(t, s, "audit", `{"id":"`+auditID+`","findings":"old"}`)
		calls := []string{"update_optimise_audit", "update_optimise_audit", "update_optimise_audit"}
		if n%2 == 1 {
			calls = []string{"update_optimise_audit", "delete_optimise_audit", "delete_optimise_audit"}
		}
		statuses := make([]int, len(calls))
		var wg sync.WaitGroup
		for i, op := range calls {
			args := map[string]any{"auditId": auditID}
			if op == "update_optimise_audit" {
				args["findings"], args["summary"] = fmt.Sprint(i), fmt.Sprint(i)
			}
			wg.Go(func() { statuses[i] = s.Call(t, key, op, args).Status })
		}
		wg.Wait()
		outcomes[fmt.Sprint(n%2, statuses)]++
		chunks := sortKeysIn(t, s, "findings", auditID)
		if n%2 == 1 {
			if (statuses[1] == 200) == (statuses[2] == 200) || len(chunks) != 0 {
				t.Errorf("round %d: %v, left: %v", n, statuses, chunks)
			}
			continue
		}
		got := s.Call(t, key, "get_optimise_audit", map[string]any{"auditId": auditID}).JSON(t)
		if got["summary"] != got["findings"] || !slices.Equal(statuses, []int{200, 200, 200}) {
			t.Errorf("round %d: %v, summary %v with findings %v", n, statuses, got["summary"], got["findings"])
		}
	}
	ageDrafts(s)
	for range 2 {
		if r := s.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://a.example", "findings": 1}); r.Status != 200 {
			t.Fatalf("create: status %d, want 200: %s", r.Status, r.Body)
		}
		s.Clock.Advance(time.Second)
	}
	if got := sortKeysIn(t, s); countPrefix(got, "draft#") != 0 || countPrefix(got, "removed#") != 0 {
		t.Errorf("left: %v", got)
	}
	for n := 0; n < rounds; n += 2 {
		if chunks := sortKeysIn(t, s, "findings", fmt.Sprintf("aud_%d", n)); len(chunks) != 1 {
			t.Errorf("aud_%d has %v", n, chunks)
		}
	}
	t.Logf("%d rounds: %v", rounds, outcomes)
}

// Ensure writes of audits count towards the quota for pushes, and all other writes in the area
// towards the quota for writes.
func TestAuditQuotaClass(t *testing.T) {
	t.Parallel()
	for _, op := range optimise.Operations(nil) {
		want := auth.ClassWrite
		switch {
		case op.Method == "GET":
			want = auth.ClassRead
		case op.ID == "create_optimise_audit" || op.ID == "update_optimise_audit":
			want = auth.ClassPush
		}
		if op.Class != want {
			t.Errorf("%s counts as %s", op.ID, op.Class)
		}
	}
}

// Ensure a create stores no audit if it is so slow that another request removes its draft, because
// that request also removes the new findings.
func TestCreateAuditLosesItsDraft(t *testing.T) {
	t.Parallel()
	fast := start(t)
	key := fast.IssueKey(t)
	transport := &apitest.BeforeMatch{Matches: apitest.IsTransaction}
	slow := apitest.NewWithTransport(t, optimise.Operations, transport)
	slow.CompanyID = fast.CompanyID
	var other apitest.Response
	transport.Run = func() {
		ageDrafts(fast)
		other = fast.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://b.example", "findings": 1})
	}
	r := slow.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://a.example", "findings": []any{1}})
	if r.Status < 500 || other.Status != 200 {
		t.Errorf("%d %s, and the one that sweeps: %d %s", r.Status, r.Body, other.Status, other.Body)
	}
	if got := sortKeysIn(t, fast); len(got) != 1 || got[0] != "audit#"+other.JSON(t)["id"].(string) {
		t.Errorf("stored: %v", got)
	}
}

// Ensure an update that does not know whether its write succeeded does not delete the findings it
// stored, because the audit may refer to them.
func TestUpdateAuditWithoutResponse(t *testing.T) {
	t.Parallel()
	plain := start(t)
	importRecords(t, plain, "audit", `{"id":"aud_1","findings":"old"}`)
	key := plain.IssueKey(t)
	s := apitest.NewWithTransport(t, optimise.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if c.Action != "UpdateItem" || !strings.Contains(c.Body, "audit#aud_1") {
			return c.Send()
		}
		if _, err := c.Lose(); err == nil {
			t.Error("the response was not lost")
		}
		return c.Refuse() // so that the call is not retried
	}))
	s.CompanyID = plain.CompanyID
	if r := s.Call(t, key, "update_optimise_audit", map[string]any{"auditId": "aud_1", "findings": "new"}); r.Status < 500 {
		t.Fatalf("an update without a response of the table: status %d, want 500 or more: %s", r.Status, r.Body)
	}
	if got := getFindings(t, plain, key, "aud_1"); got != `"new"` {
		t.Errorf("findings %s", got)
	}
	checkFindingsSettled(t, plain, "aud_1", "new")
}
