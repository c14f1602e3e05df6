package optimise

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"growthworkspace/shared/table"
)

// The maximum size of an audit's findings, as JSON without insignificant whitespace, and the
// maximum size of a chunk. A query returns up to a megabyte, which is enough for three chunks.
const (
	findingsBytesMax = 4 << 20
	chunkBytesMax    = 300_000
)

// findingsChunk is a part of an audit's compressed findings. Each write of findings stores a new
// generation of chunks, which has its own id. The chunks are written before the audit refers to
// their generation, and deleted after the audit refers to the next one. A reader of an audit
// therefore finds all chunks of its generation, or notices that some are missing, but never gets a
// mixture of two generations.
type findingsChunk struct {
	SK   string `store:"sk"`
	Data []byte `store:"data"`
}

func findingsChunkKey(companyID, auditID, generation string, n int64) table.Key {
	return table.Key{PK: partition(companyID, findingsPart, auditID), SK: table.JoinKey(generation, fmt.Sprintf("%03d", n))}
}

// chunks returns all stored chunks of an audit, from all generations.
func (s auditStore) chunks(ctx context.Context, companyID, auditID string, consistent bool) ([]findingsChunk, error) {
	return table.ReadAll[findingsChunk](ctx, s.table, table.Collection{Partition: partition(companyID, findingsPart, auditID), Consistent: consistent})
}

// chunkKeys returns the keys of the chunks that the audit refers to, or nil if the audit has no
// findings.
func (a storedAudit) chunkKeys() (keys []table.Key) {
	if a.Generation == nil || a.Chunks == nil {
		return nil
	}
	for n := range *a.Chunks {
		keys = append(keys, findingsChunkKey(a.CompanyID, a.ID, *a.Generation, n))
	}
	return keys
}

// findingsDigest returns the digest of an audit's findings, or nil if they are nil. The findings
// must not contain insignificant whitespace.
func findingsDigest(findings json.RawMessage) *string {
	if findings == nil {
		return nil
	}
	sum := sha256.Sum256(findings)
	return new(base64.RawStdEncoding.EncodeToString(sum[:]))
}

// hasFindings reports whether the audit's findings have the given digest, where nil stands for no
// findings. It returns false if the audit's findings were stored without a digest.
func (a storedAudit) hasFindings(digest *string) bool {
	if digest == nil {
		return a.Generation == nil
	}
	return equalStrings(a.Digest, digest)
}

// findings assembles the findings from the chunks that the audit refers to. It returns nil if the
// audit has no findings, and an error if a chunk is missing.
func (a storedAudit) findings(chunks []findingsChunk) (json.RawMessage, error) {
	keys := a.chunkKeys()
	if keys == nil {
		return nil, nil
	}
	var packed bytes.Buffer
	for _, k := range keys {
		n := slices.IndexFunc(chunks, func(c findingsChunk) bool { return c.SK == k.SK })
		if n < 0 {
			return nil, fmt.Errorf("audit %s: chunk %s is missing", a.ID, k.SK)
		}
		packed.Write(chunks[n].Data)
	}
	text, err := table.Decompress(packed.Bytes())
	if err != nil {
		return nil, fmt.Errorf("findings of audit %s: %w", a.ID, err)
	}
	return text, nil
}

// packFindings changes the audit to refer to a new generation of findings. It returns the chunks of
// that generation, which must be written before the audit.
func (s auditStore) packFindings(a *storedAudit, findings json.RawMessage) ([]table.Item, error) {
	if findings == nil {
		return nil, nil
	}
	packed, err := table.Compress(findings)
	if err != nil {
		return nil, fmt.Errorf("findings of audit %s: %w", a.ID, err)
	}
	var items []table.Item
	generation := s.table.NewID("gen")
	for data := range slices.Chunk(packed, chunkBytesMax) {
		k := findingsChunkKey(a.CompanyID, a.ID, generation, int64(len(items)))
		items = append(items, s.table.NewItem(table.Keys{Key: k}, findingsChunk{k.SK, data}))
	}
	a.Generation, a.Chunks, a.Digest = &generation, new(int64(len(items))), findingsDigest(findings)
	return items, nil
}
