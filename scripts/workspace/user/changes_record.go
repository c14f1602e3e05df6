package user

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"growthworkspace/scripts/workspace/follow"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// recordPaths contains the path of the changed record for each type of change. The paths are
// relative to the company's path. {id} stands for the change's recordId.
var recordPaths = map[string]string{
	"company":           "",
	"board":             "/plan/boards/{id}",
	"item":              "/plan/items/{id}",
	"publish":           "/plan/boards/{id}",
	"feedback":          "/feedback/{id}",
	"metric_definition": "/metrics/definitions/{id}",
	"metric_points":     "/metrics/definitions/{id}",
	"site":              "/optimise/sites/{id}",
	"site_goal":         "/optimise/sites/{siteId}/goals/{id}",
	"audit":             "/optimise/audits/{id}",
	"plan":              "/broadcast/plans/{id}",
	"idea":              "/broadcast/ideas/{id}",
	"post":              "/broadcast/posts/{id}",
	"channel":           "/broadcast/channels",
	"brand_kit":         "/context/brand-kit",
	"content_type":      "/context/content-types/{id}",
	"brand_goal":        "/context/goals/{id}",
	"key":               "/keys",
}

// recordLists contains the paths that lead to a list, because the records in it have no paths of
// their own.
var recordLists = map[string]bool{"/broadcast/channels": true, "/keys": true}

const companyPath = "/v1/companies/{companyId}"

// readRecord returns the record of a change as the API returns it now, or null if there is none.
func readRecord(ctx context.Context, api *client.Client, c follow.Change) (json.RawMessage, error) {
	path, known := recordPaths[c.Type]
	switch {
	case !known:
		return nil, follow.Final(fmt.Errorf("this program does not know the type %s: update it, or leave out --with-record", terminal.EscapeControls(c.Type)))
	case recordLists[path]:
		return findRecord(ctx, api, path, c.RecordID)
	case strings.Contains(path, "{siteId}"):
		return readSiteGoal(ctx, api, path, c.RecordID)
	}
	return getRecord(ctx, api, path, c.RecordID)
}

var noRecord = json.RawMessage("null")

// getRecord returns the record at a path, or null if there is none.
func getRecord(ctx context.Context, api *client.Client, path, id string) (json.RawMessage, error) {
	response, err := api.Do(ctx, client.Request{Method: http.MethodGet, Path: companyPath + strings.ReplaceAll(path, "{id}", url.PathEscape(id)), Repeatable: true, Quota: "read"})
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Code != "" { // a 404 without a code is a proxy's
		return noRecord, nil
	}
	if err != nil {
		return nil, err
	}
	return response.Body, checkIsJSON(response.Body)
}

// eachRecord calls the function do for each record of a list, until do returns false.
func eachRecord(ctx context.Context, api *client.Client, path string, do func(id string, record json.RawMessage) bool) error {
	request := client.Request{Method: http.MethodGet, Path: companyPath + path, Query: url.Values{}, Repeatable: true, Quota: "read"}
	for {
		response, err := api.Do(ctx, request)
		if err != nil {
			return err
		}
		var page terminal.ItemList[json.RawMessage]
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return fmt.Errorf("the response is not a list: %w", err)
		}
		for _, record := range page.Items {
			var identity struct{ ID string }
			if err := json.Unmarshal(record, &identity); err != nil {
				return fmt.Errorf("decode a record: %w", err)
			}
			if !do(identity.ID, record) {
				return nil
			}
		}
		next, err := response.Next()
		if next == "" || err != nil {
			return err
		}
		request.Query.Set("cursor", next)
	}
}

// findRecord returns a record of a list, or null if the list does not have it.
func findRecord(ctx context.Context, api *client.Client, path, id string) (json.RawMessage, error) {
	found := noRecord
	err := eachRecord(ctx, api, path, func(recordID string, record json.RawMessage) bool {
		if recordID == id {
			found = record
		}
		return recordID != id
	})
	return found, err
}

// readSiteGoal looks for a goal in one site after another, because a change does not contain the
// site's id.
func readSiteGoal(ctx context.Context, api *client.Client, path, id string) (json.RawMessage, error) {
	var sites []string
	err := eachRecord(ctx, api, "/optimise/sites", func(site string, _ json.RawMessage) bool {
		sites = append(sites, site)
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		goal, err := getRecord(ctx, api, strings.ReplaceAll(path, "{siteId}", url.PathEscape(site)), id)
		if err != nil || string(goal) != string(noRecord) {
			return goal, err
		}
	}
	return noRecord, nil
}
