package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/jsonschema"
)

func oneCompany(k *kit, r *ruleReport) {
	var companies list[map[string]any]
	if !k.ok(k.get("/v1/companies"), &companies) {
		return
	}
	if len(companies.Items) != 1 || companies.Items[0]["id"] != k.company {
		r.fail("GET /v1/companies lists %d companies", len(companies.Items))
		return
	}
	var one map[string]any
	if k.ok(k.get(k.companyPath("")), &one) && !reflect.DeepEqual(one, companies.Items[0]) {
		r.fail("GET /v1/companies/{companyId} answers another record than the list")
	}
}

func listShape(k *kit, r *ruleReport) {
	k.each(func(p primed) {
		var body map[string]any
		if !p.IsList() || !k.ok(p.answer, &body) {
			return
		}
		if _, ok := body["items"].([]any); !ok || len(body) != 1 {
			r.fail("%s: its properties are %s", p.answer.what, strings.Join(sortedKeys(body), ", "))
		}
	})
}

// valid fails the rule unless the body is what the operation's published schema says.
func (k *kit) valid(op api.Operation, got reply) {
	schema, err := jsonschema.Record(op.Output, nil).Resolve(nil)
	if err != nil {
		k.report.fail("%s: the schema: %v", op.ID, err)
		return
	}
	var body any
	if !k.ok(got, &body) {
		return
	}
	if err := schema.Validate(body); err != nil {
		k.report.fail("%s: %v", got.what, err)
	}
}

func recordFieldsRule(k *kit, r *ruleReport) {
	k.each(func(p primed) { k.valid(p.Operation, p.answer) })
}

// recordByID compares what is listed with what is read. Keys are left out: each use changes one.
func recordByID(k *kit, r *ruleReport) {
	k.each(func(p primed) {
		if p.IsList() || optional(p.Operation) || p.answer.status != http.StatusOK || !strings.HasSuffix(p.Path, "}") || p.Path == "/v1/companies/{companyId}" {
			return
		}
		var got map[string]any
		if !k.ok(k.get(p.path), &got) {
			return
		}
		segments := strings.Split(p.Path, "/")
		listed := k.listed(segments[len(segments)-2], got["id"])
		if listed == nil {
			r.fail("%s: its id is %v, not the one that was asked for", p.answer.what, got["id"])
		}
		for name, value := range listed {
			if !reflect.DeepEqual(got[name], value) {
				r.fail("%s: %s is %v in the list and %v by the id", p.answer.what, name, value, got[name])
			}
		}
	})
}

// listed returns the record of a collection with an id, as a list has it now.
func (k *kit) listed(collection string, id any) map[string]any {
	for _, p := range k.primed {
		if p.IsList() && strings.HasSuffix(p.Path, "/"+collection) && p.answer.status == http.StatusOK {
			for _, record := range k.get(p.address()).records() {
				if record["id"] == id {
					return record
				}
			}
		}
	}
	return nil
}

func findingsApart(k *kit, r *ruleReport) {
	k.each(func(p primed) {
		switch p.ID {
		case "list_optimise_audits":
			for _, record := range p.records() {
				r.look()
				if _, has := record["findings"]; has {
					r.fail("the list of audits has findings")
					return
				}
			}
		case "get_optimise_audit":
			var audit map[string]any
			if k.ok(p.answer, &audit) {
				if _, has := audit["findings"]; !has {
					r.fail("a single audit has no findings, not even null")
				}
			}
		}
	})
}

// previewIsDry looks at the board and its items before and after.
func previewIsDry(k *kit, r *ruleReport) {
	board, ok := k.fill("/v1/companies/{companyId}/plan/boards/{boardId}")
	if !ok {
		r.skip("the company has no board, or the key lacks plan:read")
		return
	}
	before, items := k.get(board), k.get(board+"/items")
	for _, op := range functions.Operations(nil) {
		if op.ID == "preview_plan_publish" {
			k.valid(op, k.send(ask{method: http.MethodPost, path: board + "/publish/preview"}))
		}
	}
	if after := k.get(board); !sameJSON(before.body, after.body) {
		r.fail("the board was %s and is %s", before.body, after.body)
	}
	if after := k.get(board + "/items"); !sameJSON(items.body, after.body) {
		r.fail("the board's items changed")
	}
}

func sameJSON(x, y []byte) bool {
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && reflect.DeepEqual(a, b)
}
