package plan

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"growthworkspace/shared/table"
)

// chunkBytesMax bounds the JSON of one chunk, so that a record stays below DynamoDB's 400 KB even where it does not
// compress.
const chunkBytesMax = 350 << 10

// versionMax is the greatest version whose number fits the sort key of its chunks.
const versionMax = 9_999_999_999

// chunk is a part of an immutable snapshot. It is invisible until a board's pointer names its snapshot.
type chunk struct {
	Items []byte `store:"items"` // a gzipped JSON array of SnapshotItem
}

func chunkKey(companyID, boardID string, version float64, snapshotID string, n int) table.Key {
	k := key(companyID)
	k.SK = chunkPrefix(boardID, version, snapshotID) + fmt.Sprintf("%05d", n)
	return k
}

func chunkPrefix(boardID string, version float64, snapshotID string) string {
	return table.Join(chunkKind, boardID, fmt.Sprintf("%010.0f", version), snapshotID, "")
}

// chunks cuts a snapshot into records. An empty snapshot has one chunk, too.
func (s Store) chunks(companyID, boardID string, version float64, snapshotID string, content snapshot) ([]table.Item, error) {
	var out []table.Item
	for first := true; first || len(content) > 0; first = false {
		n, size := 0, 2
		for n < len(content) {
			text, err := json.Marshal(content[n])
			if err != nil {
				return nil, fmt.Errorf("encode a snapshot: %w", err)
			}
			if size += len(text) + 1; n > 0 && size > chunkBytesMax {
				break
			}
			n++
		}
		text, err := json.Marshal(content[:n])
		if err != nil {
			return nil, fmt.Errorf("encode a snapshot: %w", err)
		}
		packed, err := pack(text)
		if err != nil {
			return nil, err
		}
		out = append(out, s.table.NewItem(table.Keys{Key: chunkKey(companyID, boardID, version, snapshotID, len(out))}, chunk{packed}))
		content = content[n:]
	}
	return out, nil
}

func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("pack a snapshot: %w", err)
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) (snapshot, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack a snapshot: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack a snapshot: %w", err)
	}
	var content snapshot
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("decode a snapshot: %w", err)
	}
	return content, nil
}

// chunkReaders is how many chunks are read at once.
const chunkReaders = 16

// live reads the live snapshot of a board, empty when it was never published.
func (s Store) live(ctx context.Context, b storedBoard) (snapshot, error) {
	if b.SnapshotID == nil {
		return snapshot{}, nil
	}
	parts := make([]snapshot, int(*b.SnapshotChunks))
	err := table.Parallel(len(parts), chunkReaders, func(n int) error {
		stored, err := table.Get[chunk](ctx, s.table, chunkKey(b.CompanyID, b.ID, *b.SnapshotVersion, *b.SnapshotID, n))
		if err != nil {
			return fmt.Errorf("chunk %d of snapshot %s: %s", n, *b.SnapshotID, err) // not %w: to the caller this is no missing record
		}
		parts[n], err = unpack(stored.Items)
		return err
	})
	content := snapshot{}
	for _, part := range parts {
		content = append(content, part...)
	}
	return content, err
}
