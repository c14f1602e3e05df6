package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// border is what a caller meets before any area: keys, routes, verbs.
func (t *tour) border(ctx context.Context) error {
	other := "/v1/companies/co_0"
	return errors.Join(
		t.refused(ctx, request{method: "GET", path: "/v1/companies", anonymous: true, want: 401}, "unauthorised"),
		t.refused(ctx, request{method: "GET", path: "/v1/companies", header: map[string]string{"Authorization": "Bearer pk_live_1"}, want: 401}, "unauthorised"),
		t.refused(ctx, request{method: "GET", path: other, want: 404}, "not_found"),
		t.refused(ctx, request{method: "GET", path: "/v1/nothing/here", want: 404}, "not_found"),
		t.refused(ctx, request{method: "GET", path: "~/plan/nothing", want: 404}, "not_found"),
		t.refused(ctx, request{method: "DELETE", path: "/v1/companies", want: 405}, "method_not_allowed"),
		t.refused(ctx, request{method: "DELETE", path: "~/plan/boards", want: 405}, "method_not_allowed"),
	)
}

func (t *tour) companies(ctx context.Context) error {
	a, err := t.get(ctx, "/v1/companies")
	if err != nil {
		return err
	}
	if a.count("items") != 1 || a.text("items", 0, "id") != t.company {
		return fmt.Errorf("the key opens %v, not %s alone", a.body, t.company)
	}
	if _, err := t.get(ctx, "~"); err != nil {
		return err
	}
	const summary = "Résumé of the tour"
	a, err = t.call(ctx, request{method: "PATCH", path: "~", body: map[string]any{"summary": summary}})
	if err == nil && a.text("summary") != summary {
		err = fmt.Errorf("the summary became %q", a.text("summary"))
	}
	return errors.Join(err, t.refused(ctx, request{method: "PATCH", path: "~", body: map[string]any{"stage": "later"}, want: 400}, "bad_request"))
}

// plan makes an item, previews, publishes what was previewed, and deletes the item again.
func (t *tour) plan(ctx context.Context) error {
	if err := t.list(ctx, "~/plan/boards", "~/plan/boards/brd_1/items", "~/plan/boards/brd_1/items?status=draft"); err != nil {
		return err
	}
	if err := t.pages(ctx, "~/plan/boards/brd_1/items?limit=1"); err != nil {
		return err
	}
	item, err := t.call(ctx, request{method: "POST", path: "~/plan/boards/brd_1/items", body: map[string]any{"title": "A stop of the tour"}})
	if err != nil {
		return err
	}
	path := "~/plan/items/" + item.text("id")
	if _, err := t.call(ctx, request{method: "PATCH", path: path, body: map[string]any{"status": "published"}}); err != nil {
		return err
	}
	if err := t.publish(ctx, item.text("slug")); err != nil {
		return err
	}
	if a, err := t.get(ctx, path); err != nil || a.at("publishedVersion") == nil {
		return errors.Join(err, fmt.Errorf("the item is not live after the publish: %v", a.body))
	}
	if _, err := t.call(ctx, request{method: "DELETE", path: path}); err != nil {
		return err
	}
	return t.refused(ctx, request{method: "GET", path: path, want: 404}, "not_found")
}

func (t *tour) publish(ctx context.Context, slug string) error {
	const board = "~/plan/boards/brd_1"
	preview, err := t.call(ctx, request{method: "POST", path: board + "/publish/preview"})
	if err != nil {
		return err
	}
	if !strings.Contains(fmt.Sprint(preview.at("added")), slug) {
		return fmt.Errorf("the preview does not add %s: %v", slug, preview.body)
	}
	tag := preview.header.Get("ETag")
	if err := t.refused(ctx, request{method: "POST", path: board + "/publish", header: map[string]string{"If-Match": `"other"`}, want: 412}, "precondition_failed"); err != nil {
		return err
	}
	a, err := t.call(ctx, request{method: "POST", path: board + "/publish", header: map[string]string{"If-Match": tag}})
	if err != nil {
		return err
	}
	if a.at("changed") != true || a.at("publishedVersion") != preview.at("nextVersion") {
		return fmt.Errorf("the publish is not what was previewed: %v, %v", preview.body, a.body)
	}
	if a, err = t.get(ctx, board); err == nil && a.at("publishedVersion") != preview.at("nextVersion") {
		err = fmt.Errorf("the board is at version %v after the publish of %v", a.at("publishedVersion"), preview.at("nextVersion"))
	}
	return err
}

// pages follows the link to the next page: it has to lead back here, stage and all.
func (t *tour) pages(ctx context.Context, path string) error {
	a, err := t.get(ctx, path)
	if err != nil {
		return err
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	if t.emulated && strings.HasPrefix(t.base, "http:") {
		link = strings.Replace(link, "https:", "http:", 1)
	}
	if a.header.Get("Service-Has-More") != "true" || !strings.HasPrefix(link, t.base+"/v1/") {
		return fmt.Errorf("GET %s: Service-Has-More is %q and the next page %q, which is not below %s", path, a.header.Get("Service-Has-More"), link, t.base)
	}
	next, err := t.get(ctx, link)
	if err == nil && (next.count("items") != 1 || next.text("items", 0, "id") == a.text("items", 0, "id")) {
		err = fmt.Errorf("GET %s: the second page is %v", link, next.body)
	}
	return err
}

func (t *tour) feedback(ctx context.Context) error {
	if err := t.list(ctx, "~/feedback", "~/feedback?source=app_store"); err != nil {
		return err
	}
	if _, err := t.get(ctx, "~/feedback/fbk_1"); err != nil {
		return err
	}
	a, err := t.call(ctx, request{method: "PATCH", path: "~/feedback/fbk_1/reply", body: map[string]any{"replyBody": "Thank you — 谢谢.", "replyStatus": "approved"}})
	if err == nil && (a.text("replyStatus") != "approved" || a.text("replyBody") != "Thank you — 谢谢.") {
		err = fmt.Errorf("the reply became %v", a.body)
	}
	return errors.Join(err, t.refused(ctx, request{method: "PATCH", path: "~/feedback/fbk_1/reply", body: map[string]any{"replyStatus": "posted"}, want: 400}, "bad_request"))
}

func (t *tour) metrics(ctx context.Context) error {
	return t.list(ctx, "~/metrics/definitions", "~/metrics/points?metricKey=growth.signups", "~/metrics/points?metricKey=growth.signups&from=2026-08-01&to=2026-08-31")
}

func (t *tour) optimise(ctx context.Context) error {
	if err := t.list(ctx, "~/optimise/sites", "~/optimise/sites/sit_1/goals", "~/optimise/audits", "~/optimise/audits?siteId=sit_1&status=complete"); err != nil {
		return err
	}
	a, err := t.get(ctx, "~/optimise/audits/aud_1")
	if err == nil && a.at("findings") == nil {
		err = fmt.Errorf("the audit has no findings: %v", a.body)
	}
	return err
}

func (t *tour) broadcast(ctx context.Context) error {
	if err := t.list(ctx, "~/broadcast/plans", "~/broadcast/ideas", "~/broadcast/posts", "~/broadcast/posts?platform=x", "~/broadcast/channels"); err != nil {
		return err
	}
	a, err := t.call(ctx, request{method: "POST", path: "~/broadcast/posts", body: map[string]any{"platform": "x", "body": "A post of the tour"}})
	if err != nil {
		return err
	}
	path := "~/broadcast/posts/" + a.text("id")
	a, err = t.call(ctx, request{method: "PATCH", path: path, body: map[string]any{"scheduledFor": "2040-01-01T00:00:00Z", "status": "scheduled"}})
	if err != nil || a.text("status") != "scheduled" {
		return errors.Join(err, fmt.Errorf("the post became %v", a.body))
	}
	if _, err := t.get(ctx, path); err != nil {
		return err
	}
	if _, err := t.call(ctx, request{method: "DELETE", path: path}); err != nil {
		return err
	}
	return t.refused(ctx, request{method: "DELETE", path: path, want: 404}, "not_found")
}

// brand is the context area. Content types cannot be deleted through the API, so it changes the one of the import.
func (t *tour) brand(ctx context.Context) error {
	if err := t.list(ctx, "~/context/content-types", "~/context/goals"); err != nil {
		return err
	}
	if _, err := t.get(ctx, "~/context/brand-kit"); err != nil {
		return err
	}
	if _, err := t.call(ctx, request{method: "PATCH", path: "~/context/brand-kit", body: map[string]any{"avoidWords": []string{"synergy"}}}); err != nil {
		return err
	}
	a, err := t.call(ctx, request{method: "PATCH", path: "~/context/content-types/cty_1", body: map[string]any{"cadence": "weekly"}})
	if err == nil && a.text("cadence") != "weekly" {
		err = fmt.Errorf("the content type became %v", a.body)
	}
	return err
}
