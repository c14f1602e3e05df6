package studio_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
)

// Ensure the goal and the content types of a plan, and the content type and the source of an idea, are
// chosen by name, stored, cleared and undone. An edit of another field must not change them.
func TestReferencesOfPlansAndIdeas(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	goal := w.create(t, "/context/goals", `{"name":"More <walks>"}`)["id"].(string)
	tip := w.create(t, "/context/content-types", `{"name":"Tip","active":true}`)["id"].(string)
	story := w.create(t, "/context/content-types", `{"name":"A story","active":true}`)["id"].(string)
	gone := w.create(t, "/context/content-types", `{"name":"Gone","active":true}`)["id"].(string)
	metric := w.create(t, "/metrics/definitions", `{"key":"shop.gloves","name":"Gloves sold","unit":"count","aggregation":"sum"}`)["id"].(string)
	get := func(path string) map[string]any {
		t.Helper()
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}"+path, "").JSON(t)
	}
	check := func(path string, want map[string]any) {
		t.Helper()
		if diff := recordDiff(want, get(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}

	w.page(t, "/ideas/plans/new", ">More <walks></option>", `value="`+tip+`"> Tip</label>`, `value="`+story+`"> A story</label>`)
	form := w.editForm(t, "/ideas/plans/new")
	form.Set("name", "Autumn")
	form.Set("goalId", goal)
	form["contentTypeIds"] = []string{"", gone, tip} // as a browser sends two checked boxes
	w.submit(t, "/ideas/plans", form)
	plan := "/broadcast/plans/" + w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/plans", "").Items(t)[0]["id"].(string)
	edit := strings.Replace(plan, "/broadcast", "/ideas", 1)
	check(plan, map[string]any{"goalId": goal, "contentTypeIds": []any{gone, tip}})
	w.Send(t, w.key, "DELETE", "/v1/companies/{companyId}/context/content-types/"+gone, "")
	w.page(t, edit, `value="`+goal+`" selected>More`, `value="`+tip+`" checked> Tip</label>`, `value="`+story+`"> A story</label>`, `value="`+gone+`" checked>`)
	form = w.editForm(t, edit)
	form.Set("cadence", "weekly")
	w.submit(t, edit, form)
	check(plan, map[string]any{"cadence": "weekly", "goalId": goal, "contentTypeIds": []any{gone, tip}})
	form = w.editForm(t, edit)
	form.Set("goalId", "")
	form["contentTypeIds"] = []string{""}
	_, body := w.submit(t, edit, form)
	check(plan, map[string]any{"goalId": nil, "contentTypeIds": nil})
	w.undo(t, body)
	check(plan, map[string]any{"goalId": goal, "contentTypeIds": []any{tip, gone}})

	w.page(t, "/ideas/edit/new", `value="`+tip+`">Tip</option>`, `value="`+metric+`">Metric: Gloves sold</option>`)
	form = w.editForm(t, "/ideas/edit/new")
	for name, value := range map[string]string{"title": "Gloves", "contentTypeId": tip, "sourceKind": "metric", "sourceId": metric} {
		form.Set(name, value)
	}
	w.submit(t, "/ideas/edit", form)
	idea := "/broadcast/ideas/" + w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/ideas", "").Items(t)[0]["id"].(string)
	check(idea, map[string]any{"contentTypeId": tip, "sourceKind": "metric", "sourceId": metric})
	edit = strings.Replace(idea, "/broadcast/ideas", "/ideas/edit", 1)
	form = w.editForm(t, edit)
	for name, value := range map[string]string{"contentTypeId": story, "sourceKind": "manual", "sourceId": ""} {
		form.Set(name, value)
	}
	_, body = w.submit(t, edit, form)
	check(idea, map[string]any{"title": "Gloves", "contentTypeId": story, "sourceKind": "manual", "sourceId": nil})
	w.undo(t, body)
	check(idea, map[string]any{"contentTypeId": tip, "sourceKind": "metric", "sourceId": metric})

	other := newTestStudio(t, auth.BroadcastRead, auth.BroadcastWrite)
	other.page(t, "/ideas/plans/new", "They cannot be listed: this key lacks the scope context:read.")
	other.page(t, "/ideas/edit/new", "They cannot be listed: this key lacks the scope context:read.")
}

// Ensure each form has a field for each property that the API's update accepts. The exceptions are
// properties that other controls of the studio set.
func TestFormsHaveEveryProperty(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	first := func(path string) string {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}"+path, "").Items(t)[0]["id"].(string)
	}
	board, site := first("/plan/boards"), first("/optimise/sites")
	for path, form := range map[string]struct {
		update any
		other  []string // properties that other controls set, or that only some platforms have
	}{
		"/company": {client.UpdateCompanyInput{}, nil},
		"/brand":   {client.UpdateContextBrandKitInput{}, nil},
		"/brand/types/" + first("/context/content-types"): {client.UpdateContextContentTypeInput{}, nil},
		"/brand/goals/" + first("/context/goals"):         {client.UpdateContextGoalInput{}, nil},
		"/sites/" + site: {client.UpdateOptimiseSiteInput{}, nil},
		"/sites/" + site + "/goals/" + first("/optimise/sites/"+site+"/goals"): {client.UpdateOptimiseGoalInput{}, nil},
		"/roadmap/boards/" + board:                                                {client.UpdatePlanBoardInput{}, nil},
		"/roadmap/items/" + first("/plan/boards/"+board+"/items"):                 {client.UpdatePlanItemInput{}, nil},
		"/metrics/definitions/" + first("/metrics/definitions?needsReview=false"): {client.UpdateMetricDefinitionInput{}, []string{"needsReview"}},
		"/posts/" + first("/broadcast/posts?status=draft"):                        {client.UpdateBroadcastPostInput{}, []string{"status", "media", "destination", "deepLink"}},
		"/ideas/plans/" + first("/broadcast/plans"):                               {client.UpdateBroadcastPlanInput{}, nil},
		"/ideas/edit/" + first("/broadcast/ideas"):                                {client.UpdateBroadcastIdeaInput{}, []string{"status"}},
	} {
		body := w.page(t, path)
		for f := range reflect.TypeOf(form.update).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "-" && name != "" && !slices.Contains(form.other, name) && !strings.Contains(body, `name="`+name+`"`) {
				t.Errorf("%s has no field for %s of %T", path, name, form.update)
			}
		}
	}
}
