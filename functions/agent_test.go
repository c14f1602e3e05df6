package functions_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ensure an agent can publish exactly what it previewed: the model reads the preview's ETag, and a
// publish with it fails once an item has changed.
func TestAgentPublishesWhatItPreviewed(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	board := map[string]any{"boardId": "brd_1"}
	created := map[string]any{"boardId": "brd_1", "title": "By an agent", "status": "published"}
	item := s.Call(t, key, "create_plan_item", created).JSON(t)["id"]
	publish := func(changeFirst bool) toolResult {
		preview := callTool(t, s, key, "preview_plan_publish", board)
		tag, found := strings.CutPrefix(preview.Content[1].Text, "ETag: ")
		if preview.IsError || !found || tag != preview.Meta.ETag {
			t.Fatalf("the preview: %s", preview.http.Body)
		}
		if changeFirst {
			s.Call(t, key, "update_plan_item", map[string]any{"itemId": item, "title": "By an agent, again"})
		}
		return callTool(t, s, key, "publish_plan_board", withArgument(board, "ifMatch", tag))
	}
	if stale := publish(true); !stale.IsError || !strings.Contains(stale.Content[0].Text, "precondition_failed") {
		t.Errorf("a change that was not previewed was published: %s", stale.http.Body)
	}
	if r := publish(false); r.IsError {
		t.Errorf("a publish of what was previewed: %s", r.http.Body)
	}
}

// Ensure a tool call that finds no points explains why the list is empty, while the HTTP response
// contains only the empty list.
func TestExplainsNoPoints(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	importDefinition := func(id, key, more string) {
		importLines(t, s, "metric-definition", json.RawMessage(`{"id":"mdf_`+id+`","key":"`+key+`"`+more+`}`))
	}
	importPoint := func(key, grain, day string) {
		importLines(t, s, "metric-point", json.RawMessage(`{"metricKey":"`+key+`","grain":"`+grain+`","ts":"`+day+`T00:00:00Z","value":1}`))
	}
	importDefinition("a", "custom.leads", `,"aggregation":"none"`)
	importDefinition("b", "rate", `,"kind":"derived","formula":"a / b"`)
	importDefinition("c", "fresh", "")
	importDefinition("d", "visits", "")
	for _, key := range []string{"custom.leads", "visits"} {
		importPoint(key, "day", "2026-01-30")
		importPoint(key, "day", "2026-01-31")
		importPoint(key, "day", "2026-03-02")
	}
	importPoint("custom.leads", "month", "2026-01-01")
	importPoint("rate", "day", "2026-01-30")
	importDefinition("e", "share", `,"kind":"derived","formula":"a / b"`)
	key := s.IssueKey(t)
	for _, c := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"metricKey": "growth.signup"}, "There is no metric growth.signup; did you mean growth.signups?"},
		{map[string]any{"metricKey": "leeds"}, "There is no metric leeds; did you mean leads?"},
		{map[string]any{"metricKey": "no.such"}, "There is no metric no.such. The metric definitions list the keys."},
		{map[string]any{"metricKey": "fresh"}, "The metric fresh has no points yet."},
		{map[string]any{"metricKey": "share"}, "The metric share is derived: it has no points but imported ones, and there are none."},
		{map[string]any{"metricKey": "leads", "grain": "week"}, "The metric custom.leads has no points of grain week. Stored grains: day, month. Its aggregation is none, so nothing is computed from days."},
		{map[string]any{"metricKey": "visits", "grain": "month"}, "The metric visits has no points of grain month. Stored grains: day. Its aggregation is not set, so nothing is computed from days."},
		{map[string]any{"metricKey": "rate", "grain": "week"}, "The metric rate has no points of grain week. Stored grains: day. Nothing is computed for a derived metric."},
		{map[string]any{"metricKey": "leads", "from": "2026-04-01"}, "The metric custom.leads has points of grain day from 2026-01-30 to 2026-03-02, and none that starts between from and to."},
		{map[string]any{"metricKey": "leads", "seriesId": "0000000000000000"}, "The metric custom.leads has no point of grain day of the series 0000000000000000 here. Without seriesId the points name their series; each grain has other ids."},
		{map[string]any{"metricKey": "growth.signups", "grain": "week", "to": "2026-08-09"}, "The metric growth.signups has points of grain week from 2026-08-10 to 2026-08-10, and none that starts between from and to."},
	} {
		got := callTool(t, s, key, "list_metric_points", c.arguments)
		if got.IsError || len(got.Content) != 2 {
			t.Errorf("%v: %s, want two contents", c.arguments, got.http.Body)
			continue
		}
		if text := got.Content[1].Text; text != c.want {
			t.Errorf("%v: the text is\n%s\nwant\n%s", c.arguments, text, c.want)
		}
		if r := s.Call(t, key, "list_metric_points", c.arguments); r.Body != `{"items":[]}` {
			t.Errorf("%v over HTTP: the body is %s, want no items", c.arguments, r.Body)
		}
	}
}

// Ensure the result of a tool call that schedules a post contains a note if no channel for the
// post's platform works. A call that does not schedule a post must not return this note.
func TestNotesChannelsThatDoNotWork(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, channel := range []string{
		`{"id":"chn_2","platform":"facebook","status":"error","active":true}`, `{"id":"chn_3","platform":"facebook","active":false}`,
		`{"id":"chn_4","platform":"reddit","status":"connected","credentialsValid":false}`,
		`{"id":"chn_5","platform":"instagram","status":"expiring","credentialsExpireAt":"2026-09-01T00:00:00Z"}`,
		`{"id":"chn_6","platform":"push","status":"disconnected"}`, `{"id":"chn_7","platform":"push"}`,
	} {
		importLines(t, s, "channel", json.RawMessage(channel))
	}
	const due = "2026-09-01T09:00:00Z"
	for _, c := range []struct{ platform, due, want string }{
		{"tiktok", due, "The post is scheduled, but the company has no channel for tiktok to send it over."},
		{"facebook", due, "The post is scheduled, but no channel for facebook works when it is due: chn_2 has the status error, chn_3 is not in use."},
		{"reddit", due, "The post is scheduled, but no channel for reddit works when it is due: chn_4 has credentials that are not valid."},
		{"instagram", due, "The post is scheduled, but no channel for instagram works when it is due: chn_5 has credentials that expire at 2026-09-01T00:00:00.000Z."},
		{"instagram", "2026-08-31T23:59:59Z", ""}, {"push", due, ""}, {"x", due, ""},
	} {
		callForNotes := func(operation string, arguments map[string]any) []string {
			t.Helper()
			s.Clock.Advance(time.Second)
			r := callTool(t, s, key, operation, arguments)
			if r.IsError {
				t.Fatalf("%s: %s", operation, r.http.Body)
			}
			var out []string
			for _, line := range r.Content[1:] {
				if !strings.HasPrefix(line.Text, "ETag: ") {
					out = append(out, line.Text)
				}
			}
			return out
		}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		postArguments := map[string]any{"platform": c.platform, "body": "Hello", "scheduledFor": c.due, "status": "scheduled"}
		if got := callForNotes("create_broadcast_post", postArguments); !slices.Equal(got, want) {
			t.Errorf("%s: a scheduled post has the notes %q, want %q", c.platform, got, want)
		}
		postArguments["status"] = "draft"
		if got := callForNotes("create_broadcast_post", postArguments); len(got) > 0 {
			t.Errorf("%s: a draft has the notes %q", c.platform, got)
		}
		post := s.Call(t, key, "create_broadcast_post", postArguments).JSON(t)["id"]
		if got := callForNotes("update_broadcast_post", map[string]any{"postId": post, "status": "scheduled"}); !slices.Equal(got, want) {
			t.Errorf("%s: an update that schedules has the notes %q, want %q", c.platform, got, want)
		}
		if got := callForNotes("update_broadcast_post", map[string]any{"postId": post, "body": "Hello!"}); len(got) > 0 {
			t.Errorf("%s: an edit has the notes %q", c.platform, got)
		}
		if got := callForNotes("update_broadcast_post", map[string]any{"postId": post, "scheduledFor": c.due}); !slices.Equal(got, want) {
			t.Errorf("%s: a new time has the notes %q, want %q", c.platform, got, want)
		}
	}
}

// Ensure the note about channels is also returned for an imported post, which may have no
// updatedAt.
func TestNotesChannelsOfImportedPost(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	importLines(t, s, "post", json.RawMessage(`{"id":"pst_old","platform":"tiktok","body":"Hello","status":"scheduled","scheduledFor":"2026-09-01T09:00:00Z"}`))
	got := callTool(t, s, s.IssueKey(t), "update_broadcast_post", map[string]any{"postId": "pst_old", "status": "scheduled"})
	if got.IsError || got.Content[1].Text != "The post is scheduled, but the company has no channel for tiktok to send it over." {
		t.Errorf("the result is %s", got.http.Body)
	}
}

// Ensure a call that schedules a post still succeeds if the channels cannot be read. Its result
// must contain a note.
func TestNotesUnreadableChannels(t *testing.T) {
	t.Parallel()
	transport := &refusingTransport{}
	s := start(t, transport)
	key := s.IssueKey(t)
	var got toolResult
	refused := false
	transport.refuseEachCall(t, func() {
		s.Clock.Advance(time.Minute)
		got = callTool(t, s, key, "update_broadcast_post", map[string]any{"postId": "pst_1", "status": "scheduled", "scheduledFor": "2026-09-01T09:00:00Z"})
	}, func(call string) {
		if !strings.Contains(call, "Query channel#") {
			return
		}
		refused = true
		if got.IsError || got.Content[1].Text != "The post is scheduled, but whether a channel for x works could not be read." {
			t.Errorf("%s: %s", call, got.http.Body)
		}
	})
	if !refused {
		t.Error("the channels were not read")
	}
}

// Ensure a tool call that finds no live items explains why the list is empty.
func TestExplainsNoLiveItems(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for boardID, c := range map[string]struct{ record, want string }{
		"brd_a": {`{"id":"brd_a"}`, "The board was never published."},
		"brd_b": {`{"id":"brd_b","publishedVersion":3}`, "The board was imported without its live items. Visitors see none until it is published."},
		"brd_c": {`{"id":"brd_c","publishedVersion":3,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[]}`, "No item had the status published when the board was last published."},
	} {
		importLines(t, s, "board", json.RawMessage(c.record))
		arguments := map[string]any{"boardId": boardID}
		got := callTool(t, s, key, "list_plan_live_items", arguments)
		if got.IsError || len(got.Content) != 2 || got.Content[1].Text != c.want {
			t.Errorf("%s: the contents are %+v, want a second one with %s", boardID, got.Content, c.want)
		}
		if r := s.Call(t, key, "list_plan_live_items", arguments); r.Body != `{"items":[]}` {
			t.Errorf("%s over HTTP: the body is %s, want no items", boardID, r.Body)
		}
	}
}

// Ensure the tools are served at POST /mcp and at no other path or method.
func TestToolsPath(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/mcp", 405}, {"DELETE", "/mcp", 405}, {"POST", "/mcp/", 404}, {"POST", "/v1/mcp", 404}, {"POST", "/MCP", 404}} {
		r := s.Send(t, key, c.method, "http://api.test"+c.path, "")
		if r.Status != c.status || c.status == 405 && r.Header.Get("Allow") != "POST" {
			t.Errorf("%s %s: status %d, Allow %q; want %d, and POST with a 405", c.method, c.path, r.Status, r.Header.Get("Allow"), c.status)
		}
	}
	if r := sendMessage(t, s, key, "ping", nil, "Origin", "https://evil.test"); r.Status != 403 {
		t.Errorf("a foreign origin: %d", r.Status)
	}
	if r := s.Send(t, key, "POST", "http://api.test/mcp", strings.Repeat(" ", 3<<20)); r.Status != 413 {
		t.Errorf("three megabytes: %d", r.Status)
	}
}
