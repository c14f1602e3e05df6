package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/company"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// newServiceWithOwnTable returns a service with its own table, which no other test uses, and the
// options of that table.
func newServiceWithOwnTable(t *testing.T) (*apitest.Service, table.Options) {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	o := apitest.Options(t, s.Clock.Now, nil)
	o.Name = s.Table.NewID("test")
	s.ServingTable = table.New(o)
	s.Table = s.ServingTable.AsOperator()
	if err := s.Table.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Table.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.Keys = keys.NewStore(s.Table, s.Clock.Now)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler)))
	return s, o
}

// workEntry is an entry in one of the operator's lists: the list, the time, the company and the
// record.
type workEntry [4]string

// expectedWorkEntry is a second, independent implementation of the operator's lists. It returns the
// entry that a stored record must have, or false if the record must have none.
func expectedWorkEntry(item table.Item) (e workEntry, listed bool) {
	text := func(name string) string { return attributeText(item, name) }
	kind, _, _ := strings.Cut(text("sk"), "#")
	switch {
	case kind == "post" && text("status") == "scheduled" && text("scheduledFor") != "":
		e = workEntry{"posts#scheduled", text("scheduledFor")}
	case kind == "post" && text("status") == "publishing":
		e = workEntry{"posts#publishing", text("claimedAt")}
	case kind == "feedback" && text("replyStatus") == "approved" && text("replyBody") != "":
		e = workEntry{"replies#approved", ""}
	case kind == "feedback" && text("replyStatus") == "posting":
		e = workEntry{"replies#posting", text("claimedAt")}
	default:
		return e, false
	}
	e[2], e[3] = text("companyId"), text("id")
	return e, true
}

// scanItems returns all items of the table or of an index.
func scanItems(t testing.TB, s *apitest.Service, index table.Index) (items []table.Item) {
	t.Helper()
	in := &dynamodb.ScanInput{}
	if index == table.Base {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = aws.String(index.Name())
	}
	for {
		out, err := s.Table.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return items
		}
	}
}

func sortWork(entries []workEntry) []workEntry {
	slices.SortFunc(entries, func(a, b workEntry) int { return slices.Compare(a[:], b[:]) })
	return entries
}

// checkOperatorLists compares the operator's lists with the contents of the whole table, and
// returns the entries. It waits until the index has caught up with the table. The string `after`
// describes the last operation.
func checkOperatorLists(t *testing.T, s *apitest.Service, after string) (work []workEntry) {
	t.Helper()
	var companies, registered []string
	for _, item := range scanItems(t, s, table.Base) {
		if e, listed := expectedWorkEntry(item); listed {
			work = append(work, e)
		}
		switch pk := attributeText(item, "pk"); {
		case attributeText(item, "sk") == "profile":
			companies = append(companies, attributeText(item, "id"))
		case strings.HasPrefix(pk, "operator#companies#"):
			registered = append(registered, attributeText(item, "sk"))
		}
	}
	slices.Sort(companies)
	slices.Sort(registered)
	if diff := cmp.Diff(companies, registered); diff != "" {
		t.Errorf("after %s: the registry (-want +got):\n%s", after, diff)
	}
	sortWork(work)
	diff := ""
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		var got []workEntry
		for _, item := range scanItems(t, s, table.GSI6) {
			pk, sk := strings.Split(attributeText(item, "gsi6pk"), "#"), strings.Split(attributeText(item, "gsi6sk"), "#")
			if len(pk) != 4 || pk[0] != "operator" || len(sk) != 3 {
				t.Fatalf("after %s: the index has the entry %v", after, item)
			}
			got = append(got, workEntry{pk[1] + "#" + pk[2], sk[0], sk[1], sk[2]})
		}
		if diff = cmp.Diff(work, sortWork(got)); diff == "" {
			return work
		}
	}
	t.Errorf("after %s: the operator's index (-want +got):\n%s", after, diff)
	return work
}

// checkFinders compares the companies that the stores find with the entries in the lists.
func checkFinders(t *testing.T, s *apitest.Service, work []workEntry) {
	t.Helper()
	posts, replies := broadcast.NewStore(s.Table), feedback.NewStore(s.Table)
	for _, before := range []time.Duration{0, time.Hour, -time.Hour} {
		at := timestamp.Format(s.Clock.Now().Add(-before))
		for list, find := range map[string]func() ([]string, error){
			"posts#scheduled":  func() ([]string, error) { return posts.CompaniesWithDuePosts(t.Context()) },
			"posts#publishing": func() ([]string, error) { return posts.CompaniesWithClaimedPosts(t.Context(), at) },
			"replies#approved": func() ([]string, error) { return replies.CompaniesWithApprovedReplies(t.Context()) },
			"replies#posting":  func() ([]string, error) { return replies.CompaniesWithClaimedReplies(t.Context(), at) },
		} {
			until := at
			if list == "posts#scheduled" {
				until = s.Table.Now()
			}
			want := []string{}
			for _, e := range work {
				if e[0] == list && e[1] <= until {
					want = append(want, e[2])
				}
			}
			slices.Sort(want)
			got, err := find()
			if diff := cmp.Diff(slices.Compact(want), got, cmp.Transformer("nil", func(s []string) string { return fmt.Sprint(s) })); diff != "" || err != nil {
				t.Errorf("the companies in %s until %s (-want +got):\n%s%v", list, until, diff, err)
			}
		}
	}
}

// Ensure the operator's lists agree with the contents of the whole table after each of many random
// operations: creates, updates, deletes, pushes, imports, merges, claims, reports and erasures. The
// companies have records with the same ids.
func TestOperatorListsAreRight(t *testing.T) {
	t.Parallel()
	steps := 600
	if testing.Short() {
		steps = 60
	}
	s, _ := newServiceWithOwnTable(t)
	seed := uint64(time.Now().UnixNano())
	w := &workWalk{t: t, s: s, random: mathrand.New(mathrand.NewPCG(seed, 1)), keys: map[string]string{}}
	t.Logf("the seed is %d", seed)
	for range 3 {
		w.createCompany()
	}
	w.claimPostAndReply(w.companies[0])
	checkFinders(t, s, checkOperatorLists(t, s, "a claim of a post and of a reply"))
	for n := range steps {
		s.Clock.Advance(time.Duration(w.random.IntN(10)) * time.Minute)
		name := w.step()
		work := checkOperatorLists(t, s, fmt.Sprintf("step %d, %s", n, name))
		if n%10 == 0 {
			checkFinders(t, s, work)
		}
		if t.Failed() {
			return
		}
	}
}

// workWalk performs random operations on posts and replies.
type workWalk struct {
	t      *testing.T
	s      *apitest.Service
	random *mathrand.Rand

	companies []string
	keys      map[string]string // secret API keys by company id
}

func pick[T any](w *workWalk, values ...T) T { return values[w.random.IntN(len(values))] }

func (w *workWalk) createCompany() {
	w.t.Helper()
	c := company.Company{ID: w.s.Table.NewID(id.CompanyPrefix), Name: new("N")}
	if err := company.NewStore(w.s.Table).Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	service := *w.s
	service.CompanyID = c.ID
	w.keys[c.ID] = service.IssueKey(w.t)
	w.companies = append(w.companies, c.ID)
}

// claimPostAndReply creates a post that is due and a reply that is approved, and claims both.
func (w *workWalk) claimPostAndReply(companyID string) {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	service := *w.s
	service.CompanyID = companyID
	importLines(t, &service, "post", json.RawMessage(`{"id":"pst_1","platform":"x","body":"B","status":"scheduled","scheduledFor":"2020-01-01T00:00:00Z"}`))
	importLines(t, &service, "feedback", json.RawMessage(`{"id":"fbk_1","source":"reddit","externalId":"fbk_1","replyBody":"Thanks","replyStatus":"approved"}`))
	_, err := broadcast.NewStore(w.s.Table).ClaimPost(ctx, companyID, "pst_1")
	if err != nil {
		t.Fatal(err)
	}
	replies, err := feedback.NewStore(w.s.Table).ApprovedReplies(ctx, companyID, nil, "", 1)
	if err != nil || len(replies.Records) != 1 {
		t.Fatalf("the approved replies are %v, want one: %v", replies.Records, err)
	}
	if _, err := feedback.NewStore(w.s.Table).ClaimReply(ctx, companyID, replies.Records[0].ID, nil); err != nil {
		t.Fatal(err)
	}
}

// randomTime returns a time around now, or null.
func (w *workWalk) randomTime() any {
	if w.random.IntN(6) == 0 {
		return nil
	}
	return timestamp.Format(w.s.Clock.Now().Add(time.Duration(w.random.IntN(240)-120) * time.Minute))
}

// step performs one random operation, which the service may refuse, and returns a description of
// it.
func (w *workWalk) step() string {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	service := *w.s
	service.CompanyID = pick(w, w.companies...)
	key := w.keys[service.CompanyID]
	post, review := pick(w, "pst_1", "pst_2", "pst_3"), pick(w, "fbk_1", "fbk_2")
	call := func(op string, args map[string]any) string {
		r := service.Call(t, key, op, args)
		if r.Status >= 500 {
			t.Fatalf("%s %v: %d %s", op, args, r.Status, r.Body)
		}
		return fmt.Sprint(op, args, r.Status)
	}
	importRecord := func(kind string, record map[string]any) string {
		text := marshal(t, record)
		typ := typeNamed(t, functions.Transfers(w.s.Table), kind)
		checked, problems := typ.Check(text)
		if len(problems) > 0 {
			return fmt.Sprint("a refused import of ", string(text))
		}
		var err error
		if typ.CanMerge() && w.random.IntN(2) == 0 {
			_, err = typ.Merge(ctx, service.CompanyID, []any{checked})
		} else {
			err = typ.Write(ctx, service.CompanyID, []any{checked})
		}
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("an import of ", string(text))
	}
	posts, replies := broadcast.NewStore(w.s.Table), feedback.NewStore(w.s.Table)
	switch w.random.IntN(14) {
	case 0:
		return call("create_broadcast_post", map[string]any{"platform": "x", "body": "B", "status": pick(w, "draft", "scheduled"), "scheduledFor": w.randomTime()})
	case 1:
		return call("update_broadcast_post", map[string]any{"postId": post, "status": pick(w, "draft", "scheduled"), "scheduledFor": w.randomTime()})
	case 2:
		return call("update_broadcast_post", map[string]any{"postId": post, "title": pick(w, "a", "b")})
	case 3:
		if w.random.IntN(3) == 0 {
			return call(pick(w, "delete_broadcast_post"), map[string]any{"postId": post})
		}
		return call("delete_feedback", map[string]any{"feedbackId": review})
	case 4, 5:
		return importRecord("post", map[string]any{"id": post, "platform": pick[any](w, "x", "push", nil), "body": "B", "status": pick(w, "draft", "scheduled", "publishing", "published", "failed"), "scheduledFor": w.randomTime()})
	case 6:
		_, err := posts.ClaimPost(ctx, service.CompanyID, post)
		return fmt.Sprint("a claim of a post ", err)
	case 7:
		claimed, err := posts.StuckPosts(ctx, service.CompanyID, "9")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claimed {
			claimID := ""
			if c.ClaimID != nil {
				claimID = *c.ClaimID
			}
			switch w.random.IntN(3) {
			case 0:
				_, err = posts.ReportPublished(ctx, service.CompanyID, c.ID, claimID, broadcast.Outcome{})
			case 1:
				_, err = posts.ReportFailed(ctx, service.CompanyID, c.ID, claimID, "no")
			case 2:
				_, err = posts.RetryPost(ctx, service.CompanyID, c.ID, claimID)
			}
		}
		return fmt.Sprint("reports of posts ", err)
	case 8, 9:
		return importRecord("feedback", map[string]any{
			"id": review, "source": "reddit", "externalId": review, "replyBody": pick[any](w, nil, "", "Thanks"), "priority": w.random.IntN(9),
			"replyStatus": pick(w, "none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"),
		})
	case 10:
		return call("push_feedback", map[string]any{"records": []any{map[string]any{"source": "reddit", "externalId": pick(w, review, "new"), "priority": w.random.IntN(9), "title": pick(w, "a", "b")}}})
	case 11:
		args := map[string]any{"feedbackId": review, "replyStatus": pick(w, "draft", "approved", "skipped")}
		if w.random.IntN(2) == 0 {
			args["replyBody"] = pick[any](w, nil, "Thanks", "Sorry")
		}
		return call("update_feedback_reply", args)
	case 12:
		_, err := replies.ClaimReply(ctx, service.CompanyID, review, nil)
		return fmt.Sprint("a claim of a reply ", err)
	}
	if w.random.IntN(8) == 0 {
		if _, err := company.NewStore(w.s.Table).Erase(ctx, service.CompanyID, nil); err != nil {
			t.Fatal(err)
		}
		w.companies = slices.DeleteFunc(w.companies, func(id string) bool { return id == service.CompanyID })
		w.createCompany()
		return "an erasure"
	}
	claimed, err := replies.StuckReplies(ctx, service.CompanyID, "9")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claimed {
		claimID := ""
		if c.ClaimID != nil {
			claimID = *c.ClaimID
		}
		if w.random.IntN(2) == 0 {
			_, err = replies.ReportPosted(ctx, service.CompanyID, c.ID, claimID)
		} else {
			_, err = replies.ReportReplyFailed(ctx, service.CompanyID, c.ID, claimID)
		}
	}
	return fmt.Sprint("reports of replies ", err)
}

// Ensure the read units that the operator's commands use to find due work do not depend on the
// number of companies without due work.
func TestPollUnitsAreFlat(t *testing.T) {
	t.Parallel()
	numbers := []int{1, 10, 100}
	if !testing.Short() {
		numbers = append(numbers, 1000)
	}
	s, _ := newServiceWithOwnTable(t)
	posts, replies, companyCount := broadcast.NewStore(s.Table), feedback.NewStore(s.Table), 0
	for _, n := range numbers {
		var items []table.Item
		for ; companyCount < n; companyCount++ {
			companyID, later := s.Table.NewID(id.CompanyPrefix), timestamp.Format(s.Clock.Now().Add(time.Hour))
			items = append(items, s.Table.NewItem(table.Keys{Key: table.RegistryKey(companyID)}, struct{}{}), s.Table.NewItem(table.Keys{
				Key:  table.Key{PK: table.Partition(companyID, "broadcast"), SK: "post#pst_1"},
				GSI6: table.WorkKey("posts#scheduled", later, companyID, "pst_1"),
			}, struct{}{}))
		}
		if err := s.Table.BatchPut(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		for name, find := range map[string]func(context.Context) ([]string, error){
			"due posts": posts.CompaniesWithDuePosts, "approved replies": replies.CompaniesWithApprovedReplies,
			"claimed posts":   func(ctx context.Context) ([]string, error) { return posts.CompaniesWithClaimedPosts(ctx, "9") },
			"claimed replies": func(ctx context.Context) ([]string, error) { return replies.CompaniesWithClaimedReplies(ctx, "9") },
		} {
			ctx, request := apitest.NewRequest(t)
			found, err := find(ctx)
			if err != nil || len(found) != 0 {
				t.Errorf("%s: the companies %v, error %v; want none", name, found, err)
			}
			if got, want := request.Usage(), (table.Usage{Calls: table.OperatorShards, Read: table.OperatorShards * 0.5}); got != want {
				t.Errorf("%s of %d companies: %+v, want %+v", name, n, got, want)
			}
		}
		ctx, request := apitest.NewRequest(t)
		ids, err := table.RegisteredCompanies(ctx, s.Table)
		if err != nil || len(ids) != n {
			t.Errorf("%d companies in the registry, error %v; want %d", len(ids), err, n)
		}
		t.Logf("the registry of %d companies: %+v", n, request.Usage())
	}
}
