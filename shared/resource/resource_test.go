package resource_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/record"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// room is a record that belongs to a company.
type room struct {
	ID        string  `json:"id"`
	CompanyID string  `json:"companyId"`
	Name      *string `json:"name" set:"required" min:"1" max:"5" doc:"its name"`
	Note      *string `json:"note" set:"optional" max:"5" doc:"a note"`
	Open      *bool   `json:"open" default:"true" doc:"whether it is open"`
	CreatedAt *string `json:"createdAt" format:"date-time"`
	UpdatedAt *string `json:"updatedAt" format:"date-time"`
}

// Problems implements schema.RecordValidator: a closed room must have a note.
func (r room) Problems(sent func(string) bool) []string {
	if r.Open != nil && !*r.Open && r.Note == nil && (sent("open") || sent("note")) {
		return []string{"body.note: is required for a closed room"}
	}
	return nil
}

// desk is a record that belongs to a room.
type desk struct {
	ID        string  `json:"id"`
	CompanyID string  `json:"companyId"`
	RoomID    string  `json:"roomId"`
	Name      *string `json:"name" set:"required" min:"1" max:"5" doc:"its name"`
	CreatedAt *string `json:"createdAt" format:"date-time"`
	UpdatedAt *string `json:"updatedAt" format:"date-time"`
}

var rooms = record.Kind[room]{
	Name: "room", Plural: "rooms", Prefix: "rom", Path: "context/rooms", Parameter: "roomId", SortPrefix: "room", Limit: 3,
	Order: func(r room) string { return table.JoinKey(*r.Name, r.ID) },
}

var desks = record.Kind[desk]{
	Name: "desk", Plural: "desks", Prefix: "dsk", Path: "context/rooms/{roomId}/desks", Parameter: "deskId", SortPrefix: "desk",
}

// deskStore stores the desks of a room. Their sort keys contain the room's id, so they cannot be
// reached through another room.
type deskStore struct {
	roomID string
	rooms  record.Store[room]
	table  *table.Client
}

func (s deskStore) recordStore() record.Store[desk] {
	k := desks
	k.SortPrefix = table.JoinKey(desks.SortPrefix, s.roomID)
	return k.Store(s.table)
}

func (s deskStore) Page(ctx context.Context, companyID, after string, limit int) (table.Page[desk], error) {
	if _, err := s.rooms.Get(ctx, companyID, s.roomID); err != nil {
		return table.Page[desk]{}, err
	}
	return s.recordStore().Page(ctx, companyID, after, limit)
}

func (s deskStore) Get(ctx context.Context, companyID, id string) (desk, error) {
	return s.recordStore().Get(ctx, companyID, id)
}

func (s deskStore) Insert(ctx context.Context, companyID string, d desk) (desk, error) {
	if _, err := s.rooms.Get(ctx, companyID, s.roomID); err != nil {
		return desk{}, err
	}
	d.RoomID = s.roomID
	return s.recordStore().Insert(ctx, companyID, d)
}

func (s deskStore) Modify(ctx context.Context, companyID, id string, change func(*desk) error) (desk, error) {
	return s.recordStore().Modify(ctx, companyID, id, change)
}

func (s deskStore) Remove(ctx context.Context, companyID, id string, check func(desk) error) error {
	return s.recordStore().Remove(ctx, companyID, id, check)
}

func operations(t *table.Client) []api.Operation {
	store := rooms.Store(t)
	rooms := resource.New(rooms, store)
	desks := resource.NewNested(desks, func(roomID string) resource.Store[desk] { return deskStore{roomID, store, t} })
	return []api.Operation{
		rooms.List("list_rooms", "List", ""), rooms.Get("get_room", "Get", ""), rooms.Create("create_room", "Create", ""),
		rooms.Update("update_room", "Update", ""), rooms.Delete("delete_room", "Delete", "", fault.Conflict),
		desks.ListAll("list_desks", "List", ""), desks.Get("get_desk", "Get", ""), desks.Create("create_desk", "Create", ""),
		desks.Update("update_desk", "Update", ""), desks.Delete("delete_desk", "Delete", ""),
	}
}

// Ensure the paths, methods, scopes, effects and errors of the operations follow from the kind.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	const roomsPath = "/v1/companies/{companyId}/context/rooms"
	var got []string
	for _, op := range operations(nil) {
		var arguments []string
		for _, f := range op.Input {
			arguments = append(arguments, f.ArgumentName())
		}
		got = append(got, fmt.Sprint(op.ID, " ", op.Method, " ", strings.TrimPrefix(op.Path, roomsPath), " ", op.Scope, " ", op.Effect, " ", op.Errors, " ", arguments))
	}
	want := []string{
		"list_rooms GET  context:read 0 [] [limit cursor]",
		"get_room GET /{roomId} context:read 0 [] [roomId]",
		"create_room POST  context:write 1 [conflict] [idempotencyKey name note open]",
		"update_room PATCH /{roomId} context:write 2 [] [ifMatch roomId name note open]",
		"delete_room DELETE /{roomId} context:write 3 [conflict] [ifMatch roomId]",
		"list_desks GET /{roomId}/desks context:read 0 [] [roomId cursor]",
		"get_desk GET /{roomId}/desks/{deskId} context:read 0 [] [roomId deskId]",
		"create_desk POST /{roomId}/desks context:write 1 [] [idempotencyKey roomId name]",
		"update_desk PATCH /{roomId}/desks/{deskId} context:write 2 [] [ifMatch roomId deskId name]",
		"delete_desk DELETE /{roomId}/desks/{deskId} context:write 3 [] [ifMatch roomId deskId]",
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("%s, want %s", got[n], want[n])
		}
	}
	if page := operations(nil)[0].Input[0]; page.Default != "50" || *page.Max != 200 {
		t.Errorf("the limit of Page has the default %s and the maximum %v, want 50 and 200", page.Default, *page.Max)
	}
	if page := resource.New[room](rooms, rooms.Store(nil)).ListShortPages("list_rooms", "List", "").Input[0]; page.Default != "25" || *page.Max != 100 {
		t.Errorf("the limit of ShortPage has the default %s and the maximum %v, want 25 and 100", page.Default, *page.Max)
	}
}

// Ensure the five operations of a kind work over HTTP and MCP, including defaults, null, absent
// properties, rules, conditions and the limit.
func TestOperations(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, operations)
	key := s.IssueKey(t)
	id := s.Call(t, key, "create_room", map[string]any{"name": "b"}).JSON(t)["id"]
	roomArgs := func(pairs ...any) map[string]any {
		out := map[string]any{"roomId": id}
		for n := 0; n < len(pairs); n += 2 {
			out[pairs[n].(string)] = pairs[n+1]
		}
		return out
	}
	s.Run(t, []apitest.Scenario{
		{Name: "defaults", Op: "get_room", Args: roomArgs(), WantFields: map[string]any{"name": "b", "note": nil, "open": true}},
		{Name: "another", Op: "create_room", Args: map[string]any{"name": "a", "note": "n", "open": nil}, WantFields: map[string]any{"note": "n", "open": true}},
		{Name: "no name", Op: "create_room", Args: map[string]any{"note": "n"}, Want: 400, WantMessage: "body.name: is required"},
		{Name: "the rule, for a create", Op: "create_room", Args: map[string]any{"name": "", "open": false}, Want: 400, WantMessage: "body.note: is required for a closed room"},
		{Name: "order", Op: "list_rooms", Args: map[string]any{"limit": 1}, Check: func(t *testing.T, r apitest.Response) {
			if items := r.Items(t); len(items) != 1 || items[0]["name"] != "a" {
				t.Errorf("the items are %v, want one with the name a", items)
			}
		}},
		{Name: "update", Op: "update_room", Args: roomArgs("note", "x"), WantFields: map[string]any{"name": "b", "note": "x", "open": true}},
		{Name: "absent keeps", Op: "update_room", Args: roomArgs("open", false), WantFields: map[string]any{"note": "x", "open": false}},
		{Name: "the rule, for an update", Op: "update_room", Args: roomArgs("note", nil), Want: 400, WantMessage: "body.note: is required for a closed room"},
		{Name: "null clears", Op: "update_room", Args: roomArgs("note", nil, "open", true), WantFields: map[string]any{"note": nil, "open": true}},
		{Name: "null of a required one", Op: "update_room", Args: roomArgs("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "a field of the service", Op: "update_room", Args: roomArgs("createdAt", "2026-01-01T00:00:00Z"), Want: 400, WantMessage: "createdAt: unknown"},
		{Name: "condition of an update", Op: "update_room", Args: roomArgs("name", "c", "If-Match", `"other"`), Want: 412},
		{Name: "condition of a delete", Op: "delete_room", Args: roomArgs("If-Match", `"other"`), Want: 412},
		{Name: "third", Op: "create_room", Args: map[string]any{"name": "c"}},
		{Name: "limit", Op: "create_room", Args: map[string]any{"name": "d"}, Want: 409, WantMessage: "there are 3 rooms already"},
		{Name: "delete", Op: "delete_room", Args: roomArgs(), WantFields: map[string]any{"id": id, "deleted": true}},
		{Name: "gone", Op: "get_room", Args: roomArgs(), Want: 404},
		{Name: "update of none", Op: "update_room", Args: roomArgs("name", "c"), Want: 404},
		{Name: "delete again", Op: "delete_room", Args: roomArgs(), Want: 404},
		{Name: "the other scope", Key: s.IssueKey(t, auth.ContextRead), Op: "create_room", Args: map[string]any{"name": "d"}, Want: 401},
	})
}

func start(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, operations)
}

// Ensure each operation of a nested kind uses the parent in the path, so that a record is not found
// under a different parent.
func TestNestedRecords(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	firstRoom, otherRoom := s.Call(t, key, "create_room", map[string]any{"name": "a"}).JSON(t)["id"], s.Call(t, key, "create_room", map[string]any{"name": "b"}).JSON(t)["id"]
	id := s.Call(t, key, "create_desk", map[string]any{"roomId": firstRoom, "name": "d"}).JSON(t)["id"]
	deskArgs := func(roomID any) map[string]any { return map[string]any{"roomId": roomID, "deskId": id} }
	namedDeskArgs := func(roomID any) map[string]any { return map[string]any{"roomId": roomID, "deskId": id, "name": "e"} }
	checkCount := func(n int) func(*testing.T, apitest.Response) {
		return func(t *testing.T, r apitest.Response) {
			if got := len(r.Items(t)); got != n {
				t.Errorf("%d desks, want %d", got, n)
			}
		}
	}
	s.Run(t, []apitest.Scenario{
		{Name: "list", Op: "list_desks", Args: map[string]any{"roomId": firstRoom}, Check: checkCount(1)},
		{Name: "list of another", Op: "list_desks", Args: map[string]any{"roomId": otherRoom}, Check: checkCount(0)},
		{Name: "list of none", Op: "list_desks", Args: map[string]any{"roomId": "rom_none"}, Want: 404},
		{Name: "create in none", Op: "create_desk", Args: map[string]any{"roomId": "rom_none", "name": "d"}, Want: 404},
		{Name: "get", Op: "get_desk", Args: deskArgs(firstRoom), WantFields: map[string]any{"id": id, "roomId": firstRoom}},
		{Name: "get of another", Op: "get_desk", Args: deskArgs(otherRoom), Want: 404},
		{Name: "update of another", Op: "update_desk", Args: namedDeskArgs(otherRoom), Want: 404},
		{Name: "delete of another", Op: "delete_desk", Args: deskArgs(otherRoom), Want: 404},
		{Name: "update", Op: "update_desk", Args: namedDeskArgs(firstRoom), WantFields: map[string]any{"name": "e"}},
		{Name: "delete", Op: "delete_desk", Args: deskArgs(firstRoom), WantFields: map[string]any{"id": id}},
	})
}

// Ensure a kind whose area has no scopes, and an operation id that is not a verb and a noun, cause
// a panic at startup.
func TestInvalidKinds(t *testing.T) {
	t.Parallel()
	unknown := rooms
	unknown.Path = "contxt/rooms"
	for name, declare := range map[string]func(){
		"no such area":        func() { resource.New[room](unknown, unknown.Store(nil)).Get("get_room", "Get", "") },
		"an id of no pattern": func() { resource.New[room](rooms, rooms.Store(nil)).Get("room", "Get", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("it is accepted")
				}
			}()
			declare()
		})
	}
}
