package changes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/changes"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// feedService is a service whose company has a feed.
type feedService struct {
	*apitest.Service

	sequence int
}

func start(t *testing.T) *feedService {
	t.Helper()
	s := &feedService{Service: apitest.New(t, changes.Operations)}
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	return s
}

// add appends a batch to the feed, with one change of each given type. The record ids are numbered
// in order.
func (s *feedService) add(t *testing.T, types ...change.Type) {
	t.Helper()
	var batch []change.Occurrence
	for _, typ := range types {
		s.sequence++
		batch = append(batch, change.Occurrence{
			Event: change.Event{RecordID: fmt.Sprintf("rec_%04d", s.sequence), Action: change.Updated, Status: "draft"}, Type: typ, KeyID: "key_1",
			OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(s.sequence),
		})
	}
	if err := change.Append(t.Context(), s.Table, s.CompanyID, "shard-1", batch); err != nil {
		t.Fatal(err)
	}
}

// page is a response from list_changes.
type page struct {
	records []string
	after   string
	hasMore bool
}

func (s *feedService) list(t *testing.T, key string, arguments map[string]any) (p page) {
	t.Helper()
	r := s.Call(t, key, "list_changes", arguments)
	if r.Status != 200 {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	for _, item := range r.Items(t) {
		p.records = append(p.records, item["recordId"].(string))
	}
	p.after, p.hasMore = r.Header.Get("Service-After"), r.Header.Get("Service-Has-More") == "true"
	if p.after == "" || r.Header.Get("Link") != "" {
		t.Fatalf("the headers are %v, want Service-After and no Link", r.Header)
	}
	return p
}

// Ensure list_changes returns each change with exactly the expected fields.
func TestChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.add(t, "feedback")
	err := change.Append(t.Context(), s.Table, s.CompanyID, "shard-1", []change.Occurrence{{
		Event: change.Event{RecordID: "odd id\n%", Action: change.Deleted}, Type: "post", OccurredAt: s.Clock.Now().Add(time.Second), SequenceNumber: "12",
	}})
	if err != nil {
		t.Fatal(err)
	}
	items := s.Call(t, s.IssueKey(t), "list_changes", nil).Items(t)
	for _, item := range items {
		if id := item["id"].(string); len(id) != 30 || !strings.HasPrefix(id, "chg_01kzr2g") {
			t.Errorf("the id is %s, want one that begins with its time", id)
		}
		delete(item, "id")
	}
	want := []map[string]any{
		{"companyId": s.CompanyID, "type": "feedback", "recordId": "rec_0001", "action": "updated", "status": "draft", "keyId": "key_1", "occurredAt": "2026-08-11T09:30:00.000Z"},
		{"companyId": s.CompanyID, "type": "post", "recordId": "odd id\n%", "action": "deleted", "status": nil, "keyId": nil, "occurredAt": "2026-08-11T09:30:01.000Z"},
	}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// Ensure a reader gets each change once, with any limit, whether a page ends within a packet or at
// the end of one. Service-Has-More is false only at the end of the feed. Changes that are recorded
// later must come on a later page.
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	var want []string
	for _, n := range []int{1, 3, 2, 100, 1, 5} {
		s.add(t, slices.Repeat([]change.Type{"item"}, n)...)
		s.Clock.Advance(time.Second)
	}
	for n := range s.sequence {
		want = append(want, fmt.Sprintf("rec_%04d", n+1))
	}
	limits := []int{1, 2, 3, 4, 7, 99, 100, 111, 112, 113, 200}
	if testing.Short() {
		limits = limits[4:]
	}
	for _, limit := range limits {
		s.Clock.Advance(time.Minute)
		var got []string
		p := page{hasMore: true}
		arguments := map[string]any{"limit": limit, "since": "2026-08-11"}
		for p.hasMore {
			p = s.list(t, key, arguments)
			if len(p.records) > limit || p.hasMore && len(p.records) < limit {
				t.Fatalf("limit %d: a page of %d, has more: %t", limit, len(p.records), p.hasMore)
			}
			got, arguments = append(got, p.records...), map[string]any{"limit": limit, "after": p.after}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d: the records (-want +got):\n%s", limit, diff)
		}
	}
	end := s.list(t, key, map[string]any{"limit": 200})
	again := s.list(t, key, map[string]any{"after": end.after})
	if len(again.records) > 0 || again.hasMore {
		t.Errorf("after the end: %+v", again)
	}
	s.add(t, "item")
	if p := s.list(t, key, map[string]any{"after": again.after}); !slices.Equal(p.records, []string{"rec_0113"}) || p.hasMore {
		t.Errorf("what is recorded later: %+v", p)
	}
}

// Ensure a list starts at the time in the since parameter. The default is 24 hours ago, and the
// earliest start is 30 days ago.
func TestSince(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	times := []time.Duration{0, 10 * 24 * time.Hour, 11 * 24 * time.Hour, 29*24*time.Hour + 10*time.Hour}
	for _, after := range times {
		s.Clock.Advance(apitest.Epoch.Add(after).Sub(s.Clock.Now()))
		s.add(t, "item")
	}
	s.Clock.Advance(20 * time.Hour) // it is now 30 days and 6 hours after the first change
	for since, want := range map[string][]string{
		"":                              {"rec_0004"},
		"2026-08-01":                    {"rec_0002", "rec_0003", "rec_0004"},
		"2026-08-21":                    {"rec_0002", "rec_0003", "rec_0004"},
		"2026-08-21T09:30:30Z":          {"rec_0002", "rec_0003", "rec_0004"}, // still includes rec_0002, which is 30 seconds older
		"2026-08-21T11:31:30.999+02:00": {"rec_0003", "rec_0004"},
		"2026-08-22":                    {"rec_0003", "rec_0004"},
		"2027-01-01":                    nil,
	} {
		arguments := map[string]any{"since": since}
		if since == "" {
			arguments = nil
		}
		if p := s.list(t, key, arguments); !slices.Equal(p.records, want) || p.hasMore {
			t.Errorf("since %s: %+v, want %v", since, p, want)
		}
	}
}

// Ensure a reader whose clock is ahead misses nothing that happens after its first response.
func TestSinceLaterThanNow(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	s.add(t, "item")
	s.Clock.Advance(2 * time.Minute)
	for _, since := range []string{"2026-08-11T10:00:00Z", "2026-08-12", "9999-12-31"} {
		first := s.list(t, key, map[string]any{"since": since})
		if len(first.records) > 0 || first.hasMore {
			t.Errorf("since %s: %+v", since, first)
		}
		s.Clock.Advance(time.Second)
		s.add(t, "item")
		if p := s.list(t, key, map[string]any{"after": first.after}); len(p.records) != 1 || p.hasMore {
			t.Errorf("since %s, after a change: %+v, want it", since, p)
		}
		s.Clock.Advance(2 * time.Minute)
	}
}

// Ensure a reader that starts with changes from 30 days ago can continue for a day, even though the
// changes that it reads are then older than 30 days.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for range 2 {
		s.add(t, "item", "item")
		s.Clock.Advance(time.Second)
	}
	s.Clock.Advance(change.ReadableFor - 5*time.Second)
	p := s.list(t, key, map[string]any{"limit": 1, "since": "2026-08-01"})
	got := p.records
	for p.hasMore {
		s.Clock.Advance(5 * time.Hour)
		p = s.list(t, key, map[string]any{"limit": 1, "after": p.after})
		got = append(got, p.records...)
	}
	if !slices.Equal(got, []string{"rec_0001", "rec_0002", "rec_0003", "rec_0004"}) {
		t.Errorf("the records are %v", got)
	}
}

// Ensure a reader that stopped within old changes can continue until a day after they are 30 days
// old, and not for 30 days from its last call: by then the changes may have been deleted, and the
// reader would miss them without an error.
func TestStoppedWithinOldChanges(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	s.add(t, "item", "item")
	const day = 24 * time.Hour
	s.Clock.Advance(20 * day)
	p := s.list(t, key, map[string]any{"limit": 1, "since": "2026-08-01"})
	if !slices.Equal(p.records, []string{"rec_0001"}) || !p.hasMore {
		t.Fatalf("after 20 days: %+v", p)
	}
	s.Clock.Advance(11 * day)
	if rest := s.list(t, key, map[string]any{"after": p.after}); !slices.Equal(rest.records, []string{"rec_0002"}) {
		t.Errorf("after 31 days: %+v", rest)
	}
	s.Clock.Advance(time.Second)
	s.Run(t, []apitest.Scenario{{
		Name: "a second later", Op: "list_changes", Args: map[string]any{"after": p.after}, Want: 400, WantMessage: "query.after: is older than 30 days",
	}})
}

// Ensure a key sees only the types whose scope it has, and sees the ids of other keys only if it
// may read keys. A request for a type whose scope the key lacks is an error that names the scope.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.add(t, change.Types()...)
	for _, c := range []struct {
		scopes []auth.Scope
		want   []change.Type
	}{
		{[]auth.Scope{auth.FeedbackSend}, nil},
		{[]auth.Scope{auth.FeedbackDraft}, []change.Type{"feedback"}},
		{[]auth.Scope{auth.PlanRead, auth.KeysRead}, []change.Type{"board", "item", "publish", "key"}},
		{auth.Scopes(), change.Types()},
	} {
		key := s.IssueKey(t, c.scopes...)
		var got []change.Type
		for _, item := range s.Call(t, key, "list_changes", map[string]any{"limit": 200}).Items(t) {
			got = append(got, change.Type(item["type"].(string)))
			if seen := item["keyId"] != nil; seen != slices.Contains(c.scopes, auth.KeysRead) {
				t.Errorf("scopes %v: the keyId is %v", c.scopes, item["keyId"])
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("scopes %v: the types (-want +got):\n%s", c.scopes, diff)
		}
	}
	draftKey := s.IssueKey(t, auth.FeedbackDraft, auth.PlanRead)
	s.Run(t, []apitest.Scenario{
		{Name: "a missing scope", Op: "list_changes", Key: draftKey, Args: map[string]any{"types": "feedback,post"}, Want: 401, WantMessage: "broadcast:read"},
		{Name: "types", Op: "list_changes", Key: draftKey, Args: map[string]any{"types": "publish,feedback"}, Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 2 {
				t.Errorf("%d changes, want 2", n)
			}
		}},
	})
}

// Ensure a key without keys:read sees its own id, and null for other keys.
func TestOwnKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t, auth.PlanRead)
	keys, err := s.Keys.List(t.Context(), s.CompanyID)
	if err != nil || len(keys) != 1 {
		t.Fatal(len(keys), err)
	}
	var batch []change.Occurrence
	for n, keyID := range []string{keys[0].ID, "key_other", ""} {
		batch = append(batch, change.Occurrence{
			Event: change.Event{RecordID: "itm_1", Action: change.Updated}, Type: "item", KeyID: keyID, OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(n + 1),
		})
	}
	if err := change.Append(t.Context(), s.Table, s.CompanyID, "shard-1", batch); err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, item := range s.Call(t, key, "list_changes", nil).Items(t) {
		got = append(got, item["keyId"])
	}
	if diff := cmp.Diff([]any{keys[0].ID, nil, nil}, got); diff != "" {
		t.Errorf("the key ids (-want +got):\n%s", diff)
	}
}

// Ensure a request with invalid input gets an error that names the argument and says why it is
// invalid.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t)
	key := s.IssueKey(t)
	s.add(t, "item", "item")
	after, foreign := s.list(t, key, nil).after, other.list(t, other.IssueKey(t), nil).after
	part := s.list(t, key, map[string]any{"limit": 1}).after
	typo := strings.Map(func(c rune) rune {
		if c == rune(after[20]) {
			return '-'
		}
		return c
	}, after)
	unknownPacket := change.Position{Packet: 5, ChangeID: "chg_01kzr2gje0vm9fbm0stqrj177p", CheckedAt: s.Clock.Now()}.Encode(s.CompanyID)
	unknownChange := change.Position{Packet: s.Clock.Now().UnixMicro(), ChangeID: "chg_01kzr2gje0vm9fbm0stqrj177p", CheckedAt: s.Clock.Now()}.Encode(s.CompanyID)
	args := func(more ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	const unknown = "query.after: is unknown"
	s.Run(t, []apitest.Scenario{
		{Name: "empty", Op: "list_changes", Args: args("after", ""), Want: 400, WantMessage: unknown},
		{Name: "another text", Op: "list_changes", Args: args("after", "chg_1"), Want: 400, WantMessage: unknown},
		{Name: "truncated", Op: "list_changes", Args: args("after", after[:len(after)-1]), Want: 400, WantMessage: unknown},
		{Name: "mistyped", Op: "list_changes", Args: args("after", typo), Want: 400, WantMessage: unknown},
		{Name: "with a line break", Op: "list_changes", Args: args("after", after+"\n"), Want: 400, WantMessage: unknown},
		{Name: "in no packet", Op: "list_changes", Args: args("after", unknownPacket), Want: 400, WantMessage: unknown},
		{Name: "not in its packet", Op: "list_changes", Args: args("after", unknownChange), Want: 400, WantMessage: unknown},
		{Name: "too long", Op: "list_changes", Args: args("after", strings.Repeat("A", 201)), Want: 400, WantMessage: "query.after: must have at most 200"},
		{Name: "another company", Op: "list_changes", Args: args("after", foreign), Want: 400, WantMessage: "query.after: is of another company"},
		{Name: "after and since", Op: "list_changes", Args: args("after", after, "since", "2026-08-11"), Want: 400, WantMessage: "query.since: starts over"},
		{Name: "since", Op: "list_changes", Args: args("since", "Monday"), Want: 400, WantMessage: "query.since: "},
		{Name: "type", Op: "list_changes", Args: args("types", "post,feedbak"), Want: 400, WantMessage: `query.types: "feedbak" is not a type of change; did you mean feedback?`},
		{Name: "no type", Op: "list_changes", Args: args("types", ""), Want: 400, WantMessage: `query.types: "" is not a type of change; the types are company, board`},
		{Name: "limit", Op: "list_changes", Args: args("limit", 201), Want: 400, WantMessage: "query.limit: must be between 1 and 200"},
		{Name: "cursor", Op: "list_changes", Args: args("cursor", "x"), Want: 400, WantMessage: "query.cursor: unknown parameter"},
	})
	s.Clock.Advance(change.ReadableFor)
	s.Run(t, []apitest.Scenario{
		{Name: "30 days", Op: "list_changes", Args: args("after", after)},
		{Name: "30 days, within a packet", Op: "list_changes", Args: args("after", part), Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 1 {
				t.Errorf("%d changes, want 1", n)
			}
		}},
	})
	s.Clock.Advance(time.Millisecond)
	s.Run(t, []apitest.Scenario{
		{Name: "too old", Op: "list_changes", Args: args("after", after), Want: 400, WantMessage: "query.after: is older than 30 days"},
		{Name: "too old, within a packet", Op: "list_changes", Args: args("after", part), Want: 400, WantMessage: "query.after: is older than 30 days"},
	})
}

// Ensure one call reads at most 1,000 changes, so a page may be short even though more changes
// follow.
func TestReadLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for range 11 {
		s.add(t, slices.Repeat([]change.Type{"item"}, 100)...)
	}
	s.add(t, "post")
	first := s.list(t, key, map[string]any{"types": "post"})
	if len(first.records) > 0 || !first.hasMore {
		t.Errorf("the first page: %+v, want it empty and more", first)
	}
	second := s.list(t, key, map[string]any{"types": "post", "after": first.after})
	if !slices.Equal(second.records, []string{"rec_1101"}) || second.hasMore {
		t.Errorf("the second page: %+v", second)
	}
}

// Ensure a reader stops before a packet that is not visible yet, and gets it and the later packets
// once it is visible. A packet that stays missing is an error.
func TestPacketsOutOfOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	var packets []table.Key
	for range 3 {
		s.add(t, "item")
		packets = append(packets, change.PacketKey(s.CompanyID, s.Clock.Now().UnixMicro()))
		s.Clock.Advance(time.Second)
	}
	hidden, err := table.GetItem(t.Context(), s.Table, packets[1])
	if err != nil || len(hidden) == 0 {
		t.Fatal(len(hidden), err)
	}
	if err := s.Table.BatchDelete(t.Context(), packets[1:2]); err != nil {
		t.Fatal(err)
	}
	first := s.list(t, key, nil)
	if !slices.Equal(first.records, []string{"rec_0001"}) || !first.hasMore {
		t.Errorf("before the hidden packet: %+v", first)
	}
	second := s.list(t, key, map[string]any{"after": first.after})
	if len(second.records) > 0 || !second.hasMore {
		t.Errorf("at the hidden packet: %+v", second)
	}
	// A reader that starts between the first packet and the hidden one does not skip the hidden one
	// either.
	if p := s.list(t, key, map[string]any{"after": change.PositionSince(s.Clock.Now().Add(time.Minute - 2500*time.Millisecond)).Encode(s.CompanyID)}); len(p.records) > 0 || !p.hasMore {
		t.Errorf("a start before the hidden packet: %+v", p)
	}
	s.Clock.Advance(2 * time.Minute)
	if r := s.Call(t, key, "list_changes", map[string]any{"after": second.after}); r.Status != 500 {
		t.Errorf("status %d with a packet that is missing, want 500: %s", r.Status, r.Body)
	}
	if err := s.Table.BatchPut(t.Context(), []table.Item{hidden}); err != nil {
		t.Fatal(err)
	}
	third := s.list(t, key, map[string]any{"after": second.after})
	if !slices.Equal(third.records, []string{"rec_0002", "rec_0003"}) || third.hasMore {
		t.Errorf("once it is visible: %+v", third)
	}
}

// Ensure expired packets that DynamoDB has not yet deleted are hidden. A reader must continue past
// them.
func TestExpiredPackets(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	s.add(t, "item", "item")
	s.Clock.Advance(20 * 24 * time.Hour)
	end := s.list(t, key, nil)
	s.Clock.Advance(13 * 24 * time.Hour)
	s.add(t, "item")
	if p := s.list(t, key, map[string]any{"after": end.after}); !slices.Equal(p.records, []string{"rec_0003"}) {
		t.Errorf("after the end: %+v", p)
	}
	early := change.Position{Packet: 1, CheckedAt: s.Clock.Now()}.Encode(s.CompanyID)
	if p := s.list(t, key, map[string]any{"after": early}); !slices.Equal(p.records, []string{"rec_0003"}) || p.hasMore {
		t.Errorf("from the beginning: %+v", p)
	}
}

// Ensure list_changes fails for a table without a stream. The response must not ask the client to
// retry.
func TestNoStream(t *testing.T) {
	t.Parallel()
	s := start(t)
	o := apitest.Options(t, s.Clock.Now, nil)
	o.NoStream = true
	s.ServingTable = table.New(o)
	s.Handler = s.Serve(changes.Operations(s.ServingTable))
	r := s.Call(t, s.IssueKey(t), "list_changes", nil)
	var body struct{ Errors []struct{ Code string } }
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || r.Status != 501 || body.Errors[0].Code != "not_implemented" || r.Header.Get("Retry-After") != "" {
		t.Errorf("status %d, Retry-After %q: %s", r.Status, r.Header.Get("Retry-After"), r.Body)
	}
}

// Ensure every type has a scope.
func TestTypesHaveScopes(t *testing.T) {
	for _, typ := range change.Types() {
		if !typ.Scope().IsKnown() {
			t.Errorf("%s has the scope %q", typ, typ.Scope())
		}
	}
	if changes.Operations(nil)[0].Effect != api.Read {
		t.Error("list_changes does not read")
	}
}
