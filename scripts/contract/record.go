package contract

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/schema/jsonschema"
)

func checkOnlyOwnCompany(k *runner) {
	var companies listBody[map[string]any]
	if !k.checkSuccess(k.get("/v1/companies"), &companies) {
		return
	}
	if len(companies.Items) != 1 || companies.Items[0]["id"] != k.company {
		k.fail("GET /v1/companies lists %d companies", len(companies.Items))
		return
	}
	var first map[string]any
	if k.checkSuccess(k.get(k.companyPath("")), &first) && !reflect.DeepEqual(first, companies.Items[0]) {
		k.fail("GET /v1/companies/{companyId} returns another record than the list")
	}
}

func checkListShape(k *runner) {
	k.eachRead(func(p discoveredRead) {
		var body map[string]any
		if !p.IsList() || !k.checkSuccess(p.response, &body) {
			return
		}
		if _, ok := body["items"].([]any); !ok || len(body) != 1 {
			k.fail("%s: its properties are %s", p.request, strings.Join(sortedKeys(body), ", "))
		}
	})
}

// checkSchema fails the rule unless the response matches the operation's schema in the OpenAPI
// document.
func (k *runner) checkSchema(operation string, got response) {
	var body any
	if !k.checkSuccess(got, &body) {
		return
	}
	for _, op := range functions.Operations(nil) {
		if op.ID != operation {
			continue
		}
		schema, err := jsonschema.Record(op.Output, nil).Resolve(nil)
		if err == nil {
			err = schema.Validate(body)
		}
		if err != nil {
			k.fail("%s: %v", got.request, err)
		}
	}
}

func checkRecordFields(k *runner) {
	k.eachRead(func(p discoveredRead) { k.checkSchema(p.ID, p.response) })
}

// checkRecordByID reads records by id and compares each with its entry in the list. It skips API
// keys, because each request changes the record of its key.
func checkRecordByID(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if p.IsList() || isOptional(p.Operation) || p.status != http.StatusOK || !strings.HasSuffix(p.Path, "}") || p.Path == "/v1/companies/{companyId}" {
			return
		}
		var got map[string]any
		if !k.checkSuccess(k.get(p.path), &got) {
			return
		}
		segments := strings.Split(p.Path, "/")
		listed := k.listedRecord(segments[len(segments)-2], got["id"])
		if listed == nil {
			k.fail("%s: no record in the list has the id %v of the response", p.request, got["id"])
		}
		for name, value := range listed {
			if !reflect.DeepEqual(got[name], value) {
				k.fail("%s: %s is %v in the list and %v by the id", p.request, name, value, got[name])
			}
		}
	})
}

// listedRecord reads the list of a collection and returns the record with the given id, or nil if
// the list does not contain it.
func (k *runner) listedRecord(collection string, id any) map[string]any {
	for _, p := range k.discovered {
		if p.IsList() && strings.HasSuffix(p.Path, "/"+collection) && p.status == http.StatusOK {
			for _, record := range k.get(p.url()).records() {
				if record["id"] == id {
					return record
				}
			}
		}
	}
	return nil
}

func checkFindingsOnlyInGet(k *runner) {
	k.eachRead(func(p discoveredRead) {
		switch p.ID {
		case "list_optimise_audits":
			for _, record := range p.records() {
				k.countCheck()
				if _, has := record["findings"]; has {
					k.fail("the list of audits has findings")
					return
				}
			}
		case "get_optimise_audit":
			var audit map[string]any
			if k.checkSuccess(p.response, &audit) {
				if _, has := audit["findings"]; !has {
					k.fail("a single audit has no findings, not even null")
				}
			}
		}
	})
}

// checkPreviewChangesNothing previews a publish, and compares the board and its items before and
// after.
func checkPreviewChangesNothing(k *runner) {
	board, ok := k.fillPath("/v1/companies/{companyId}/plan/boards/{boardId}")
	if !ok {
		k.skip("the company has no board, or the key lacks plan:read")
		return
	}
	before, items := k.get(board), k.get(board+"/items")
	k.checkSchema("preview_plan_publish", k.do(http.MethodPost, board+"/publish/preview", ""))
	if after := k.get(board); !sameJSON(before.body, after.body) {
		k.fail("the board was %s and is %s", before.body, after.body)
	}
	if after := k.get(board + "/items"); !sameJSON(items.body, after.body) {
		k.fail("the board's items changed")
	}
}

func sameJSON(x, y []byte) bool {
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && reflect.DeepEqual(a, b)
}
