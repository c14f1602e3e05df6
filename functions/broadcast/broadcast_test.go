package broadcast_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

func start(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, broadcast.Operations)
}

type record = map[string]any

func transferType(t *testing.T, s *apitest.Service, name string) transfer.Type {
	t.Helper()
	for _, typ := range broadcast.Transfers(s.Table) {
		if typ.Name == name {
			return typ
		}
	}
	t.Fatalf("no type %s", name)
	return transfer.Type{}
}

func importRecords(t *testing.T, s *apitest.Service, name string, records ...record) {
	t.Helper()
	typ := transferType(t, s, name)
	checked := make([]any, len(records))
	for i, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var problems []string
		if checked[i], problems = typ.Check(text); len(problems) > 0 {
			t.Fatalf("record %s: problems %v, want none", text, problems)
		}
	}
	if err := typ.Write(t.Context(), s.CompanyID, checked); err != nil {
		t.Fatal(err)
	}
}

func idsOf(items []map[string]any) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, item["id"].(string))
	}
	return out
}

// listAllIDs returns the ids on all pages of a list, one slice per page. target is the URL of the
// first page.
func listAllIDs(t *testing.T, s *apitest.Service, key, target string) (pages [][]string) {
	t.Helper()
	for target != "" {
		r := s.Send(t, key, "GET", target, "")
		pages = append(pages, idsOf(r.Items(t)))
		target = nextPage(t, r)
	}
	return pages
}

// nextPage returns the URL of the next page, or "" at the end of the list.
func nextPage(t *testing.T, r apitest.Response) string {
	t.Helper()
	link, more := r.Header.Get("Link"), r.Header.Get("Service-Has-More")
	if (more == "true") != (link != "") {
		t.Fatalf("Service-Has-More %q with Link %q", more, link)
	}
	var target string
	if link != "" {
		if _, err := fmt.Sscanf(link, "<%s", &target); err != nil {
			t.Fatal(err)
		}
		target = target[:len(target)-len(">;")]
	}
	return target
}

// Ensure plans are listed newest first, and plans without createdAt last. Plans with the same
// createdAt are ordered by id. Paging must work with any limit.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	const plans = "/v1/companies/{companyId}/broadcast/plans"
	if r := s.Send(t, key, "GET", plans, ""); r.Body != `{"items":[]}` || r.Header.Get("Service-Has-More") != "false" {
		t.Errorf("empty: %s", r.Body)
	}
	importRecords(t, s, "content-plan",
		record{"id": "pln_b", "createdAt": "2026-01-02T00:00:00Z"},
		record{"id": "pln_a", "createdAt": "2026-01-02T01:00:00+01:00"},
		record{"id": "pln_none"},
		record{"id": "pln_new", "createdAt": "2026-03-01T00:00:00Z", "name": "Spring", "platforms": []string{"x"}, "status": "active"},
		record{"id": "pln_old", "createdAt": "2025-03-01T00:00:00Z"},
	)
	importRecords(t, s, "content-idea", record{"id": "ida_1", "createdAt": "2026-03-01T00:00:00Z"}) // stored in the same partition, but must not be listed
	want := []string{"pln_new", "pln_a", "pln_b", "pln_old", "pln_none"}
	for limit := 1; limit <= len(want)+1; limit++ {
		pages := listAllIDs(t, s, key, fmt.Sprintf("%s?limit=%d", plans, limit))
		if got := slices.Concat(pages...); !slices.Equal(got, want) || len(pages) != (len(want)+limit-1)/limit {
			t.Errorf("limit %d: %v", limit, pages)
		}
	}
	got := s.Send(t, key, "GET", plans+"?limit=1", "").Body
	first := `{"items":[{"id":"pln_new","companyId":"` + s.CompanyID +
		`","name":"Spring","brief":null,"objective":null,"goalId":null,"audience":null,"platforms":["x"],"contentTypeIds":null,"cadence":null,` +
		`"status":"active","startsAt":null,"endsAt":null,"createdAt":"2026-03-01T00:00:00.000Z","updatedAt":null}]}`
	if got != first {
		t.Errorf("the first page\ngot  %s\nwant %s", got, first)
	}
	s.Run(t, []apitest.Scenario{
		{Name: "limit 100", Op: "list_broadcast_plans", Args: record{"limit": 100}},
		{Name: "status is not a filter of plans", Op: "list_broadcast_plans", Args: record{"status": "active"}, Want: 400, WantMessage: "query.status: unknown"},
	})
}

// Ensure all channels are returned on a single page, ordered by platform and then by id. Channels
// without a platform come last.
func TestChannels(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "channel",
		record{"id": "chn_1", "platform": nil},
		record{"id": "chn_3", "platform": "x"},
		record{"id": "chn_2", "platform": "x", "credentialsValid": false, "lastError": "expired", "status": "error", "active": true},
		record{"id": "chn_4", "platform": "facebook"},
		record{"id": "chn_5", "platform": "push"},
	)
	s.Run(t, []apitest.Scenario{
		{Name: "order", Op: "list_broadcast_channels", Check: func(t *testing.T, r apitest.Response) {
			if diff := cmp.Diff([]string{"chn_4", "chn_5", "chn_2", "chn_3", "chn_1"}, idsOf(r.Items(t))); diff != "" {
				t.Errorf("channels (-want +got):\n%s", diff)
			}
			if more := r.Header.Get("Service-Has-More"); more != "false" {
				t.Errorf("Service-Has-More %q, want false", more)
			}
			channel := r.Items(t)[2]
			want := record{"fields": 15, "credentialsValid": false, "active": true, "name": nil}
			got := record{"fields": len(channel), "credentialsValid": channel["credentialsValid"], "active": channel["active"], "name": channel["name"]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("channel %v (-want +got):\n%s", channel, diff)
			}
		}},
		{Name: "no limit", Op: "list_broadcast_channels", Args: record{"limit": 1}, Want: 400, WantMessage: "query.limit: unknown"},
		{Name: "no such cursor", Op: "list_broadcast_channels", Args: record{"cursor": "x"}, Want: 400, WantMessage: "query.cursor: is not a cursor of this list"},
	})
}

// storeUnchecked stores records without checking them against the rules.
func storeUnchecked(t *testing.T, s *apitest.Service, name string, records ...record) {
	t.Helper()
	typ := transferType(t, s, name)
	var read []any
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		old := reflect.New(typ.Record)
		if problems := schema.DecodeRecord([]byte(text), old.Interface()); !slices.Equal(problems, []string{"record.companyId: is required"}) {
			t.Fatalf("record %s: problems %q, want only that companyId is required", text, problems)
		}
		read = append(read, old.Elem().Interface())
	}
	if err := typ.Write(t.Context(), s.CompanyID, read); err != nil {
		t.Fatal(err)
	}
}
