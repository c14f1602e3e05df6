package plan

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// SnapshotItem is the public content of an item. The delivery API serves snapshots, which are lists
// of SnapshotItem.
type SnapshotItem struct {
	ID          string   `json:"id"`
	Slug        string   `json:"slug"`
	Title       string   `json:"title"`
	Summary     *string  `json:"summary"`
	ColumnID    *string  `json:"columnId"`
	CategoryIDs []string `json:"categoryIds"`
	SortOrder   *int64   `json:"sortOrder"`
	TargetLabel *string  `json:"targetLabel"`
}

// PublishedItem identifies an item in the result of a preview or a publish.
type PublishedItem struct {
	ID               string  `json:"id"`
	Slug             string  `json:"slug"`
	Title            string  `json:"title"`
	ColumnID         *string `json:"columnId"`
	PublishedVersion *int64  `json:"publishedVersion" doc:"the version in which it last went live"`
}

// ChangedItem is an item whose public content would change, in the result of a preview.
type ChangedItem struct {
	PublishedItem

	Changed []string `json:"changed" null:"never" doc:"the names of the properties that differ, of slug, title, summary, columnId, categoryIds, sortOrder and targetLabel"`
}

// snapshot is the public content of a board: its visible items, in order.
type snapshot []SnapshotItem

// takeSnapshot sorts the items and returns the public content of those with status published.
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

// digest returns a hash of the content, which serves as the ETag of a preview and a publish.
func (s snapshot) digest() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("digest of a snapshot: %w", err)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

var emptySnapshotDigest = func() string {
	digest, err := snapshot{}.digest()
	if err != nil {
		panic(err)
	}
	return digest
}()

// checkNoLiveItems returns fault.Conflict when the live snapshot of a board is not empty.
func (b storedBoard) checkNoLiveItems() error {
	if b.SnapshotDigest != nil && *b.SnapshotDigest != emptySnapshotDigest {
		return errShowsLiveItems
	}
	return nil
}

// contentDiff lists how a snapshot differs from the live one. Each item has the PublishedVersion
// from before the publish.
type contentDiff struct {
	added, removed []PublishedItem
	updated        []ChangedItem
	unchangedCount int
}

// diffFrom returns what would change if s were published in place of the live snapshot. `items` are
// the board's stored items. They show in which version an item that is not live was last visible.
func (s snapshot) diffFrom(live snapshot, current *int64, items []storedItem) contentDiff {
	d := contentDiff{added: []PublishedItem{}, updated: []ChangedItem{}, removed: []PublishedItem{}}
	before := make(map[string]SnapshotItem, len(live))
	for _, i := range live {
		before[i.ID] = i
	}
	versions := make(map[string]*int64, len(items))
	for _, i := range items {
		versions[i.ID] = i.publishedVersion(current)
	}
	for _, i := range s {
		old, wasLive := before[i.ID]
		delete(before, i.ID)
		switch changed := i.changedProperties(old); {
		case !wasLive:
			d.added = append(d.added, i.publishedItem(versions[i.ID]))
		case len(changed) > 0:
			d.updated = append(d.updated, ChangedItem{i.publishedItem(current), changed})
		default:
			d.unchangedCount++
		}
	}
	for _, i := range live {
		if _, gone := before[i.ID]; gone {
			d.removed = append(d.removed, i.publishedItem(current))
		}
	}
	return d
}

// changedProperties returns the names of the properties that differ between two versions of an
// item, in field order.
func (i SnapshotItem) changedProperties(from SnapshotItem) (names []string) {
	now, before := reflect.ValueOf(i), reflect.ValueOf(from)
	for n := range now.NumField() {
		if !reflect.DeepEqual(now.Field(n).Interface(), before.Field(n).Interface()) {
			names = append(names, now.Type().Field(n).Tag.Get("json"))
		}
	}
	return names
}

func (i SnapshotItem) publishedItem(version *int64) PublishedItem {
	return PublishedItem{i.ID, i.Slug, i.Title, i.ColumnID, version}
}

// withPublishedVersion sets the new version on the items in d that go live, and returns d.
func (d contentDiff) withPublishedVersion(version int64) contentDiff {
	for n := range d.added {
		d.added[n].PublishedVersion = &version
	}
	for n := range d.updated {
		d.updated[n].PublishedVersion = &version
	}
	return d
}

// chunkBytesMax limits the JSON of one chunk, so that a record stays below DynamoDB's limit of 400
// KB even if the JSON does not compress.
const chunkBytesMax = 350 << 10

// versionMax is the largest version that fits the ten digits in the sort key of its chunks.
const versionMax = 9_999_999_999

// snapshotChunk is a part of an immutable snapshot. It is not read until a board points to that
// snapshot.
type snapshotChunk struct {
	Items []byte `store:"items"` // a gzipped JSON array of SnapshotItem
}

func chunkKey(companyID, boardID string, version int64, snapshotID string, n int) table.Key {
	k := recordKey(companyID)
	k.SK = chunkPrefix(boardID, version, snapshotID) + fmt.Sprintf("%05d", n)
	return k
}

func chunkPrefix(boardID string, version int64, snapshotID string) string {
	return table.JoinKey(chunkKind, boardID, fmt.Sprintf("%010d", version), snapshotID, "")
}

// splitIntoChunks splits a snapshot into chunks. An empty snapshot also has one chunk.
func (s snapshot) splitIntoChunks() ([]snapshotChunk, error) {
	var out []snapshotChunk
	for first := true; first || len(s) > 0; first = false {
		n, size := 0, 2
		for n < len(s) {
			text, err := json.Marshal(s[n])
			if err != nil {
				return nil, fmt.Errorf("encode a snapshot: %w", err)
			}
			if size += len(text) + 1; n > 0 && size > chunkBytesMax {
				break
			}
			n++
		}
		text, err := json.Marshal(s[:n])
		if err != nil {
			return nil, fmt.Errorf("encode a snapshot: %w", err)
		}
		packed, err := table.Compress(text)
		if err != nil {
			return nil, fmt.Errorf("a snapshot: %w", err)
		}
		out = append(out, snapshotChunk{packed})
		s = s[n:]
	}
	return out, nil
}

func (c snapshotChunk) decodeItems() (content snapshot, err error) {
	text, err := table.Decompress(c.Items)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return content, nil
}

// chunkReadConcurrency is the maximum number of chunks that are read in parallel.
const chunkReadConcurrency = 16

// readLiveSnapshot reads the live snapshot of a board. It is empty when the board was never
// published. Returns fault.ErrNotFound when the board has been removed since it was read.
func (s Store) readLiveSnapshot(ctx context.Context, b storedBoard) (snapshot, error) {
	if b.SnapshotID == nil {
		return snapshot{}, nil
	}
	parts := make([]snapshot, int(*b.SnapshotChunks))
	err := parallel.Do(len(parts), chunkReadConcurrency, func(n int) (err error) {
		parts[n], err = s.readLiveChunk(ctx, b, n)
		return err
	})
	if err != nil {
		return nil, s.notFoundIfRemoved(ctx, b, err)
	}
	content := snapshot{}
	for _, part := range parts {
		content = append(content, part...)
	}
	return content, nil
}

// readLiveChunk reads the items of one chunk of the live snapshot of a board.
func (s Store) readLiveChunk(ctx context.Context, b storedBoard, n int) (snapshot, error) {
	stored, err := table.Get[snapshotChunk](ctx, s.table, chunkKey(b.CompanyID, b.ID, *b.SnapshotVersion, *b.SnapshotID, n))
	if errors.Is(err, fault.ErrNotFound) { // callers must not see ErrNotFound, because the board itself exists
		return nil, fmt.Errorf("chunk %d of snapshot %s is missing", n, *b.SnapshotID)
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %d of snapshot %s: %w", n, *b.SnapshotID, err)
	}
	items, err := stored.decodeItems()
	if err != nil {
		return nil, fmt.Errorf("chunk %d of snapshot %s: %w", n, *b.SnapshotID, err)
	}
	return items, nil
}

// notFoundIfRemoved is called when part of a board is missing. It returns fault.ErrNotFound if the
// board has been removed since it was read, and err otherwise.
func (s Store) notFoundIfRemoved(ctx context.Context, b storedBoard, err error) error {
	if _, readErr := s.readBoard(ctx, b.CompanyID, b.ID); errors.Is(readErr, fault.ErrNotFound) {
		return readErr
	}
	return err
}
