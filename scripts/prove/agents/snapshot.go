package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/client"
)

// snapshot contains all records of a company, by list and id.
type snapshot map[string]map[string]record

// Names of the lists that belong to one board, metric or site.
func liveItems(boardID string) string    { return "live items of " + boardID }
func pointsOfMetric(key string) string   { return "points of " + key }
func goalsOfSite(siteID string) string   { return "goals of " + siteID }
func itemsOfBoard(boardID string) string { return "items of " + boardID }

// listPaths are the paths of the lists that belong directly to a company, by the names that a
// snapshot uses for the lists.
var listPaths = map[string]string{
	"boards": "plan/boards", "feedback": "feedback", "definitions": "metrics/definitions", "sites": "optimise/sites", "audits": "optimise/audits",
	"plans": "broadcast/plans", "ideas": "broadcast/ideas", "posts": "broadcast/posts", "channels": "broadcast/channels",
	"goals": "context/goals", "content types": "context/content-types",
}

// takeSnapshot reads a company over HTTP and not with tools, so that a defect in the tools cannot
// hide a change.
func takeSnapshot(ctx context.Context, c company) (snapshot, error) {
	api, err := client.New(c.base, c.key, client.WithAttempts(1), client.WithVersion(""))
	if err != nil {
		return nil, err
	}
	out := snapshot{}
	read := func(name, path string, query url.Values) error {
		out[name] = map[string]record{}
		for {
			response, err := api.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/companies/" + c.id + "/" + path, Query: query})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			var page struct{ Items []record }
			if err := json.Unmarshal(response.Body, &page); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for _, r := range page.Items {
				id := r.text("id")
				if id == "" {
					id = r.text("seriesId") + " " + r.text("pointKey")
				}
				out[name][id] = r
			}
			cursor, err := response.Next()
			if err != nil || cursor == "" {
				return err
			}
			query = maps.Clone(query)
			if query == nil {
				query = url.Values{}
			}
			query.Set("cursor", cursor)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listPaths)) {
		if err := read(name, listPaths[name], nil); err != nil {
			return nil, err
		}
	}
	for id := range out["boards"] {
		if err := read(itemsOfBoard(id), "plan/boards/"+id+"/items", nil); err != nil {
			return nil, err
		}
		if err := read(liveItems(id), "plan/boards/"+id+"/live", nil); err != nil {
			return nil, err
		}
	}
	for id := range out["sites"] {
		if err := read(goalsOfSite(id), "optimise/sites/"+id+"/goals", nil); err != nil {
			return nil, err
		}
	}
	for _, definition := range out["definitions"] {
		key := definition.text("key")
		if err := read(pointsOfMetric(key), "metrics/points", url.Values{"metricKey": {key}, "limit": {"1000"}}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// The kinds of change.
const (
	created = "created"
	changed = "changed"
	deleted = "deleted"
)

// change is one difference between two snapshots.
type change struct {
	kind       string
	list, id   string
	properties []string // the properties that differ, if the record was changed
	record     record   // the deleted record, or the current version of the record
}

func (c change) String() string {
	text := c.kind + " " + c.id + " of " + c.list
	if len(c.properties) > 0 {
		text += ": " + strings.Join(c.properties, ", ")
	}
	return text
}

// uncheckedProperties are the properties that differ between companies with the same records, or
// that the service may set when a record changes.
var uncheckedProperties = []string{"companyId", "updatedAt", "publishedVersion", "publishedAt", "ingestedAt"}

// changesTo returns the differences between s and a later snapshot, sorted by list and id.
func (s snapshot) changesTo(after snapshot) (out []change) {
	names := slices.Sorted(maps.Keys(s))
	for name := range after {
		if s[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, now := s[name], after[name]
		for _, id := range slices.Sorted(maps.Keys(before)) {
			if now[id] == nil {
				out = append(out, change{deleted, name, id, nil, before[id]})
			} else if properties := differingProperties(before[id], now[id]); len(properties) > 0 {
				out = append(out, change{changed, name, id, properties, now[id]})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if before[id] == nil {
				out = append(out, change{created, name, id, nil, now[id]})
			}
		}
	}
	return out
}

func differingProperties(a, b record) (names []string) {
	for name := range b {
		if !slices.Contains(uncheckedProperties, name) && !reflect.DeepEqual(a[name], b[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkChanges returns an error unless the changes are exactly the wanted ones, in any order. A
// wanted change has the form that change.String returns.
func checkChanges(changes []change, want ...string) error {
	got := make([]string, len(changes))
	for i, c := range changes {
		got[i] = c.String()
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the changes are\n  %s\ninstead of\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return nil
}
