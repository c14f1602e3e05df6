package broadcast_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// expectedIDs returns the ids that a list must contain: those of the records that match the
// filters, sorted by time, latest first and null last, and then by id.
func expectedIDs(records []record, time func(record) any, filters map[string]string) []string {
	var matching []record
	for _, r := range records {
		keep := true
		for name, value := range filters {
			keep = keep && (value == "" || r[name] == value)
		}
		if keep {
			matching = append(matching, r)
		}
	}
	slices.SortFunc(matching, func(a, b record) int {
		x, hasX := time(a).(string)
		y, hasY := time(b).(string)
		if hasX != hasY {
			return map[bool]int{true: -1, false: 1}[hasX]
		}
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a["id"].(string), b["id"].(string)))
	})
	return idsOf(matching)
}

// valueOrNull returns values[n], or null if n is past the last value.
func valueOrNull(values []string, n int) any {
	if n == len(values) {
		return nil
	}
	return values[n]
}

// edgeTimes contains the first and last instants of a day, the instants just before and after that
// day, and a time before 1970.
var edgeTimes = []string{"1969-07-20T20:17:40.000Z", "2026-02-28T23:59:59.999Z", "2026-03-01T00:00:00.000Z", "2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00.000Z"}

// randomTime returns one of edgeTimes or null, so that many records share the same time.
func randomTime(random *rand.Rand) any { return valueOrNull(edgeTimes, random.IntN(len(edgeTimes)+1)) }

func listTarget(list string, filters map[string]string, limit int) string {
	q := url.Values{"limit": {fmt.Sprint(limit)}}
	for name, value := range filters {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "/v1/companies/{companyId}/broadcast/" + list + "?" + q.Encode()
}

// manyPosts returns posts for every combination of platform, status and idea, null included. Some
// posts have equal times, and some have none.
func manyPosts() (posts []record) {
	random := rand.New(rand.NewPCG(3, 4))
	for p := range len(broadcast.Platform("").Values()) + 1 {
		for st := range len(broadcast.PostStatus("").Values()) + 1 {
			for _, idea := range []any{"ida_a", "ida_b", nil} {
				posts = append(posts, record{
					"id":       fmt.Sprintf("pst_%03d", random.IntN(900)+1000*len(posts)),
					"platform": valueOrNull(broadcast.Platform("").Values(), p), "status": valueOrNull(broadcast.PostStatus("").Values(), st),
					"ideaId": idea, "scheduledFor": randomTime(random), "createdAt": randomTime(random),
				})
			}
		}
	}
	return posts
}

func postTime(p record) any {
	if p["scheduledFor"] != nil {
		return p["scheduledFor"]
	}
	return p["createdAt"]
}

// Ensure the list of posts is sorted and can be filtered by every combination of platform, status
// and ideaId. Without a filter on a field, the list must include the posts in which that field is
// null.
func TestPostFilters(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	posts := manyPosts()
	storeUnchecked(t, s, "post", posts...)
	importRecords(t, s, "content-idea", record{"id": "ida_a"}, record{"id": "ida_b"})
	for _, platform := range append(broadcast.Platform("").Values(), "") {
		for _, status := range append(broadcast.PostStatus("").Values(), "") {
			for _, idea := range []string{"ida_a", "ida_unknown", ""} {
				if testing.Short() && idea == "ida_unknown" {
					continue
				}
				filters := map[string]string{"platform": platform, "status": status, "ideaId": idea}
				want := expectedIDs(posts, postTime, filters)
				if got := idsOf(s.Send(t, key, "GET", listTarget("posts", filters, 200), "").Items(t)); !slices.Equal(got, want) {
					t.Errorf("%v: got %v, want %v", filters, got, want)
				}
			}
		}
	}
}

// Ensure paging through a list of posts neither skips nor repeats posts, with any limit and in any
// index.
func TestPostPages(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	posts := manyPosts()
	storeUnchecked(t, s, "post", posts...)
	for _, filters := range []map[string]string{
		{}, {"platform": "x"}, {"status": "draft"}, {"platform": "push", "status": "failed"}, {"ideaId": "ida_b"},
		{"ideaId": "ida_b", "status": "draft"}, {"ideaId": "ida_a", "platform": "x", "status": "failed"}, {"ideaId": "ida_c"},
	} {
		t.Run(fmt.Sprint(filters), func(t *testing.T) {
			key, want := s.IssueKey(t), expectedIDs(posts, postTime, filters)
			for _, limit := range []int{1, 2, 5, len(want) - 1, len(want), len(want) + 1, 200} {
				if limit < 1 {
					continue
				}
				pages := listAllIDs(t, s, key, listTarget("posts", filters, limit))
				if got := slices.Concat(pages...); !slices.Equal(got, want) || len(pages) != max(1, (len(want)+limit-1)/limit) {
					t.Errorf("limit %d: got %v, want %v", limit, pages, want)
				}
			}
		})
	}
}

// Ensure the list of ideas can be filtered by every combination of planId and status. Paging
// through it must neither skip nor repeat ideas.
func TestIdeas(t *testing.T) {
	t.Parallel()
	s := start(t)
	var ideas []record
	random := rand.New(rand.NewPCG(5, 6))
	for n := range 48 {
		ideas = append(ideas, record{
			"id": fmt.Sprintf("ida_%d", random.IntN(900)+1000*n), "planId": []any{"pln_a", "pln_b", nil}[n%3],
			"status": valueOrNull(broadcast.IdeaStatus("").Values(), n/3%4), "createdAt": randomTime(random),
		})
	}
	importRecords(t, s, "content-idea", ideas...)
	for _, plan := range []string{"", "pln_a", "pln_b", "pln_unknown"} {
		for _, status := range append(broadcast.IdeaStatus("").Values(), "") {
			key, filters := s.IssueKey(t), map[string]string{"planId": plan, "status": status}
			want := expectedIDs(ideas, func(i record) any { return i["createdAt"] }, filters)
			limits := []int{1, 3, max(1, len(want)), 200}
			if testing.Short() {
				limits = limits[1:3]
			}
			for _, limit := range limits {
				pages := listAllIDs(t, s, key, listTarget("ideas", filters, limit))
				if got := slices.Concat(pages...); !slices.Equal(got, want) || len(pages) != max(1, (len(want)+limit-1)/limit) {
					t.Errorf("%v limit %d: got %v, want %v", filters, limit, pages, want)
				}
			}
		}
	}
}

// Ensure filters and limits accept only the values in the specification. Filtering by a malformed
// id must return an empty list and never read a different partition.
func TestListArguments(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "content-idea", record{"id": "ida_1", "planId": "pln_1", "status": "accepted"})
	importRecords(t, s, "post", record{"id": "pst_1", "ideaId": "ida_1", "status": "draft"})
	checkEmpty := func(t *testing.T, r apitest.Response) {
		if more := r.Header.Get("Service-Has-More"); r.Body != `{"items":[]}` || more != "false" {
			t.Errorf("body %s, Service-Has-More %q; want no items and false", r.Body, more)
		}
	}
	scenarios := []apitest.Scenario{
		{Name: "ideas: status not in the list", Op: "list_broadcast_ideas", Args: record{"status": "draft"}, Want: 400, WantMessage: "query.status: must be one of suggested, accepted, rejected"},
		{Name: "ideas: limit 200", Op: "list_broadcast_ideas", Args: record{"limit": 200}},
		{Name: "ideas: planId of 51", Op: "list_broadcast_ideas", Args: record{"planId": fmt.Sprintf("%051d", 0)}, Want: 400, WantMessage: "query.planId"},
		{Name: "posts: status not in the list", Op: "list_broadcast_posts", Args: record{"status": "sent"}, Want: 400, WantMessage: "query.status: must be one of draft, scheduled, publishing, published, failed"},
		{Name: "posts: platform not in the list", Op: "list_broadcast_posts", Args: record{"platform": "X"}, Want: 400, WantMessage: "query.platform: must be one of x, instagram"},
		{Name: "posts: the key part of null is not a platform", Op: "list_broadcast_posts", Args: record{"platform": "-"}, Want: 400, WantMessage: "query.platform"},
		{Name: "posts: ideaId of 51", Op: "list_broadcast_posts", Args: record{"ideaId": fmt.Sprintf("%051d", 0)}, Want: 400, WantMessage: "query.ideaId"},
		{Name: "posts: other filters are checked with a malformed id", Op: "list_broadcast_posts", Args: record{"ideaId": "#", "status": "sent"}, Want: 400, WantMessage: "query.status"},
	}
	for _, text := range []string{"", "#", "ida", "ida_", "pln_1#accepted", "ida_1#", "pst_1", "-", "日本", "pln_1 ", "PLN_1"} {
		scenarios = append(scenarios,
			apitest.Scenario{Name: "ideas of " + text, Op: "list_broadcast_ideas", Args: record{"planId": text}, Check: checkEmpty},
			apitest.Scenario{Name: "posts of " + text, Op: "list_broadcast_posts", Args: record{"ideaId": text}, Check: checkEmpty})
	}
	s.Run(t, scenarios)
}

// Ensure that while posts are created and deleted, each page continues where the previous one
// ended: posts that are not deleted must be listed exactly once.
func TestPostsChangeBetweenPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	post := func(id string, day int) record {
		return record{"id": id, "platform": "x", "status": "draft", "scheduledFor": fmt.Sprintf("2026-05-%02dT00:00:00Z", day)}
	}
	for _, list := range []string{"posts?limit=2", "posts?limit=2&platform=x", "posts?limit=2&status=draft", "posts?limit=2&status=draft&platform=x"} {
		importRecords(t, s, "post", post("pst_9", 9), post("pst_8", 8), post("pst_6", 6), post("pst_5", 5), post("pst_3", 3))
		r := s.Send(t, key, "GET", "/v1/companies/{companyId}/broadcast/"+list, "")
		if got := idsOf(r.Items(t)); !slices.Equal(got, []string{"pst_9", "pst_8"}) {
			t.Fatalf("%s: first page %v, want pst_9 and pst_8", list, got)
		}
		for _, gone := range []string{"pst_8", "pst_5"} { // the last post of the first page, and a post of a later page
			if r := s.Send(t, key, "DELETE", "/v1/companies/{companyId}/broadcast/posts/"+gone, ""); r.Status != 200 {
				t.Fatalf("delete %s: status %d, want 200: %s", gone, r.Status, r.Body)
			}
		}
		importRecords(t, s, "post", post("pst_10", 10), post("pst_7", 7), post("pst_4", 4))
		if got := slices.Concat(listAllIDs(t, s, key, nextPage(t, r))...); !slices.Equal(got, []string{"pst_7", "pst_6", "pst_4", "pst_3"}) {
			t.Errorf("%s: later pages %v, want pst_7, pst_6, pst_4 and pst_3", list, got)
		}
		for _, gone := range []string{"pst_10", "pst_7", "pst_4"} {
			s.Send(t, key, "DELETE", "/v1/companies/{companyId}/broadcast/posts/"+gone, "")
		}
	}
}

// Ensure a cursor works only with the list and the filters that it was returned for.
func TestCursorIsBound(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x"}, record{"id": "pst_2", "platform": "x"})
	importRecords(t, s, "content-idea", record{"id": "ida_1"}, record{"id": "ida_2"})
	r := s.Send(t, s.IssueKey(t), "GET", "/v1/companies/{companyId}/broadcast/posts?limit=1&platform=x", "")
	next, err := url.Parse(nextPage(t, r))
	if err != nil {
		t.Fatal(err)
	}
	cursor := next.Query().Get("cursor")
	reject := func(name, op string, args record) apitest.Scenario {
		return apitest.Scenario{Name: name, Op: op, Args: args, Want: 400, WantMessage: "query.cursor: is not a cursor of this list"}
	}
	s.Run(t, []apitest.Scenario{
		{Name: "same list", Op: "list_broadcast_posts", Args: record{"platform": "x", "cursor": cursor}},
		{Name: "same list, another limit", Op: "list_broadcast_posts", Args: record{"platform": "x", "cursor": cursor, "limit": 7}},
		reject("no filter", "list_broadcast_posts", record{"cursor": cursor}),
		reject("another value", "list_broadcast_posts", record{"cursor": cursor, "platform": "push"}),
		reject("one filter more", "list_broadcast_posts", record{"cursor": cursor, "platform": "x", "status": "draft"}),
		reject("another list", "list_broadcast_ideas", record{"cursor": cursor}),
		reject("another list in memory", "list_broadcast_plans", record{"cursor": cursor}),
		reject("no cursor", "list_broadcast_posts", record{"cursor": "abc", "platform": "x"}),
	})
}

// Ensure due posts can be read, earliest first, from the partitions given in the comment on Store,
// because a dispatcher may read them directly.
func TestDuePostsByKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	storeUnchecked(t, s, "post",
		record{"id": "pst_2", "platform": "x", "status": "scheduled", "scheduledFor": "2026-08-02T00:00:00Z"},
		record{"id": "pst_1", "platform": "push", "status": "scheduled", "scheduledFor": "2026-08-01T00:00:00Z"},
		record{"id": "pst_3", "platform": "x", "status": "scheduled", "scheduledFor": "2026-08-03T00:00:00Z"},
		record{"id": "pst_4", "platform": "x", "status": "draft", "scheduledFor": "2026-08-01T00:00:00Z"},
		record{"id": "pst_5", "platform": "x", "status": "scheduled"},
	)
	q := table.Query{Index: table.GSI2, Descending: true, After: "~", Limit: 10}
	for _, platform := range broadcast.Platform("").Values() {
		q.Partitions = append(q.Partitions, table.Partition(s.CompanyID, "broadcast", "posts", platform, "scheduled"))
	}
	due, err := table.List[broadcast.Post](t.Context(), s.Table, q)
	var got []string
	for _, p := range due.Records {
		got = append(got, p.ID)
	}
	if err != nil || !slices.Equal(got, []string{"pst_1", "pst_2", "pst_3"}) {
		t.Errorf("posts %v, want pst_1, pst_2 and pst_3: %v", got, err)
	}
}

// postsBetween returns the posts in the days between from and to, both inclusive; "" means
// unbounded.
func postsBetween(posts []record, from, to string) []record {
	return slices.DeleteFunc(slices.Clone(posts), func(p record) bool {
		at, _ := postTime(p).(string)
		return (from != "" || to != "") && at == "" || from != "" && at[:10] < from || to != "" && at[:10] > to
	})
}

// Ensure listing posts with the from and to parameters returns exactly the posts in that range of
// days, in either sort order and with every kind of filter. Paging must neither skip nor repeat
// posts.
func TestPostsByDay(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	posts := manyPosts()
	storeUnchecked(t, s, "post", posts...)
	for _, filters := range []map[string]string{
		{}, {"platform": "x"}, {"status": "draft"}, {"platform": "push", "status": "failed"}, {"ideaId": "ida_b"}, {"ideaId": "ida_a", "status": "draft"},
	} {
		key := s.IssueKey(t)
		for _, window := range [][2]string{
			{"", ""}, {"2026-03-01", ""}, {"", "2026-03-01"}, {"2026-03-01", "2026-03-01"}, {"2026-02-28", "2026-03-02"}, {"2026-03-03", ""}, {"", "1969-07-19"}, {"0001-01-01", "9999-12-31"},
		} {
			for _, order := range []string{"", "desc", "asc"} {
				args := map[string]string{"from": window[0], "to": window[1], "order": order}
				want := expectedIDs(postsBetween(posts, window[0], window[1]), postTime, filters)
				if order == "asc" {
					slices.Reverse(want)
				}
				for name, value := range filters {
					args[name] = value
				}
				for _, limit := range []int{1 + len(want)/3, 200} {
					pages := listAllIDs(t, s, key, listTarget("posts", args, limit))
					if got := slices.Concat(pages...); !slices.Equal(got, want) || len(pages) != max(1, (len(want)+limit-1)/limit) {
						t.Errorf("%v limit %d: got %v, want %v", args, limit, pages, want)
					}
				}
			}
		}
	}
}

// Ensure listing posts with a nonexistent day, a "from" day after the "to" day or an invalid sort
// order is refused. A post's day must be the UTC day of its time. A cursor must work only with the
// days and the sort order that it was returned for.
func TestPostDayArguments(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "post", record{"id": "pst_1", "scheduledFor": "2026-03-01T00:00:00Z"}, record{"id": "pst_2", "scheduledFor": "2026-03-01T23:59:59.999Z"}, record{"id": "pst_3", "scheduledFor": "2026-03-02T00:00:00Z"})
	const list = "list_broadcast_posts"
	checkBoth := func(t *testing.T, r apitest.Response) {
		if got := idsOf(r.Items(t)); !slices.Equal(got, []string{"pst_2", "pst_1"}) {
			t.Errorf("posts %v, want pst_2 and pst_1", got)
		}
	}
	r := s.Call(t, s.IssueKey(t), list, record{"limit": 1, "from": "2026-03-01", "order": "asc"})
	next, err := url.Parse(nextPage(t, r))
	if err != nil {
		t.Fatal(err)
	}
	cursor := next.Query().Get("cursor")
	reject := func(name string, args record) apitest.Scenario {
		args["cursor"] = cursor
		return apitest.Scenario{Name: name, Op: list, Args: args, Want: 400, WantMessage: "query.cursor: is not a cursor of this list with these filters"}
	}
	s.Run(t, []apitest.Scenario{
		{Name: "one day", Op: list, Args: record{"from": "2026-03-01", "to": "2026-03-01"}, Check: checkBoth},
		{Name: "times of the day, with an offset", Op: list, Args: record{"from": "2026-03-02T00:59:00+01:00", "to": "2026-03-01T12:00:00Z"}, Check: checkBoth},
		{Name: "from after to", Op: list, Args: record{"from": "2026-03-02", "to": "2026-03-01"}, Want: 400, WantMessage: "query.from: must not be after to"},
		{Name: "a day that does not exist", Op: list, Args: record{"from": "2026-02-29"}, Want: 400, WantMessage: "query.from: must be a day, for example 2026-08-11"},
		{Name: "a month that does not exist", Op: list, Args: record{"to": "2026-13-01"}, Want: 400, WantMessage: "query.to: must be a day"},
		{Name: "no day", Op: list, Args: record{"from": "", "to": "today"}, Want: 400, Check: checkMessageCount(2)},
		{Name: "another order", Op: list, Args: record{"order": "ASC"}, Want: 400, WantMessage: "query.order: must be one of desc, asc"},
		{Name: "all problems at once", Op: list, Args: record{"from": "2026-03-02", "to": "2026-03-01", "order": "x", "status": "sent"}, Want: 400, Check: checkMessageCount(3)},
		{Name: "ideas have no days", Op: "list_broadcast_ideas", Args: record{"from": "2026-03-01"}, Want: 400, WantMessage: "query.from: unknown"},
		{Name: "the cursor", Op: list, Args: record{"from": "2026-03-01", "order": "asc", "cursor": cursor}, Check: func(t *testing.T, r apitest.Response) {
			if got := idsOf(r.Items(t)); !slices.Equal(got, []string{"pst_2", "pst_3"}) {
				t.Errorf("posts %v, want pst_2 and pst_3", got)
			}
		}},
		reject("no days", record{"order": "asc"}),
		reject("another day", record{"from": "2026-03-02", "order": "asc"}),
		reject("one day more", record{"from": "2026-03-01", "to": "2026-03-05", "order": "asc"}),
		reject("the other order", record{"from": "2026-03-01", "order": "desc"}),
		reject("the default order", record{"from": "2026-03-01"}),
	})
}
