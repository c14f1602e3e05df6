package optimise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"growthworkspace/shared/table"
)

// Sizes of findings: of their JSON without insignificant space, and of one chunk of them, of which
// three fit into the megabyte that a query returns at once.
const (
	findingsBytesMax = 5 << 20
	chunkBytesMax    = 300_000
)

// chunk is a part of packed findings. A generation is written once, under an id of its own, before its audit names it,
// and deleted after the audit has named another: so whoever holds an audit finds its chunks whole or misses some, and
// never gets a mixture.
type chunk struct {
	SK   string `store:"sk"`
	Data []byte `store:"data"`
}

func chunkKey(companyID, auditID, generation string, n int64) table.Key {
	return table.Key{PK: partition(companyID, findingsOf, auditID), SK: table.Join(generation, fmt.Sprintf("%03d", n))}
}

// chunks returns what is stored of an audit's findings, of any generation.
func (s Store) chunks(ctx context.Context, companyID, auditID string, consistent bool) ([]chunk, error) {
	return table.Whole[chunk](ctx, s.table, table.Collection{Partition: partition(companyID, findingsOf, auditID), Consistent: consistent})
}

// chunkKeys returns where the chunks of the audit's findings are.
func (a storedAudit) chunkKeys() (keys []table.Key) {
	if a.Generation == nil || a.Chunks == nil {
		return nil
	}
	for n := range *a.Chunks {
		keys = append(keys, chunkKey(a.CompanyID, a.ID, *a.Generation, n))
	}
	return keys
}

// findings picks the chunks that the audit names and returns what they hold, null when it names none.
func (a storedAudit) findings(chunks []chunk) (json.RawMessage, error) {
	keys := a.chunkKeys()
	if keys == nil {
		return nil, nil
	}
	var packed bytes.Buffer
	for _, k := range keys {
		n := slices.IndexFunc(chunks, func(c chunk) bool { return c.SK == k.SK })
		if n < 0 {
			return nil, fmt.Errorf("audit %s: no chunk %s", a.ID, k.SK)
		}
		packed.Write(chunks[n].Data)
	}
	text, err := table.Unpack(packed.Bytes())
	if err != nil {
		return nil, fmt.Errorf("findings of audit %s: %w", a.ID, err)
	}
	return text, nil
}

// packFindings gives the audit a new generation of findings and returns its chunks, to be written before the audit.
func (s Store) packFindings(a *storedAudit, findings json.RawMessage) ([]table.Item, error) {
	if findings == nil {
		return nil, nil
	}
	packed, err := table.Pack(findings)
	if err != nil {
		return nil, fmt.Errorf("findings of audit %s: %w", a.ID, err)
	}
	var items []table.Item
	generation := s.table.NewID("gen")
	for data := range slices.Chunk(packed, chunkBytesMax) {
		k := chunkKey(a.CompanyID, a.ID, generation, int64(len(items)))
		items = append(items, s.table.NewItem(table.Keys{Key: k}, chunk{k.SK, data}))
	}
	a.Generation, a.Chunks = &generation, new(int64(len(items)))
	return items, nil
}
