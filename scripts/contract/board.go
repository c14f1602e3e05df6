package contract

import (
	"net/http"
	"reflect"
	"regexp"

	"growthworkspace/shared/fault"
)

const boardPathPrefix = "/plan/boards/"

// createBoard creates a board. The caller must delete it with remove.
func (k *runner) createBoard() (createdRecord, bool) {
	return k.create(k.companyPath("/plan/boards"), `{"name":"Conformance check"}`, boardPathPrefix)
}

// publicKeyPattern matches the public keys that the service generates.
var publicKeyPattern = regexp.MustCompile(`^pk_live_[0-9a-z]{26}$`)

// checkBoardLifecycle creates, updates and deletes a board. It requires that the service refuses to
// delete the board while the board has an item.
func checkBoardLifecycle(k *runner) {
	board, ok := k.createBoard()
	if !ok {
		return
	}
	defer k.remove(board)
	k.checkSchema("create_plan_board", board.response)
	k.checkFields(board.request, board.fields, map[string]any{"name": "Conformance check", "allowedOrigins": []any{}, "active": true, "publishedVersion": nil, "companyId": k.company})
	if publicKey, _ := board.fields["publicKey"].(string); !publicKeyPattern.MatchString(publicKey) {
		k.fail("%s: the public key is %v", board.request, board.fields["publicKey"])
	}
	k.checkUpdate(board, `{"name":"Changed","allowedOrigins":["https://example.com","http://localhost:3000"],"active":false}`, "update_plan_board", map[string]any{
		"name": "Changed", "allowedOrigins": []any{"https://example.com", "http://localhost:3000"}, "active": false, "publicKey": board.fields["publicKey"],
	})
	k.checkError(k.do(http.MethodPatch, board.path, `{"allowedOrigins":null}`), fault.BadRequest, "allowedOrigins")
	k.checkError(k.do(http.MethodPatch, board.path, `{"allowedOrigins":["https://example.com","https://*.example.com"]}`), fault.BadRequest, "allowedOrigins[1]")
	item, ok := k.create(board.path+"/items", `{"title":"Conformance check"}`, itemPathPrefix)
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkError(k.do(http.MethodDelete, board.path, ""), fault.Conflict, "")
	k.remove(item)
	k.checkDelete(board)
}

// checkLiveItems creates a board and publishes it. It requires that the items that visitors see do
// not change until the next publish. It also requires that the service refuses to delete the board
// while visitors see an item.
func checkLiveItems(k *runner) {
	board, ok := k.createBoard()
	if !ok {
		return
	}
	defer k.remove(board)
	item, ok := k.create(board.path+"/items", `{"title":"Conformance check","status":"published"}`, itemPathPrefix)
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkLiveItem(board, nil)
	if got := k.do(http.MethodPost, board.path+"/publish", ""); got.status == http.StatusUnauthorized {
		k.skip("the key lacks plan:publish")
		return
	}
	liveItem := map[string]any{
		"id": item.fields["id"], "slug": item.fields["slug"], "title": "Conformance check", "summary": nil, "columnId": nil, "categoryIds": nil,
		"sortOrder": nil, "targetLabel": nil, "publishedVersion": float64(1),
	}
	k.checkLiveItem(board, liveItem)
	k.checkRecord(k.do(http.MethodPatch, item.path, `{"title":"Edited since","status":"draft"}`))
	k.checkLiveItem(board, liveItem)
	k.remove(item)
	k.checkLiveItem(board, liveItem)
	k.checkError(k.do(http.MethodDelete, board.path, ""), fault.Conflict, "publish it empty")
	k.checkRecord(k.do(http.MethodPost, board.path+"/publish", ""))
	k.checkLiveItem(board, nil)
	k.checkDelete(board)
}

// checkLiveItem requires that the only item that visitors of a board see is `want`. If `want` is
// nil, visitors must see no item.
func (k *runner) checkLiveItem(board createdRecord, want map[string]any) {
	got := k.get(board.path + "/live")
	k.checkSchema("list_plan_live_items", got)
	var list struct{ Items []map[string]any }
	if !k.checkSuccess(got, &list) {
		return
	}
	all := []map[string]any{}
	if want != nil {
		all = append(all, want)
	}
	if !reflect.DeepEqual(list.Items, all) {
		k.fail("%s: visitors see %s instead of %v", got.request, got.body, all)
	}
}
