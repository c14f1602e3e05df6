package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/shared/id"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// largeCounts is the number of records of the types of which a large company does not have
// largeCountDefault. largePage is smaller, so that lists have several pages.
const largeCountDefault, largePage = 120, 50

var largeCounts = map[string]int{"company": 1, "brand-kit": 1, "channel": 1, "site": 9, "feedback": 700, "item": 400, "post": 400, "metric-point": 400}

// listedTypes maps each list of importable records to their type, and to the property with the id of
// the record under which it lists, if it has one. The lists of work and of points have tests of
// their own: TestDuePosts of functions/broadcast, TestApprovedReplies of functions/feedback, and
// TestRoundTrip of functions/metrics.
var listedTypes = map[string][2]string{
	"list_plan_boards": {"board"}, "list_plan_items": {"item", "roadmapId"}, "list_feedback": {"feedback"}, "list_metric_definitions": {"metric-definition"},
	"list_optimise_sites": {"site"}, "list_optimise_goals": {"site-goal", "siteId"}, "list_optimise_audits": {"audit"}, "list_broadcast_plans": {"content-plan"},
	"list_broadcast_ideas": {"content-idea"}, "list_broadcast_posts": {"post"}, "list_broadcast_channels": {"channel"}, "list_context_content_types": {"content-type"},
	"list_context_goals": {"brand-goal"}, "list_due_posts": {}, "list_approved_replies": {}, "list_metric_points": {},
}

// Ensure an export of a large company contains what was imported, an import of the export gives the
// same company, and each list returns each of its records once, unchanged and in the order that
// functions/testdata states. Texts contain characters that often break encoders, and times and
// numbers are often equal, because sorting bugs show up in ties.
func TestLargeCompany(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t, nil)
	kinds := functions.Transfers(s.Table)
	imported := largeCompany(t, kinds)
	s.CompanyID = s.Table.NewID(id.CompanyPrefix)
	importCompany(t, s, kinds, imported)
	exported := exportCompany(t, s, kinds)
	for _, kind := range kinds {
		if len(exported[kind.Name]) != len(imported[kind.Name]) {
			t.Fatalf("%s: %d records were imported, and %d exported", kind.Name, len(imported[kind.Name]), len(exported[kind.Name]))
		}
		for name, want := range imported[kind.Name] {
			got := exported[kind.Name][name]
			for property, value := range want {
				if diff := cmp.Diff(withParsedTimes(value), withParsedTimes(got[property])); value != nil && property != "companyId" && diff != "" {
					t.Errorf("%s %s: %s (-imported +exported): %s", kind.Name, name, property, diff)
				}
			}
		}
	}
	checkLists(t, s, exported)

	copied := *s
	copied.CompanyID = s.Table.NewID(id.CompanyPrefix)
	importCompany(t, &copied, kinds, exported)
	if diff := cmp.Diff(exported, exportCompany(t, &copied, kinds)); diff != "" {
		t.Errorf("the export of an imported export differs (-first +second): %.2000s", diff)
	}
}

// companyRecords are the records of a company by type and by their identity within the type.
type companyRecords map[string]map[string]object

// recordIdentity returns what identifies a record within its type.
func recordIdentity(kind string, r object) string {
	switch kind {
	case "company", "brand-kit":
		return kind
	case "metric-point":
		return fmt.Sprint(r["metricKey"], r["grain"], r.text("ts")[:len(time.DateOnly)], r["dims"])
	}
	return r.text("id")
}

func importCompany(t *testing.T, s *apitest.Service, kinds []transfer.Type, records companyRecords) {
	t.Helper()
	for _, kind := range kinds { // in this order, every type follows the types that its records refer to
		var lines []json.RawMessage
		for _, name := range slices.Sorted(maps.Keys(records[kind.Name])) {
			r := maps.Clone(records[kind.Name][name])
			if delete(r, "companyId"); kind.Name == "company" {
				r["id"] = s.CompanyID
			}
			lines = append(lines, marshal(t, r))
		}
		for batch := range slices.Chunk(lines, 200) {
			importLinesOf(t, s, kinds, kind.Name, batch...)
		}
	}
}

// exportCompany exports a company. It leaves out the company's id, which differs after each import.
func exportCompany(t *testing.T, s *apitest.Service, kinds []transfer.Type) companyRecords {
	t.Helper()
	out := companyRecords{}
	for _, kind := range kinds {
		out[kind.Name] = map[string]object{}
		err := kind.Export(t.Context(), s.CompanyID, func(exported any) error {
			var r object
			err := json.Unmarshal(marshal(t, exported), &r)
			if delete(r, "companyId"); kind.Name == "company" {
				delete(r, "id")
			}
			name := recordIdentity(kind.Name, r)
			if out[kind.Name][name] != nil {
				t.Errorf("%s %s is exported twice", kind.Name, name)
			}
			out[kind.Name][name] = r
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// largeCompany returns variations of the fixture's records.
func largeCompany(t *testing.T, kinds []transfer.Type) companyRecords {
	t.Helper()
	random, bases, out := rand.New(rand.NewPCG(7, 11)), recordsByType(t), companyRecords{}
	ids := map[string][]string{}
	for _, kind := range kinds {
		count, known := largeCounts[kind.Name]
		if !known {
			count = largeCountDefault
		}
		orders := []string{}
		for operation, listed := range listedTypes {
			if o, _ := operationTable.Lookup(operation); listed[0] == kind.Name {
				orders = o.SortOrder
			}
		}
		out[kind.Name] = map[string]object{}
		for n := range count {
			r := varyRecord(t, random, kind, bases[kind.Name], n, strings.Join(orders, " "), ids)
			ids[kind.Name] = append(ids[kind.Name], r.text("id"))
			out[kind.Name][recordIdentity(kind.Name, r)] = r
		}
		if len(out[kind.Name]) != count {
			t.Fatalf("%s: only %d of %d records differ", kind.Name, len(out[kind.Name]), count)
		}
	}
	return out
}

var awkwardTexts = []string{"", "", "", "café", "日本語", "🌲", "<b>&</b>", `"quoted"`, "line\nbreak", "don't"}

// varyRecord returns the n-th variation of a record. It sets random values of the properties by which
// the record's list is sorted, and nulls where an import accepts them.
func varyRecord(t *testing.T, random *rand.Rand, kind transfer.Type, base map[string]any, n int, orders string, ids map[string][]string) object {
	t.Helper()
	r := object(maps.Clone(base))
	delete(r, "snapshot") // refers to items
	delete(r, "companyId")
	if delete(r, "id"); kind.Prefix != "" { // ids of all lengths, in no particular order
		r["id"] = fmt.Sprintf("%s_%sx%d", kind.Prefix, strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(30)), n)
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		text, isText := r[name].(string)
		_, err := time.Parse(time.RFC3339, text)
		switch {
		case name == "slug" || name == "externalId" || name == "publicKey" || name == "siteKey":
			r[name] = fmt.Sprintf("%s-%d", text, n)
		case name == "key" && n > 0: // the first keeps its key, which the points have
			r[name] = fmt.Sprintf("%s_%d", text, n)
		case kind.Name == "metric-point" && name == "ts":
			r[name] = apitest.Epoch.Truncate(24*time.Hour).AddDate(0, 0, -n).Format(time.RFC3339)
		case name == "roadmapId" || name == "siteId" || name == "planId" || name == "ideaId":
			parents := ids[map[string]string{"roadmapId": "board", "siteId": "site", "planId": "content-plan", "ideaId": "content-idea"}[name]]
			r[name] = parents[random.IntN(min(7, len(parents)))]
		case err == nil && strings.Contains(orders, name):
			r[name] = time.Date(2026, 1, 1+random.IntN(40), 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
		case strings.Contains(orders, name) && !isText:
			r[name] = float64(random.IntN(12))
		case name == "title" || name == "name" || name == "body" || name == "summary":
			r[name] = text + awkwardTexts[random.IntN(len(awkwardTexts))]
		}
		changed := maps.Clone(r)
		changed[name] = nil
		isFixed := slices.Contains([]string{"id", "createdAt", "key", "slug", "publicKey", "siteKey", "siteId", "roadmapId", "replyStatus", "grain", "dims"}, name)
		if _, problems := kind.Check(marshal(t, changed)); !isFixed && random.IntN(8) == 0 && len(problems) == 0 {
			r = changed
		}
	}
	return r
}

// checkLists compares each list, page by page, with the records that it must have.
func checkLists(t *testing.T, s *apitest.Service, records companyRecords) {
	t.Helper()
	key := s.IssueKey(t)
	for _, o := range operationTable {
		listed, known := listedTypes[o.ID]
		if !known && o.SortOrder != nil {
			t.Errorf("%s: add it to listedTypes", o.ID)
		}
		kind, parent := listed[0], listed[1]
		if kind == "" {
			continue
		}
		op := operationNamed(t, o.ID)
		byParent := map[string][]object{}
		for _, r := range records[kind] {
			byParent[r.text(parent)] = append(byParent[r.text(parent)], r)
		}
		for parentID, want := range byParent {
			slices.SortFunc(want, func(a, b object) int { return compareByOrder(a, b, append(slices.Clone(o.SortOrder), "id")) })
			args := map[string]any{}
			if isPaged(op) {
				args["limit"] = fmt.Sprint(largePage)
			}
			for _, f := range pathFields(op) {
				args[f.Name] = parentID
			}
			got, shown, _ := listOverHTTP(t, s, key, op, args)
			var ids []string
			for _, r := range want {
				ids = append(ids, r.text("id"))
			}
			if diff := cmp.Diff(ids, got); diff != "" {
				t.Errorf("%s %s: the order is not %v (-want +got): %.1500s", o.ID, parentID, o.SortOrder, diff)
				continue
			}
			for _, r := range want {
				for property, value := range shown[r.text("id")] {
					if exported, has := r[property]; has && string(marshal(t, value)) != string(marshal(t, exported)) {
						t.Errorf("%s: %s of %s is %v, and was exported as %v", o.ID, property, r.text("id"), value, exported)
					}
				}
			}
		}
	}
}

// compareByOrder compares two records by the properties of an order, such as "-a|b" for a, or b if a
// is null, descending. Nulls are last.
func compareByOrder(a, b object, order []string) int {
	for _, names := range order {
		sign := 1
		if strings.HasPrefix(names, "-") {
			sign = -1
		}
		value := func(r object) any {
			for name := range strings.SplitSeq(strings.TrimPrefix(names, "-"), "|") {
				if r[name] != nil {
					return r[name]
				}
			}
			return nil
		}
		switch x, y := value(a), value(b); {
		case x == nil && y == nil:
		case x == nil:
			return 1
		case y == nil:
			return -1
		case x != y:
			if number, isNumber := x.(float64); isNumber && number < y.(float64) || !isNumber && x.(string) < y.(string) {
				return -sign
			}
			return sign
		}
	}
	return 0
}
