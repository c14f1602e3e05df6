package feedback_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/testkit/apitest"
)

const pushPath = "/v1/companies/{companyId}/feedback"

// push sends a push of records, each given as JSON.
func push(t *testing.T, s *apitest.Service, key string, records ...string) apitest.Response {
	t.Helper()
	return s.Send(t, key, "POST", pushPath, `{"records":[`+strings.Join(records, ",")+`]}`)
}

// pushCounts are the counts in a response to a push.
type pushCounts struct{ Accepted, Created, Updated int }

// mustPush pushes records that must be accepted, and returns the counts.
func mustPush(t *testing.T, s *apitest.Service, key string, records ...string) (got pushCounts) {
	t.Helper()
	r := push(t, s, key, records...)
	if r.Decode(t, &got); r.Status != http.StatusOK {
		t.Fatalf("push: status %d, want 200: %.500s", r.Status, r.Body)
	}
	return got
}

func listRecords(t *testing.T, s *apitest.Service) []map[string]any {
	t.Helper()
	return s.Send(t, s.IssueKey(t), "GET", pushPath+"?limit=200", "").Items(t)
}

func requireEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

const (
	createdAt   = "2026-08-11T09:30:00.000Z"
	minute      = time.Minute
	minuteLater = "2026-08-11T09:31:00.000Z"
)

// Ensure a push creates a record with the defaults and a derived id. A later push must change only
// the fields that it contains, and null must clear a field. A push that changes nothing must write
// nothing.
func TestPush(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t, auth.FeedbackWrite, auth.FeedbackRead)
	const whole = `{"source":"app_store","externalId":"1","externalUrl":"https://example.com/1","authorName":"a","title":"t","body":"b","rating":4,` +
		`"appVersion":"1.2","territory":"de","locale":"de-DE","postedAt":"2026-08-10T12:00:00+02:00","flags":["money"],"priority":3,"sentiment":"negative"}`
	requireEqual(t, "the first push", mustPush(t, s, key, whole, `{"source":"reddit","externalId":"1"}`), pushCounts{2, 2, 0})
	records := listRecords(t, s)
	first := records[0]["id"].(string)
	if _, ok := id.Bytes("fbk", first); !ok || first == records[1]["id"] {
		t.Errorf("the ids are %s and %v", first, records[1]["id"])
	}
	want := map[string]any{
		"id": first, "companyId": s.CompanyID, "source": "app_store", "kind": "review", "externalId": "1", "externalUrl": "https://example.com/1",
		"authorName": "a", "title": "t", "body": "b", "rating": 4.0, "appVersion": "1.2", "territory": "de", "locale": "de-DE",
		"postedAt": "2026-08-10T10:00:00.000Z", "fetchedAt": createdAt, "flags": []any{"money"}, "priority": 3.0, "sentiment": "negative",
		"replyBody": nil, "replyStatus": "none", "createdAt": createdAt, "updatedAt": createdAt,
	}
	requireEqual(t, "the record", records[0], want)
	for _, field := range []string{"rating", "priority", "flags", "title", "postedAt"} {
		if records[1][field] != nil {
			t.Errorf("%s of the other record is %v", field, records[1][field])
		}
	}
	s.Clock.Advance(minute)
	requireEqual(t, "the same again", mustPush(t, s, key, whole, whole, `{"externalId":"1","source":"app_store"}`), pushCounts{1, 0, 0})
	requireEqual(t, "the record after the same again", listRecords(t, s)[0], want)

	requireEqual(t, "a change", mustPush(t, s, key, `{"source":"app_store","externalId":"1","title":null,"flags":[],"rating":5,"priority":null,"sentiment":"positive"}`), pushCounts{1, 0, 1})
	want["title"], want["flags"], want["rating"], want["priority"], want["sentiment"] = nil, []any{}, 5.0, nil, "positive"
	want["updatedAt"], want["fetchedAt"] = minuteLater, minuteLater
	changed := s.Send(t, key, "GET", pushPath+"/"+first, "").JSON(t)
	requireEqual(t, "the record after a change", changed, want)
	if items := s.Send(t, key, "GET", pushPath+"?source=app_store&sentiment=positive", "").Items(t); len(items) != 1 {
		t.Errorf("the index has %v", items)
	}

	s.Clock.Advance(minute)
	requireEqual(t, "several of one record", mustPush(t, s, key, `{"source":"reddit","externalId":"2","title":"a","body":"b"}`,
		`{"source":"app_store","externalId":"1","title":"x"}`, `{"source":"reddit","externalId":"2","title":"c"}`,
		`{"source":"app_store","externalId":"1","title":null}`), pushCounts{2, 1, 0})
	for _, r := range listRecords(t, s) {
		if r["externalId"] == "2" && (r["title"] != "c" || r["body"] != "b") {
			t.Errorf("the parts were not applied in order: %v", r)
		}
	}
	if got := s.Send(t, key, "GET", pushPath+"/"+first, "").JSON(t); got["updatedAt"] != minuteLater {
		t.Errorf("a change that was taken back moved updatedAt to %v", got["updatedAt"])
	}
	if r := push(t, s, s.IssueKey(t, auth.FeedbackRead), whole); r.Status != http.StatusUnauthorized || !strings.Contains(r.Body, "feedback:write") {
		t.Errorf("with feedback:read alone: %d %s", r.Status, r.Body)
	}
	if limit := push(t, s, key, whole).Header.Get("RateLimit-Policy"); limit != `"push";q=60;w=60` {
		t.Errorf("the rate limit is %s", limit)
	}
}

// Ensure a push never changes the reply, whatever its status.
func TestPushKeepsTheReply(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for _, status := range feedback.ReplyStatus("").Values() {
		record := newReview(1)
		record.ID, record.ExternalID = "fbk_"+strings.ReplaceAll(status, "_", ""), status
		record.Source, record.ReplyStatus, record.ReplyBody = new(feedback.Source("reddit")), new(feedback.ReplyStatus(status)), new("Thanks")
		importRecords(t, s, record)
		requireEqual(t, status, mustPush(t, s, key, fmt.Sprintf(`{"source":"reddit","externalId":%q,"title":"new"}`, status)), pushCounts{1, 0, 1})
		got := s.Send(t, key, "GET", pushPath+"/"+record.ID, "").JSON(t)
		requireEqual(t, "the record with a reply that is "+status, map[string]any{"replyStatus": got["replyStatus"], "replyBody": got["replyBody"], "title": got["title"]},
			map[string]any{"replyStatus": status, "replyBody": "Thanks", "title": "new"})
	}
}

// Ensure a push with an invalid record stores nothing. Its error must list every problem. A record
// may be invalid on its own or only in combination with the stored one.
func TestPushRejectsAll(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	mustPush(t, s, key, `{"source":"reddit","externalId":"m","kind":"mention"}`, `{"source":"reddit","externalId":"r"}`)
	importLines(t, s, s.CompanyID, `{"source":"reddit","externalId":"unkind","rating":4}`)
	before := listRecords(t, s)
	const good = `{"source":"app_store","externalId":"good","title":"t"}`
	for _, c := range []struct {
		name    string
		records []string
		want    []string
	}{
		{"fields", []string{
			good, `{"source":"blog","externalId":"","kind":null,"externalUrl":"javascript:alert(1)","rating":6,"flags":["odd"],"priority":1.5}`, `5`,
			`{"title":"` + strings.Repeat("é", 301) + `","body":"` + strings.Repeat("b", 40_001) + `","rating":0,"postedAt":"yesterday","replyBody":"x"}`,
			`{"source":null,"externalId":null,"rating":4.5,"flags":"money"}`,
		}, []string{
			"body.records[1].source: must be one of app_store, google_play, reddit", "body.records[1].externalId: must not be empty",
			"body.records[1].kind: must not be null; leave it out", "body.records[1].externalUrl: must be an http or https address with a host, for example https://example.com",
			"body.records[1].rating: must be between 1 and 5", "body.records[1].flags[0]: must be one of money, defect, legal, safety, churn",
			"body.records[1].priority: must be a whole number, between -9007199254740991 and 9007199254740991",
			"body.records[2]: must be an object", "body.records[3].replyBody: unknown property", "body.records[3].source: is required",
			"body.records[3].externalId: is required", "body.records[3].title: must have at most 300 characters, has 301",
			"body.records[3].body: must have at most 40000 characters, has 40001", "body.records[3].rating: must be between 1 and 5",
			"body.records[3].postedAt: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z",
			"body.records[4].source: must not be null", "body.records[4].externalId: must not be null",
			"body.records[4].rating: must be a whole number, between 1 and 5", "body.records[4].flags: must be an array",
		}},
		{"a mention with a rating", []string{good, `{"source":"reddit","externalId":"new","kind":"mention","rating":1}`},
			[]string{"body.records[1].rating: must be left out, because a mention has no rating"}},
		{"with the stored record", []string{
			good, `{"source":"reddit","externalId":"m","rating":1}`, `{"source":"reddit","externalId":"m","kind":"review"}`, `{"source":"reddit","externalId":"r","kind":"mention"}`,
		}, []string{
			"body.records[1].rating: must be left out, because a mention has no rating",
			"body.records[2].kind: must be mention or left out: the kind of a stored record does not change",
			"body.records[3].kind: must be review or left out: the kind of a stored record does not change",
		}},
		{"a stored rating", []string{good, `{"source":"reddit","externalId":"unkind","kind":"mention"}`},
			[]string{"body.records[1].rating: must be left out, because a mention has no rating"}},
		{"within the push", []string{
			good, `{"source":"reddit","externalId":"n","kind":"mention"}`, `{"source":"reddit","externalId":"n","rating":3}`,
			`{"source":"reddit","externalId":"o"}`, `{"source":"reddit","externalId":"o","kind":"mention"}`,
		}, []string{
			"body.records[2].rating: must be left out, because a mention has no rating",
			"body.records[4].kind: must be review or left out: the kind of a stored record does not change",
		}},
		{"none", nil, []string{"body.records: must have 1 to 100 elements, has 0"}},
		{"too many", slices.Repeat([]string{good}, 101), []string{"body.records: must have 1 to 100 elements, has 101"}},
	} {
		r := push(t, s, key, c.records...)
		if code, messages := r.Messages(t); r.Status != http.StatusBadRequest || code != "bad_request" {
			t.Errorf("%s: status %d, code %q; want 400 and bad_request: %.300s", c.name, r.Status, code, r.Body)
		} else {
			requireEqual(t, c.name, messages, c.want)
		}
	}
	requireEqual(t, "the records", listRecords(t, s), before)
	requireEqual(t, "as many as there may be", mustPush(t, s, key, slices.Repeat([]string{good}, 100)...), pushCounts{1, 1, 0})
}

// Ensure a push finds a record that was imported with an id other than the derived one, even after
// an import has changed the identities of stored records. An import without an id finds the same
// record as a push.
func TestPushFindsImportedRecords(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	titles := func() map[string]string { // keyed by id and externalId
		out := map[string]string{}
		for _, r := range listRecords(t, s) {
			out[fmt.Sprint(r["id"], " ", r["externalId"])], _ = r["title"].(string)
		}
		return out
	}
	importLines(t, s, s.CompanyID, `{"id":"fbk_a","source":"reddit","externalId":"A"}`, `{"id":"fbk_none","externalId":"A"}`, `{"source":"reddit","externalId":"D"}`)
	requireEqual(t, "a push", mustPush(t, s, key, `{"source":"reddit","externalId":"A","title":"1"}`, `{"source":"reddit","externalId":"D","title":"1"}`), pushCounts{2, 0, 2})
	derived := derivedID(t, s, key, "D")
	requireEqual(t, "titles", titles(), map[string]string{"fbk_a A": "1", "fbk_none A": "", derived + " D": "1"})

	// fbk_a gets the identity B. Now no record has the identity A, and the reference for B points
	// to fbk_a.
	importLines(t, s, s.CompanyID, `{"id":"fbk_a","source":"reddit","externalId":"B"}`)
	requireEqual(t, "a push", mustPush(t, s, key, `{"source":"reddit","externalId":"A","title":"2"}`, `{"source":"reddit","externalId":"B","title":"2"}`), pushCounts{2, 1, 1})
	requireEqual(t, "titles", titles(), map[string]string{"fbk_a B": "2", "fbk_none A": "", derivedID(t, s, key, "A") + " A": "2", derived + " D": "1"})

	// The record whose id was derived from D gets the identity E. A push of D therefore creates a
	// new record, and the next push of D finds that record.
	importLines(t, s, s.CompanyID, `{"id":"`+derived+`","source":"reddit","externalId":"E"}`)
	requireEqual(t, "a push", mustPush(t, s, key, `{"source":"reddit","externalId":"D","title":"3"}`, `{"source":"reddit","externalId":"E","title":"3"}`), pushCounts{2, 1, 1})
	requireEqual(t, "a push", mustPush(t, s, key, `{"source":"reddit","externalId":"D","title":"4"}`, `{"source":"reddit","externalId":"E","title":"4"}`), pushCounts{2, 0, 2})
	if got := titles(); len(got) != 5 || got[derived+" E"] != "4" {
		t.Errorf("titles %v, want 5, and that of E to be 4", got)
	}

	// An import without an id replaces the stored record, whatever its id.
	importLines(t, s, s.CompanyID, `{"source":"reddit","externalId":"B","title":"5"}`, `{"source":"reddit","externalId":"B","title":"6"}`, `{"source":"app_store","externalId":"B"}`)
	if got := titles(); len(got) != 6 || got["fbk_a B"] != "6" {
		t.Errorf("titles %v, want 6, and that of B to be 6", got)
	}
	_, problems := transferType(s).Check(json.RawMessage(`{"externalId":"B"}`))
	requireEqual(t, "the problems of a record without an id", problems, []string{"record.source: is required in a record without id"})
	if _, problems := transferType(s).Check(json.RawMessage(`{"id":"","source":"reddit","externalId":"B"}`)); len(problems) != 1 || !strings.HasPrefix(problems[0], "record.id: must be fbk_") {
		t.Errorf("problems of an empty id %q, want one that says what an id must be", problems)
	}
}

// derivedID returns the id that a push gives to the record with this externalId and the source
// reddit.
func derivedID(t *testing.T, s *apitest.Service, key, externalID string) string {
	t.Helper()
	other := apitest.New(t, feedback.Operations)
	mustPush(t, other, other.IssueKey(t), fmt.Sprintf(`{"source":"reddit","externalId":%q}`, externalID))
	return listRecords(t, other)[0]["id"].(string)
}

// Ensure that if the same reviews are pushed concurrently and one of them is new, only one record
// is created for the new review. No field may be lost, and the responses must count one creation in
// total.
func TestPushConcurrently(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importLines(t, s, s.CompanyID, `{"id":"fbk_known","source":"reddit","externalId":"known"}`)
	fields := []string{`"title":"t"`, `"body":"b"`, `"rating":4`, `"locale":"de"`, `"territory":"de"`, `"appVersion":"1"`, `"authorName":"a"`, `"sentiment":"neutral"`}
	got := make([]pushCounts, len(fields))
	var wait sync.WaitGroup
	for n, field := range fields {
		wait.Go(func() {
			got[n] = mustPush(t, s, key, `{"source":"reddit","externalId":"new",`+field+`}`, `{"source":"reddit","externalId":"known",`+field+`}`)
		})
	}
	wait.Wait()
	var sum pushCounts
	for _, c := range got {
		sum = pushCounts{sum.Accepted + c.Accepted, sum.Created + c.Created, sum.Updated + c.Updated}
	}
	requireEqual(t, "the sum of the counts", sum, pushCounts{2 * len(fields), 1, 2*len(fields) - 1})
	records := listRecords(t, s)
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	for _, r := range records {
		for _, name := range []string{"title", "body", "rating", "locale", "territory", "appVersion", "authorName", "sentiment"} {
			if r[name] == nil {
				t.Errorf("%s of %v was lost", name, r["externalId"])
			}
		}
	}
}

// Ensure a push whose process crashes at any table call can be completed by a retry, with or
// without its Idempotency-Key. A different push with that key must get a 400 and store nothing. No
// review may ever have two records.
func TestPushThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	faults := &apitest.CrashingTransport{}
	faults.StopCrashing()
	s := apitest.NewWithTransport(t, feedback.Operations, faults)
	key := s.IssueKey(t)
	pushWithKey := func(name string, records ...string) apitest.Response {
		return s.Send(t, key, "POST", pushPath, `{"records":[`+strings.Join(records, ",")+`]}`, "Idempotency-Key", name)
	}
	importLines(t, s, s.CompanyID, `{"id":"fbk_known","source":"reddit","externalId":"known"}`)
	total := 1
	for calls, died := 0, true; died; calls++ {
		died = false
		for _, during := range []bool{false, true} {
			name := fmt.Sprint(calls, during)
			var body []string
			for n := range 4 {
				body = append(body, fmt.Sprintf(`{"source":"app_store","externalId":"%s %d","title":%q}`, name, n, name))
			}
			body = append(body, fmt.Sprintf(`{"source":"reddit","externalId":"known","title":%q}`, name))
			faults.CrashAfter(calls, during)
			first := pushWithKey(name, body...)
			died = died || faults.Crashed()
			if first.Status == http.StatusOK && faults.Crashed() {
				t.Errorf("%s: 200 from a process that died", name)
			}
			faults.StopCrashing()
			before := len(listRecords(t, s))
			other := pushWithKey(name, fmt.Sprintf(`{"source":"google_play","externalId":%q}`, name))
			if other.Status == http.StatusOK { // the first push crashed before it claimed the key
				if total++; before != total-1 {
					t.Errorf("%s: another push was accepted beside %d new records", name, before-total+1)
				}
				continue
			}
			if other.Status != http.StatusBadRequest || len(listRecords(t, s)) != before {
				t.Errorf("%s: another push: %d %s", name, other.Status, other.Body)
			}
			s.Clock.Advance(15 * time.Second)
			retry, again := pushWithKey(name, body...), pushWithKey(name, body...)
			if retry.Status != http.StatusOK || again.Body != retry.Body || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: the retry: %d %s\nand again: %d %s", name, retry.Status, retry.Body, again.Status, again.Body)
			}
			requireEqual(t, "pushed without the key", mustPush(t, s, key, body...), pushCounts{5, 0, 0})
			if total += 4; len(listRecords(t, s)) != total {
				t.Errorf("%s: %d records, want %d", name, len(listRecords(t, s)), total)
			}
		}
	}
}

// Ensure that of twelve different concurrent pushes with the same Idempotency-Key, one is accepted
// and the others store nothing.
func TestRefusedPushStoresNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	const pushes = 12
	var responses [pushes]apitest.Response
	var wait sync.WaitGroup
	for n := range pushes {
		wait.Go(func() {
			responses[n] = s.Send(t, key, "POST", pushPath, fmt.Sprintf(`{"records":[{"source":"reddit","externalId":"%d"},{"source":"reddit","externalId":"all","title":"%d"}]}`, n, n), "Idempotency-Key", "k")
		})
	}
	wait.Wait()
	records := listRecords(t, s)
	accepted := slices.IndexFunc(responses[:], func(r apitest.Response) bool { return r.Status == http.StatusOK })
	if accepted < 0 || len(records) != 2 {
		t.Fatalf("push %d was accepted; %v", accepted, records)
	}
	for n, r := range responses {
		if n != accepted && r.Status != http.StatusBadRequest {
			t.Errorf("push %d: %d %s", n, r.Status, r.Body)
		}
	}
	for _, r := range records {
		if r["externalId"] == "all" && r["title"] != fmt.Sprint(accepted) || r["externalId"] != "all" && r["externalId"] != fmt.Sprint(accepted) {
			t.Errorf("push %d was accepted, and this is stored: %v", accepted, r)
		}
	}
}

// Ensure a push fails and stores nothing if another caller creates the record first and the push
// then cannot read it.
func TestPushCannotReadAgain(t *testing.T) {
	t.Parallel()
	other := start(t)
	key := other.IssueKey(t)
	var once sync.Once
	var overtaken atomic.Bool
	s := apitest.NewWithTransport(t, feedback.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if apitest.IsTransaction(c) {
			once.Do(func() { mustPush(t, other, key, `{"source":"reddit","externalId":"1","title":"other"}`) })
			overtaken.Store(true)
		} else if overtaken.Load() && strings.HasSuffix(c.Action, "GetItem") {
			return c.Refuse()
		}
		return c.Send()
	}))
	s.CompanyID = other.CompanyID
	if r := push(t, s, key, `{"source":"reddit","externalId":"1","title":"mine"}`); r.Status < 500 {
		t.Errorf("an overtaken push: status %d, want 500 or more: %s", r.Status, r.Body)
	}
}
