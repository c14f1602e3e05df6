package broadcast_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/testkit/apitest"
)

const (
	laterTime   = "2026-09-01T08:00:00.000Z"
	earlierTime = "2020-01-01T00:00:00.000Z"
)

// Ensure a new post is a draft unless the request sets the status scheduled and a scheduledFor.
// Invalid requests must be rejected.
func TestCreatePost(t *testing.T) {
	t.Parallel()
	s := start(t)
	create := func(name string, args record, want record) apitest.Scenario {
		return apitest.Scenario{Name: name, Op: "create_broadcast_post", Args: args, WantFields: want}
	}
	reject := func(name string, args record, message string) apitest.Scenario {
		return apitest.Scenario{Name: name, Op: "create_broadcast_post", Args: args, Want: 400, WantCode: "bad_request", WantMessage: message}
	}
	long := strings.Repeat("a", 200) + " " + strings.Repeat("b", 100)
	s.Run(t, []apitest.Scenario{
		create("draft when status is omitted", record{"platform": "x", "body": "Hello"}, record{
			"companyId": s.CompanyID, "ideaId": nil, "platform": "x", "title": nil, "body": "Hello", "threadParts": nil, "hashtags": nil,
			"media": nil, "destination": nil, "deepLink": nil, "scheduledFor": nil, "status": "draft", "publishedAt": nil, "externalId": nil,
			"externalUrl": nil, "failureReason": nil, "createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
		}),
		create("everything", record{
			"platform": "push", "title": "T", "body": "B <&>", "hashtags": []string{"a", "b"}, "ideaId": "ida_1", "destination": "beta",
			"deepLink": "acme://x", "scheduledFor": "2026-09-01T10:00:00+02:00", "status": "scheduled",
		}, record{
			"platform": "push", "title": "T", "body": "B <&>", "hashtags": []string{"a", "b"}, "ideaId": "ida_1", "destination": "beta",
			"deepLink": "acme://x", "scheduledFor": laterTime, "status": "scheduled",
		}),
		create("draft with a time", record{"platform": "x", "body": "", "scheduledFor": laterTime, "status": "draft"}, record{"status": "draft", "scheduledFor": laterTime, "body": ""}),
		create("draft with a time, status omitted", record{"platform": "x", "body": "B", "scheduledFor": laterTime}, record{"status": "draft", "scheduledFor": laterTime}),
		create("a time in the past", record{"platform": "x", "body": "B", "scheduledFor": earlierTime, "status": "scheduled"}, record{"status": "scheduled", "scheduledFor": earlierTime}),
		create("a thread on x", record{"platform": "x", "body": long}, record{"body": long, "threadParts": []string{long[:200], long[201:]}}),
		create("no thread on another platform", record{"platform": "instagram", "body": long}, record{"threadParts": nil}),
		create("empty hashtags", record{"platform": "reddit", "body": "B", "hashtags": []string{}}, record{"hashtags": []string{}}),
		create("longest texts", record{"platform": "push", "title": strings.Repeat("é", 200), "body": strings.Repeat("é", 10000), "destination": strings.Repeat("é", 200)}, nil),
		reject("title of 201", record{"platform": "x", "body": "B", "title": strings.Repeat("é", 201)}, "body.title: must have at most 200"),
		reject("body of 10001", record{"platform": "x", "body": strings.Repeat("é", 10001)}, "body.body: must have at most 10000"),
		reject("51 hashtags", record{"platform": "x", "body": "B", "hashtags": slices.Repeat([]string{"a"}, 51)}, "body.hashtags: must have at most 50"),
		reject("hashtag of 201", record{"platform": "x", "body": "B", "hashtags": []string{strings.Repeat("a", 201)}}, "body.hashtags[0]: must have at most 200"),
		reject("no platform", record{"body": "B"}, "body.platform: is required"),
		reject("no body", record{"platform": "x"}, "body.body: is required"),
		reject("unknown platform", record{"platform": "linkedin", "body": "B"}, "body.platform: must be one of x, instagram, tiktok, facebook, reddit, push"),
		reject("scheduled without a time", record{"platform": "x", "body": "B", "status": "scheduled"}, "body.scheduledFor: is required when status is scheduled"),
		reject("publishing", record{"platform": "x", "body": "B", "status": "publishing"}, "body.status: must be one of draft, scheduled"),
		reject("published", record{"platform": "x", "body": "B", "status": "published"}, "body.status"),
		reject("failed", record{"platform": "x", "body": "B", "status": "failed"}, "body.status"),
		reject("unknown status", record{"platform": "x", "body": "B", "status": "queued"}, "body.status"),
		reject("destination on another platform", record{"platform": "x", "body": "B", "destination": "beta"}, "body.destination: is allowed only when platform is push"),
		reject("empty destination on another platform", record{"platform": "x", "body": "B", "destination": ""}, "body.destination"),
		reject("ideaId of another kind", record{"platform": "x", "body": "B", "ideaId": "pst_1"}, "body.ideaId: must match ^ida_"),
		reject("ideaId with a separator", record{"platform": "x", "body": "B", "ideaId": "ida_1#x"}, "body.ideaId"),
		reject("empty ideaId", record{"platform": "x", "body": "B", "ideaId": ""}, "body.ideaId"),
		reject("malformed time", record{"platform": "x", "body": "B", "scheduledFor": "tomorrow"}, "body.scheduledFor: must be an RFC 3339 time"),
		reject("null", record{"platform": "x", "body": nil, "title": nil}, "body.body: must not be null"),
		reject("threadParts are derived", record{"platform": "x", "body": "B", "threadParts": []string{}}, "body.threadParts: unknown property"),
		{Name: "all errors are returned", Op: "create_broadcast_post", Args: record{"platform": "x", "body": "B", "ideaId": "1", "destination": "d", "status": "scheduled"}, Want: 400, Check: func(t *testing.T, r apitest.Response) {
			if _, messages := r.Messages(t); len(messages) != 3 {
				t.Errorf("%d messages, want 3: %q", len(messages), messages)
			}
		}},
	})
}

// Ensure a request can set a post's media to a list of at most ten elements, each with an address,
// a kind and optionally a description. Other shapes must be rejected.
func TestPostMedia(t *testing.T) {
	t.Parallel()
	s := start(t)
	image, described := record{"url": "https://example.com/a.png", "kind": "image"}, record{"url": "http://example.com/b.mp4", "kind": "video", "alt": "A <dog> & a cat"}
	create := func(name string, media, want any) apitest.Scenario {
		return apitest.Scenario{Name: name, Op: "create_broadcast_post", Args: record{"platform": "instagram", "body": "B", "media": media}, WantFields: record{"media": want}}
	}
	reject := func(name string, media any, message string) apitest.Scenario {
		return apitest.Scenario{Name: name, Op: "create_broadcast_post", Args: record{"platform": "instagram", "body": "B", "media": media}, Want: 400, WantCode: "bad_request", WantMessage: message}
	}
	imageWith := func(name string, value any) []any {
		changed := maps.Clone(image)
		changed[name] = value
		return []any{changed}
	}
	ten := slices.Repeat([]any{image}, 10)
	s.Run(t, []apitest.Scenario{
		create("in order", []any{described, image}, []any{described, image}),
		create("ten", ten, ten),
		create("none", []any{}, []any{}),
		create("null", nil, nil),
		create("no description", imageWith("alt", nil), []any{image}),
		create("an empty description", imageWith("alt", ""), imageWith("alt", "")),
		create("longest", imageWith("alt", strings.Repeat("é", 1000)), imageWith("alt", strings.Repeat("é", 1000))),
		reject("eleven", slices.Repeat([]any{image}, 11), "body.media: must have at most 10 elements, has 11"),
		reject("an object", image, "body.media: must be an array"),
		reject("a text", []any{"https://example.com/a.png"}, "body.media[0]: must be an object"),
		reject("no address", []any{record{"kind": "image"}}, "body.media[0].url: is required"),
		reject("no kind", []any{image, record{"url": "https://example.com/a.png"}}, "body.media[1].kind: is required"),
		reject("an address of another kind", imageWith("url", "ftp://example.com/a.png"), "body.media[0].url: must be an http or https address"),
		reject("a script", imageWith("url", "javascript:alert(1)"), "body.media[0].url: must be an http or https address"),
		reject("a password", imageWith("url", "https://me:secret@example.com/a.png"), "body.media[0].url: must not have a user name"),
		reject("address of 2001", imageWith("url", "https://example.com/"+strings.Repeat("a", 1981)), "body.media[0].url: must have at most 2000"),
		reject("another kind", imageWith("kind", "gif"), "body.media[0].kind: must be one of image, video"),
		reject("description of 1001", imageWith("alt", strings.Repeat("é", 1001)), "body.media[0].alt: must have at most 1000"),
		reject("another property", imageWith("width", 100), "body.media[0].width: unknown property"),
	})
}

// Ensure an update replaces all media of a post. An update to null must remove them. Media that an
// import stored in a different shape must stay unchanged until an update replaces or removes them.
func TestUpdatePostMedia(t *testing.T) {
	t.Parallel()
	s := start(t)
	const imported = "2026-08-01T00:00:00.000Z"
	other := record{"images": []any{json.Number("12"), nil}}
	list := []any{record{"alt": "A", "kind": "image", "url": "https://example.com/a.png", "width": json.Number("7")}}
	importRecords(t, s, "post",
		record{"id": "pst_1", "platform": "x", "status": "draft", "body": "B", "media": other, "updatedAt": imported},
		record{"id": "pst_2", "platform": "x", "status": "draft", "body": "B", "media": list, "updatedAt": imported},
		record{"id": "pst_3", "platform": "x", "status": "published", "body": "B", "updatedAt": imported})
	update := func(name, id string, args, want record) apitest.Scenario {
		args["postId"] = id
		return apitest.Scenario{Name: name, Op: "update_broadcast_post", Args: args, WantFields: want}
	}
	image := []any{record{"url": "https://example.com/b.png", "kind": "image"}}
	const now = "2026-08-11T09:30:00.000Z"
	s.Run(t, []apitest.Scenario{
		update("another property", "pst_1", record{"title": "T"}, record{"media": other}),
		update("null", "pst_1", record{"media": nil}, record{"media": nil, "title": "T"}),
		update("another shape", "pst_2", record{"title": "T"}, record{"media": list, "updatedAt": now}),
		update("the whole list", "pst_2", record{"media": image}, record{"media": image}),
		update("none", "pst_2", record{"media": []any{}}, record{"media": []any{}}),
		{Name: "the imported shape", Op: "update_broadcast_post", Args: record{"postId": "pst_2", "media": list}, Want: 400, WantMessage: "body.media[0].width: unknown property"},
		{Name: "sent", Op: "update_broadcast_post", Args: record{"postId": "pst_3", "media": image}, Want: 409, WantMessage: "the post is published"},
	})
	s.Clock.Advance(time.Hour)
	s.Run(t, []apitest.Scenario{
		update("other pictures", "pst_2", record{"media": image}, record{"media": image}),
	})
	before := s.Call(t, s.IssueKey(t), "get_broadcast_post", record{"postId": "pst_2"})
	s.Clock.Advance(time.Hour)
	after := s.Call(t, s.IssueKey(t), "update_broadcast_post", record{"postId": "pst_2", "media": image})
	if after.Body != before.Body || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("the same pictures left %s, want %s", after.Body, before.Body)
	}
}

// Ensure a created post can be read by its id and is in every list whose filters match it.
func TestCreatedPostIsListed(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	r := s.Call(t, key, "create_broadcast_post", record{"platform": "push", "body": "B", "ideaId": "ida_1", "scheduledFor": laterTime, "status": "scheduled"})
	id, _ := r.JSON(t)["id"].(string)
	if !strings.HasPrefix(id, "pst_") || len(id) != 30 {
		t.Errorf("id %q", id)
	}
	if got := s.Call(t, key, "get_broadcast_post", record{"postId": id}); got.Status != 200 || got.Body != r.Body {
		t.Errorf("got %s, want %s", got.Body, r.Body)
	}
	for _, args := range []record{{}, {"platform": "push"}, {"status": "scheduled"}, {"ideaId": "ida_1"}, {"platform": "push", "status": "scheduled", "ideaId": "ida_1"}} {
		if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, []string{id}) {
			t.Errorf("list with %v: posts %v, want %s", args, got, id)
		}
	}
}

// Ensure every operation on a single post returns the same response for unknown ids, malformed ids
// and another company's ids.
func TestNoSuchPost(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "content-idea", record{"id": "ida_1"})
	key := s.IssueKey(t)
	other := start(t)
	importRecords(t, other, "post", record{"id": "pst_other", "status": "draft"})
	for _, op := range []string{"get_broadcast_post", "update_broadcast_post", "delete_broadcast_post"} {
		bodies := map[string]bool{}
		for _, id := range []string{"pst_unknown", "pst_other", "ida_1", "nonsense", "pst_#", "pst_1%2F2", strings.Repeat("a", 300)} {
			r := s.Call(t, key, op, record{"postId": id})
			if r.Status != 404 {
				t.Errorf("%s %s: status %d, want 404: %s", op, id, r.Status, r.Body)
			}
			bodies[r.Body] = true
		}
		if len(bodies) != 1 {
			t.Errorf("%s: %d different responses, want 1: %v", op, len(bodies), bodies)
		}
	}
	if got := idsOf(s.Call(t, key, "list_broadcast_ideas", nil).Items(t)); !slices.Equal(got, []string{"ida_1"}) {
		t.Errorf("a delete with the id of an idea left %v", got)
	}
}

// Ensure an update changes only the fields that were sent, and changes updatedAt only if a value
// changes.
func TestUpdatePost(t *testing.T) {
	t.Parallel()
	s := start(t)
	created := s.Call(t, s.IssueKey(t), "create_broadcast_post", record{"platform": "push", "body": "B", "title": "T", "hashtags": []string{"a"}}).JSON(t)
	id := created["id"]
	s.Clock.Advance(time.Hour)
	update := func(name string, args record, want record) apitest.Scenario {
		args["postId"] = id
		return apitest.Scenario{Name: name, Op: "update_broadcast_post", Args: args, WantFields: want}
	}
	const before, now = "2026-08-11T09:30:00.000Z", "2026-08-11T10:30:00.000Z"
	s.Run(t, []apitest.Scenario{
		update("empty", record{}, record{"updatedAt": before}),
		update("the stored values", record{"title": "T", "body": "B", "hashtags": []string{"a"}, "status": "draft"}, record{"updatedAt": before}),
		update("one", record{"destination": "beta"}, record{"destination": "beta", "title": "T", "body": "B", "createdAt": before, "updatedAt": now}),
		update("clear", record{"title": "", "hashtags": []string{}, "deepLink": "", "body": "", "destination": ""}, record{"title": "", "hashtags": []string{}, "deepLink": "", "body": "", "destination": ""}),
		update("all", record{"title": "T2", "body": "B2", "hashtags": []string{"c"}, "destination": "all", "deepLink": "a:b", "scheduledFor": "2026-09-01T10:00:00+02:00", "status": "scheduled"},
			record{"title": "T2", "body": "B2", "hashtags": []string{"c"}, "destination": "all", "deepLink": "a:b", "scheduledFor": laterTime, "status": "scheduled"}),
		{Name: "the same time in another format", Op: "update_broadcast_post", Args: record{"postId": id, "scheduledFor": "2026-09-01T08:00:00Z"}, WantFields: record{"scheduledFor": laterTime}},
		{Name: "body of 10001", Op: "update_broadcast_post", Args: record{"postId": id, "body": strings.Repeat("a", 10001)}, Want: 400, WantMessage: "body.body"},
		{Name: "title of 201", Op: "update_broadcast_post", Args: record{"postId": id, "title": strings.Repeat("a", 201)}, Want: 400, WantMessage: "body.title"},
		{Name: "threadParts are derived", Op: "update_broadcast_post", Args: record{"postId": id, "threadParts": []string{}}, Want: 400, WantMessage: "body.threadParts: unknown"},
	})
}

// Ensure changing the body updates threadParts. Imported threadParts must be kept unless the body
// changes.
func TestUpdateThread(t *testing.T) {
	t.Parallel()
	s := start(t)
	long := strings.Repeat("word ", 100)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "draft", "body": long, "threadParts": []string{"by", "hand"}})
	s.Run(t, []apitest.Scenario{
		{Name: "another field", Op: "update_broadcast_post", Args: record{"postId": "pst_1", "title": "T"}, WantFields: record{"threadParts": []string{"by", "hand"}}},
		{Name: "the same body", Op: "update_broadcast_post", Args: record{"postId": "pst_1", "body": long}, WantFields: record{"threadParts": []string{"by", "hand"}}},
		{Name: "nulls", Op: "update_broadcast_post", Args: record{"postId": "pst_1", "title": nil, "hashtags": nil, "deepLink": nil, "destination": nil},
			WantFields: record{"title": nil, "threadParts": []string{"by", "hand"}}},
		{Name: "a longer body", Op: "update_broadcast_post", Args: record{"postId": "pst_1", "body": long + "end"}, Check: func(t *testing.T, r apitest.Response) {
			if parts, _ := r.JSON(t)["threadParts"].([]any); len(parts) != 2 || !strings.HasSuffix(parts[1].(string), "word end") {
				t.Errorf("thread parts %q, want 2, the last with the new end", parts)
			}
		}},
		{Name: "a short body", Op: "update_broadcast_post", Args: record{"postId": "pst_1", "body": "short"}, WantFields: record{"threadParts": nil}},
	})
}

// Ensure an imported destination on a platform other than push can be cleared but not replaced.
func TestClearDestination(t *testing.T) {
	t.Parallel()
	s := start(t)
	storeUnchecked(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "draft", "body": "B", "destination": "beta"}, record{"id": "pst_2", "status": "draft", "destination": "beta"})
	for _, id := range []string{"pst_1", "pst_2"} {
		s.Run(t, []apitest.Scenario{
			{Name: "replaced", Op: "update_broadcast_post", Args: record{"postId": id, "destination": "alpha"}, Want: 400, WantMessage: "body.destination: is allowed only when platform is push"},
			{Name: "cleared", Op: "update_broadcast_post", Args: record{"postId": id, "destination": nil}, WantFields: record{"destination": nil}},
		})
	}
}

// Ensure a post whose scheduledFor is cleared is no longer due, and is listed by createdAt like
// other posts without a scheduledFor.
func TestClearScheduledFor(t *testing.T) {
	t.Parallel()
	s := start(t)
	key, store := s.IssueKey(t), broadcast.NewStore(s.Table)
	importRecords(t, s, "post",
		record{"id": "pst_1", "platform": "x", "ideaId": "ida_1", "status": "scheduled", "scheduledFor": "2026-08-03T00:00:00Z", "createdAt": "2026-08-01T00:00:00Z"},
		record{"id": "pst_2", "platform": "x", "ideaId": "ida_1", "status": "scheduled", "scheduledFor": "2026-08-02T00:00:00Z", "createdAt": "2026-08-01T00:00:00Z"})
	checkDue := func(want ...string) {
		t.Helper()
		posts, err := store.DuePosts(t.Context(), s.CompanyID, nil, "", 10)
		got := []string{}
		for _, p := range posts.Records {
			got = append(got, p.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("due: %v %v, want %v", got, err, want)
		}
	}
	checkDue("pst_2", "pst_1")
	if r := s.Call(t, key, "update_broadcast_post", record{"postId": "pst_1", "scheduledFor": nil, "status": "draft"}); r.Status != 200 {
		t.Fatalf("update: status %d, want 200: %s", r.Status, r.Body)
	}
	checkDue("pst_2")
	for _, args := range []record{{}, {"platform": "x"}, {"ideaId": "ida_1"}} {
		if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, []string{"pst_2", "pst_1"}) {
			t.Errorf("list with %v: posts %v, want pst_2 and pst_1", args, got)
		}
	}
	if _, err := store.ClaimPost(t.Context(), s.CompanyID, "pst_1"); err == nil {
		t.Error("a draft was claimed")
	}
}

// Ensure an update of status or scheduledFor moves the post to its new place in every index.
func TestUpdateMovesPost(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "post",
		record{"id": "pst_1", "platform": "x", "ideaId": "ida_1", "status": "scheduled", "scheduledFor": "2026-09-01T00:00:00Z"},
		record{"id": "pst_2", "platform": "x", "ideaId": "ida_1", "status": "scheduled", "scheduledFor": "2026-09-02T00:00:00Z"})
	checkLists := func(want ...string) {
		t.Helper()
		for _, args := range []record{{}, {"platform": "x"}, {"status": "scheduled"}, {"platform": "x", "status": "scheduled"}, {"ideaId": "ida_1"}} {
			if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", args, got, want)
			}
		}
	}
	checkLists("pst_2", "pst_1")
	s.Call(t, key, "update_broadcast_post", record{"postId": "pst_1", "scheduledFor": "2026-09-03T00:00:00Z"})
	checkLists("pst_1", "pst_2")
	s.Call(t, key, "update_broadcast_post", record{"postId": "pst_1", "status": "draft"})
	for status, want := range map[string]string{"draft": "pst_1", "scheduled": "pst_2"} {
		for _, args := range []record{{"status": status}, {"status": status, "platform": "x"}, {"status": status, "ideaId": "ida_1"}} {
			if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, []string{want}) {
				t.Errorf("%v: %v, want %v", args, got, want)
			}
		}
	}
}
