package contract

import (
	"fmt"
	"net/http"
	"slices"

	"growthworkspace/shared/fault"
)

const (
	planPathPrefix = "/broadcast/plans/"
	ideaPathPrefix = "/broadcast/ideas/"
)

// checkIdeaLifecycle creates a plan with an idea, removes the idea from the plan, and deletes both.
// It requires that the service refuses a plan that ends before it starts.
func checkIdeaLifecycle(k *runner) {
	plan, ok := k.create(k.companyPath("/broadcast/plans"), `{"name":"Conformance check","platforms":["x"],"startsAt":"`+farFuture+`"}`, planPathPrefix)
	if !ok {
		return
	}
	defer k.remove(plan)
	k.checkSchema("create_broadcast_plan", plan.response)
	k.checkFields(plan.request, plan.fields, map[string]any{"status": "draft", "startsAt": farFuture, "endsAt": nil, "companyId": k.company})
	k.checkError(k.do(http.MethodPatch, plan.path, `{"endsAt":"2098-12-31T23:59:59Z"}`), fault.BadRequest, "endsAt")
	k.checkError(k.do(http.MethodPatch, plan.path, `{"platforms":["x","blog"]}`), fault.BadRequest, "platforms[1]")
	k.checkUpdate(plan, `{"status":"complete","endsAt":"`+farFuture+`","platforms":null}`, "update_broadcast_plan", map[string]any{"status": "complete", "endsAt": farFuture, "platforms": nil})
	idea, ok := k.create(k.companyPath("/broadcast/ideas"), fmt.Sprintf(`{"title":"Conformance check","planId":%q}`, plan.fields["id"]), ideaPathPrefix)
	if !ok {
		return
	}
	defer k.remove(idea)
	k.checkSchema("create_broadcast_idea", idea.response)
	k.checkFields(idea.request, idea.fields, map[string]any{"status": "suggested", "sourceKind": "manual", "planId": plan.fields["id"]})
	k.checkDelete(plan)
	k.checkUpdate(idea, `{"status":"accepted","planId":null}`, "update_broadcast_idea", map[string]any{"status": "accepted", "planId": nil})
	k.checkDelete(idea)
}

// checkPostDays lists the posts from the day of the second post in the full list to the day of the
// first. In both sort orders, the result must contain exactly the posts of these days.
func checkPostDays(k *runner) {
	k.eachList(func(p discoveredRead) {
		whole := p.records()
		if p.ID != "list_broadcast_posts" || len(whole) == 0 || postDay(whole[0]) == "" {
			return
		}
		to := postDay(whole[0])
		from := to
		if len(whole) > 1 && postDay(whole[1]) != "" {
			from = postDay(whole[1])
		}
		var want []string
		for _, post := range whole {
			if day := postDay(post); day >= from {
				want = append(want, fmt.Sprint(post["id"]))
			}
		}
		latest, ok := k.listIDs(p.url("from", from, "to", to))
		earliest, oldestOK := k.listIDs(p.url("from", from, "to", to, "order", "asc"))
		if !ok || !oldestOK || len(want) == len(whole) && p.header.Get("Service-Has-More") == "true" {
			return
		}
		slices.Reverse(earliest)
		if !slices.Equal(latest, want) || !slices.Equal(earliest, want) {
			k.fail("the posts from %s to %s are %v, and earliest first the reverse of %v; the whole list has %v", from, to, latest, earliest, want)
		}
	})
}

// postDay returns the day to which a post belongs, or "" if the post has no time.
func postDay(post map[string]any) string {
	for _, name := range []string{"scheduledFor", "createdAt"} {
		if at, ok := post[name].(string); ok && len(at) >= len("2026-08-11") {
			return at[:len("2026-08-11")]
		}
	}
	return ""
}

// listIDs returns the ids of the records on a list's first page.
func (k *runner) listIDs(path string) (ids []string, ok bool) {
	var body listBody[map[string]any]
	ok = k.checkSuccess(k.get(path), &body)
	for _, r := range body.Items {
		ids = append(ids, fmt.Sprint(r["id"]))
	}
	return ids, ok
}
