package user

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/scripts/workspace/follow"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// readRecord returns the record of a change as the API returns it now, or null if there is none.
func readRecord(ctx context.Context, service *client.Client, c follow.Change) (json.RawMessage, error) {
	k := recordKinds().OfChange(change.Type(c.Type))
	if k == nil {
		return nil, follow.Final(fmt.Errorf("this program does not know the type %s: update it, or leave out --with-record", terminal.EscapeControls(c.Type)))
	}
	if k.Get == nil { // the records have no paths of their own
		return findRecord(ctx, service, k.List, func(id string, record json.RawMessage) (json.RawMessage, error) {
			if id == c.RecordID {
				return record, nil
			}
			return noRecord, nil
		})
	}
	for _, f := range k.Get.Input {
		if f.In == schema.InPath && f.Name != k.Parameter { // a change does not contain the id of the record's parent
			return findRecord(ctx, service, recordKinds().ReferredBy(*k.Get, f.Name).List, func(id string, _ json.RawMessage) (json.RawMessage, error) {
				return getRecord(ctx, service, requestFor(k.Get, map[string]string{f.Name: id, k.Parameter: c.RecordID}))
			})
		}
	}
	return getRecord(ctx, service, requestFor(k.Get, map[string]string{k.Parameter: c.RecordID}))
}

var noRecord = json.RawMessage("null")

// getRecord returns the record to which a request responds, or null if there is none.
func getRecord(ctx context.Context, service *client.Client, request client.Request) (json.RawMessage, error) {
	response, err := service.Do(ctx, request)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Code != "" { // a 404 without a code is a proxy's
		return noRecord, nil
	}
	if err != nil {
		return nil, err
	}
	return response.Body, checkIsJSON(response.Body)
}

// findRecord calls the function look for each record of a list, until look returns a record other
// than null.
func findRecord(
	ctx context.Context, service *client.Client, list *api.Operation, look func(id string, record json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	for record, err := range client.All[json.RawMessage](ctx, service, requestFor(list, nil)) {
		if err != nil {
			return nil, err
		}
		var identity struct{ ID string }
		if err := json.Unmarshal(record, &identity); err != nil {
			return nil, fmt.Errorf("decode a record: %w", err)
		}
		if found, err := look(identity.ID, record); err != nil || string(found) != string(noRecord) {
			return found, err
		}
	}
	return noRecord, nil
}
