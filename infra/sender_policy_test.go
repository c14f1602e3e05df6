package infra_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/company"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// runbookPolicies returns the policies in the runbook, with the given company's id.
func runbookPolicies(t *testing.T, companyID string) (out []policy) {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	replacer := strings.NewReplacer("REGION", "eu-central-1", "ACCOUNT", "111122223333", "table/TABLE", "table/workspace", "COMPANY", companyID)
	for _, block := range regexp.MustCompile("(?s)```json policy\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var document map[string]any
		if err := json.Unmarshal([]byte(replacer.Replace(block[1])), &document); err != nil {
			t.Fatalf("a policy in RUNBOOK.md: %v", err)
		}
		out = append(out, parsePolicy(t, "RUNBOOK.md", document))
	}
	if len(out) != 2 {
		t.Fatalf("RUNBOOK.md has %d policies, want one for posts and one for replies", len(out))
	}
	return out
}

// Ensure the policies in the runbook allow every table call that `workspace due` and `workspace
// approved` make for one company (not with --company all).
func TestRunbookPoliciesAllowSenders(t *testing.T) {
	t.Parallel()
	s := newDeployedStage(t)
	s.importFixture(t)
	policies := runbookPolicies(t, s.CompanyID)
	duePolicy, approvedPolicy := policies[0], policies[1]
	posts, replies, ctx := broadcast.NewStore(s.Table), feedback.NewStore(s.Table), t.Context()
	check := func(name string, p policy, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		calls := s.recorder.take(t, s.Table.Name())
		if len(calls) == 0 {
			t.Errorf("%s makes no call", name)
		}
		for _, call := range calls {
			if !p.allows(call) {
				t.Errorf("%s: the policy does not allow %s on %s in %q", name, call.action, call.resource, call.partitionKeys)
			}
		}
	}
	for _, p := range policies { // the commands make these calls to open a table in an AWS account
		_, err := company.NewStore(s.Table).Get(ctx, s.CompanyID)
		check("read the company", p, err)
		if _, err = company.NewStore(s.Table).Get(ctx, "co_0"); errors.Is(err, fault.ErrNotFound) {
			err = nil
		}
		check("open the table", p, err)
	}
	_, err := posts.DuePosts(ctx, s.CompanyID, nil, "", 10)
	check("list the due posts", duePolicy, err)
	_, err = posts.DuePosts(ctx, s.CompanyID, new(broadcast.PlatformX), "", 10)
	check("list the due posts of a platform", duePolicy, err)
	post, err := posts.ClaimPost(ctx, s.CompanyID, "pst_3")
	check("claim a post", duePolicy, err)
	_, err = posts.StuckPosts(ctx, s.CompanyID, s.Table.Now())
	check("list the stuck posts", duePolicy, err)
	_, err = posts.ReportPublished(ctx, s.CompanyID, "pst_3", *post.ClaimID, broadcast.Outcome{})
	check("report a post", duePolicy, err)

	_, err = replies.ApprovedReplies(ctx, s.CompanyID, nil, "", 10)
	check("list the approved replies", approvedPolicy, err)
	_, err = replies.ApprovedReplies(ctx, s.CompanyID, new(feedback.Source("google_play")), "", 10)
	check("list the approved replies of a source", approvedPolicy, err)
	reply, err := replies.ClaimReply(ctx, s.CompanyID, "fbk_3", nil)
	check("claim a reply", approvedPolicy, err)
	_, err = replies.StuckReplies(ctx, s.CompanyID, s.Table.Now())
	check("list the stuck replies", approvedPolicy, err)
	_, err = replies.ReportPosted(ctx, s.CompanyID, "fbk_3", *reply.ClaimID)
	check("report a reply", approvedPolicy, err)
}

// Ensure the policies in the runbook allow nothing else. The test tries every DynamoDB action on
// the table and its indexes, in every kind of partition, both of the company and of a different
// one, and without a partition key.
func TestRunbookPoliciesAllowNothingElse(t *testing.T) {
	t.Parallel()
	const otherCompanyID = "co_01kdvdna017fxb6j762bd9qnf5"
	for n, p := range runbookPolicies(t, someCompanyID) {
		area := []string{"broadcast", "feedback"}[n]
		allowedActions := map[string][]string{ // the allowed actions on the table, by partition
			table.Partition(someCompanyID, area): {"GetItem", "UpdateItem"}, table.Partition(someCompanyID, "company"): {"GetItem"},
			table.Partition("co_0", "company"): {"GetItem"},
		}
		lists := [][]string{ // index, partition
			{"gsi2", table.Partition(someCompanyID, "broadcast", "posts", "x", "scheduled")}, {"gsi2", table.Partition(someCompanyID, "broadcast", "posts", "-", "publishing")},
		}
		if area == "feedback" {
			lists = [][]string{
				{"gsi4", table.Partition(someCompanyID, area, "queue", "approved")}, {"gsi4", table.Partition(someCompanyID, area, "queue", "posting")},
				{"gsi2", table.Partition(someCompanyID, area, "reply", "approved", "reddit", "positive")},
			}
		}
		partitions := []string{
			table.Partition(someCompanyID, "broadcast", "posts"), table.Partition(someCompanyID, "broadcast", "posts", "x", "draft"), table.Partition(someCompanyID, "broadcast", "ideas"),
			table.Partition(someCompanyID, "feedback", "all"), table.Partition(someCompanyID, "feedback", "queue", "draft"), table.Partition(someCompanyID, "feedback", "reply", "draft", "reddit", "positive"),
		}
		for _, other := range areas() {
			partitions = append(partitions, table.Partition(someCompanyID, other), table.Partition(otherCompanyID, other), table.Partition("co_0", other))
		}
		partitions = append(partitions, table.RegistryKey(someCompanyID).PK, table.WorkKey("posts#scheduled", "", someCompanyID, "pst_1").PK)
		for _, l := range lists {
			partitions = append(partitions, l[1], strings.Replace(l[1], someCompanyID, otherCompanyID, 1))
		}
		for _, action := range dynamoActions {
			for _, resource := range append(indexARNs(table.Indexes()), tableARN, foreignARN, foreignARN+"/index/gsi2") {
				index, isIndex := strings.CutPrefix(resource, tableARN+"/index/")
				for _, partition := range partitions {
					want := resource == tableARN && slices.Contains(allowedActions[partition], action) ||
						isIndex && action == "Query" && slices.ContainsFunc(lists, func(l []string) bool { return l[0] == index && l[1] == partition })
					if got := p.allows(callAccess{"dynamodb:" + action, resource, []string{partition}}); got != want {
						t.Errorf("%s: %s on %s in %s is allowed: %t, want %t", area, action, resource, partition, got, want)
					}
				}
				if p.allows(callAccess{"dynamodb:" + action, resource, nil}) || p.allows(callAccess{"dynamodb:" + action, resource, []string{table.Partition(someCompanyID, area), table.Partition(otherCompanyID, area)}}) {
					t.Errorf("%s: %s on %s is allowed without a partition key, or also in another company", area, action, resource)
				}
			}
		}
	}
}
