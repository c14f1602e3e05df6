package oracle

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// updateCells returns the cells of a valid line for an update.
func updateCells() map[string]string {
	return map[string]string{
		"id": "update_shop_till", "method": "PATCH", "path": "/companies/{companyId}/shops/{shopId}/tills/{tillId}", "scope": "shop:write|shop:draft",
		"query": "force:boolean! limit:integer=50(1..200)", "fixture": "shp_1 tll_1 true", "trips": "3+2", "consistent": "Query:till BatchGetItem",
		"reader": "get_shop", "conflict": "409", "sample": `{"name":"A"}`, "other": `name=["B"]`, "body": "name:string! floor:a|b? rank:integer",
		"response": "id:string name:string?",
	}
}

// tableOf returns a file with the header and the given lines.
func tableOf(lines ...map[string]string) string {
	var header []string
	for _, c := range columns {
		header = append(header, c.name)
	}
	text := "# A comment.\n" + strings.Join(header, "\t") + "\n"
	for _, cells := range lines {
		text += FormatRow(cells) + "\n"
	}
	return text
}

// readerCells returns the cells of a line for a read, which is the operation in the reader column
// of updateCells.
func readerCells() map[string]string {
	return map[string]string{"id": "get_shop", "method": "GET", "path": "/companies/{companyId}/shop", "scope": "any", "response": "as update_shop_till"}
}

// Ensure that every column is read, and that "-" stands for the column's default value.
func TestLoad(t *testing.T) {
	t.Parallel()
	table, err := loadFiles(tableOf(updateCells()), tableOf(readerCells()))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := table.Lookup("update_shop_till")
	want := Operation{
		File: SpecificationFile, Line: 3, ID: "update_shop_till", Method: "PATCH", Path: "/companies/{companyId}/shops/{shopId}/tills/{tillId}", Scope: "shop:write", DraftScope: "shop:draft",
		Query: "force:boolean! limit:integer=50(1..200)", Fixture: map[string]string{"shopId": "shp_1", "tillId": "tll_1", "force": "true"}, RoundTrips: 3, ExtraRoundTripsWithKey: 2,
		ConsistentReads: []string{"BatchGetItem", "Query till"}, Reader: "get_shop", CanConflict: true, SampleBody: map[string]any{"name": "A"},
		OtherArguments: map[string]any{"name": []any{"B"}}, ClearedByNull: []string{"floor"}, Body: "name:string! floor:a|b? rank:integer", Response: "id:string name:string?",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	bare, _ := table.Lookup("get_shop")
	want = Operation{
		File: AdditionsFile, Line: 3, ID: "get_shop", Method: "GET", Path: "/companies/{companyId}/shop", Scope: "any", Query: "-", Fixture: map[string]string{},
		Body: "-", Response: "as update_shop_till",
	}
	if !reflect.DeepEqual(bare, want) {
		t.Errorf("%+v\nwant %+v", bare, want)
	}
	if _, ok := table.Lookup("get_till"); ok {
		t.Error("a line of no file")
	}
}

// Ensure every malformed cell is reported with its file, line and column.
func TestMalformedCells(t *testing.T) {
	t.Parallel()
	for column, bad := range map[string][]string{
		"id": {"-", "Update"}, "method": {"PUT", "-"}, "path": {"/v1/companies", "-", "/companies/{}"}, "scope": {"-", "shop", "shop:write|shop:read", "any|shop:draft"},
		"query": {"force", "force:boolean!  limit:integer", ""}, "order": {"a,b", "a  b"},
		"fixture": {"-", "shp_1 tll_1", "shp_1 tll_1 true 4", "shp_1  true"}, "trips": {"two", "0", "-1", "+", "3+0", "3+2+1"},
		"consistent": {"Scan", "GetItem", "Query item", "Query:Item"}, "reader": {"get_till"}, "conflict": {"yes", "412"},
		"sample": {"{", "[]", `"a"`}, "other": {"name", "name=", "name=B"}, "body": {"name", "name:string,"}, "response": {"-", "as", "as get_till", "id"},
	} {
		for _, cell := range bad {
			line := updateCells()
			line[column] = cell
			text := tableOf(line)
			if cell == "" {
				line[column] = "EMPTY"
				text = strings.Replace(tableOf(line), "EMPTY", "", 1)
			}
			_, err := loadFiles(text, tableOf(readerCells()))
			if err == nil || !strings.Contains(err.Error(), SpecificationFile+":3: column "+column+": ") {
				t.Errorf("column %s with %q: the error is %v, want one at this column", column, cell, err)
			}
		}
	}
}

// Ensure that only an update can have fields that null clears, and that the reader column can be
// "none" only for an operation that has a reader by default.
func TestCellsOfOtherOperations(t *testing.T) {
	t.Parallel()
	create := updateCells()
	create["id"], create["method"], create["reader"] = "create_shop_till", "POST", "none"
	_, err := loadFiles(tableOf(create), tableOf(readerCells()))
	for _, want := range []string{":3: column reader: - says the same", ":3: column body: null clears"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	update := updateCells()
	update["reader"] = "-"
	if _, err := loadFiles(tableOf(update), tableOf(readerCells())); err == nil || !strings.Contains(err.Error(), "no operation get_shop_till: type the one that reads the record, or none") {
		t.Errorf("an update without a reader: the error is %v, want one that names get_shop_till", err)
	}
	update["reader"] = "none"
	if table, err := loadFiles(tableOf(update), tableOf(readerCells())); err != nil || table[0].Reader != "" {
		t.Errorf("the reader none: %+v, error %v; want an empty reader", table, err)
	}
}

// Ensure a file with unexpected columns, with too few columns in a line, or with two lines for the
// same operation is rejected.
func TestMalformedFiles(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		SpecificationFile + `:2: unknown column "speed"`:                                                strings.Replace(tableOf(), "trips", "speed", 1),
		SpecificationFile + `:2: column "trips" is missing`:                                             strings.Replace(tableOf(), "trips\t", "", 1),
		SpecificationFile + `:2: column "trips" is there twice`:                                         strings.Replace(tableOf(), "trips", "trips\ttrips", 1),
		SpecificationFile + ": has no line with the names":                                              "# nothing\n",
		SpecificationFile + ":3: update_shop_till has 2 columns":                                        tableOf() + "update_shop_till\tPATCH\n",
		SpecificationFile + ":4: column id: update_shop_till has a line at " + SpecificationFile + ":3": tableOf(updateCells(), updateCells()),
	} {
		if _, err := loadFiles(text, tableOf(readerCells())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Ensure columns may be in any order.
func TestOrderOfColumns(t *testing.T) {
	t.Parallel()
	line := updateCells()
	names := slices.Sorted(maps.Keys(line))
	var values []string
	for _, name := range names {
		values = append(values, line[name])
	}
	text := strings.Join(append(names, "order"), "\t") + "\n" + strings.Join(append(values, "-"), "\t") + "\n"
	if table, err := loadFiles(text, tableOf(readerCells())); err != nil || table[0].Fixture["force"] != "true" {
		t.Errorf("columns in another order: %+v, error %v; want force true in the fixture", table, err)
	}
}

// Ensure the arguments of a request are the fixture's ids and the body in the sample event: only
// the required fields for a create, and all fields for an update.
func TestArguments(t *testing.T) {
	t.Parallel()
	event := []byte(`{"body":"{\"name\":\"A\",\"rank\":3}"}`)
	ids := map[string]any{"shopId": "shp_1", "tillId": "tll_1", "force": "true"}
	for _, c := range []struct {
		method, sample, event string
		want                  map[string]any
	}{
		{"POST", "-", string(event), map[string]any{"name": "A"}},
		{"PATCH", "-", string(event), map[string]any{"name": "A", "rank": 3.0}},
		{"POST", `{"rank":1}`, string(event), map[string]any{"rank": 1.0}},
		{"PATCH", "-", `{"httpMethod":"PATCH"}`, map[string]any{}},
	} {
		line := updateCells()
		line["method"], line["sample"], line["body"] = c.method, c.sample, "name:string! rank:integer"
		table, err := loadFiles(tableOf(line), tableOf(readerCells()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := table[0].Arguments([]byte(c.event))
		maps.Copy(c.want, ids)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.method, got, err, c.want)
		}
	}
	for _, bad := range []string{`{`, `{"body":"["}`} {
		if _, err := (Operation{ID: "get_shop"}).Arguments([]byte(bad)); err == nil || !strings.Contains(err.Error(), "get_shop") {
			t.Errorf("the event %s: the error is %v, want one that names get_shop", bad, err)
		}
	}
}

// Ensure the hints of a tool follow from the method and the scope, whatever the verb in its name.
func TestHints(t *testing.T) {
	for line, want := range map[string]Hints{
		"list_shops GET shop:read":      {ReadOnly: true},
		"get_current_key GET any":       {ReadOnly: true},
		"preview_move POST shop:read":   {ReadOnly: true},
		"create_shop POST shop:write":   {},
		"update_shop PATCH shop:write":  {Destructive: true, Idempotent: true},
		"archive_shop POST shop:write":  {Destructive: true, Idempotent: true},
		"delete_shop DELETE shop:draft": {Destructive: true, Idempotent: true},
	} {
		cells := strings.Fields(line)
		if got := (Operation{ID: cells[0], Method: cells[1], Scope: cells[2]}).Hints(); got != want {
			t.Errorf("%s: the hints are %+v, want %+v", line, got, want)
		}
	}
}
