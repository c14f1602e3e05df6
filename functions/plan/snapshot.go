package plan

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// SnapshotItem is what visitors see of an item: its public content and nothing of its editorial life. Snapshots of it
// are what the delivery API serves (decisions.md §14).
type SnapshotItem struct {
	ID          string   `json:"id"`
	Slug        string   `json:"slug"`
	Title       string   `json:"title"`
	Summary     *string  `json:"summary"`
	ColumnID    *string  `json:"columnId"`
	CategoryIDs []string `json:"categoryIds"`
	SortOrder   *float64 `json:"sortOrder"`
	TargetLabel *string  `json:"targetLabel"`
}

// PublishedItem names an item in the answer of a preview or a publish (decisions.md §4).
type PublishedItem struct {
	ID               string   `json:"id"`
	Slug             string   `json:"slug"`
	Title            string   `json:"title"`
	ColumnID         *string  `json:"columnId"`
	PublishedVersion *float64 `json:"publishedVersion" doc:"the version in which it last went live"`
}

// snapshot is the public content of a board, in the order of its items.
type snapshot []SnapshotItem

// takeSnapshot returns what publishing these items would make visible: those with status published.
func takeSnapshot(items []storedItem) snapshot {
	slices.SortFunc(items, func(a, b storedItem) int { return strings.Compare(itemOrder(a.Item), itemOrder(b.Item)) })
	out := snapshot{}
	for _, i := range items {
		if i.Status != nil && *i.Status == StatusPublished {
			out = append(out, SnapshotItem{i.ID, i.Slug, i.Title, i.Summary, i.ColumnID, i.CategoryIDs, i.SortOrder, i.TargetLabel})
		}
	}
	return out
}

// digest identifies the content: the ETag of preview and publish.
func (s snapshot) digest() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("digest of a snapshot: %w", err)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

// difference is how a snapshot differs from the live one. PublishedVersion is that of before the publish.
type difference struct {
	added, updated, removed []PublishedItem
	unchanged               int
}

// compare tells what publishing s over the live snapshot changes. items gives the version in which each item that is
// not live was last live.
func (s snapshot) compare(live snapshot, current *float64, items []storedItem) difference {
	d := difference{added: []PublishedItem{}, updated: []PublishedItem{}, removed: []PublishedItem{}}
	before := make(map[string]SnapshotItem, len(live))
	for _, i := range live {
		before[i.ID] = i
	}
	versions := make(map[string]*float64, len(items))
	for _, i := range items {
		versions[i.ID] = i.publishedVersion(current)
	}
	for _, i := range s {
		old, wasLive := before[i.ID]
		delete(before, i.ID)
		switch {
		case !wasLive:
			d.added = append(d.added, i.named(versions[i.ID]))
		case !reflect.DeepEqual(old, i):
			d.updated = append(d.updated, i.named(current))
		default:
			d.unchanged++
		}
	}
	for _, i := range live {
		if _, gone := before[i.ID]; gone {
			d.removed = append(d.removed, i.named(current))
		}
	}
	return d
}

func (i SnapshotItem) named(version *float64) PublishedItem {
	return PublishedItem{i.ID, i.Slug, i.Title, i.ColumnID, version}
}

// committed returns the difference as it reads after the publish: what is live has the new version.
func (d difference) committed(version float64) difference {
	for _, list := range [][]PublishedItem{d.added, d.updated} {
		for n := range list {
			list[n].PublishedVersion = &version
		}
	}
	return d
}
