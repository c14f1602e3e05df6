package metrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

const definitionIDPrefix = "mdf"

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	stored := transfer.Stored[Definition]{Table: t, KeysOf: func(companyID string, d *Definition) table.Keys {
		d.CompanyID = companyID
		return keysOf(*d)
	}, Each: transfer.ExportEach[Definition](t, definitionsOf)}
	return []transfer.Type{
		transfer.Define("metric-definition", definitionIDPrefix, definitionKind{stored, s}, transfer.RulesOf[Definition, createDefinitionInput]()),
		transfer.Define("metric-point", "", pointKind{s}, transfer.RulesOf[pointLine, pushedPoint]("dims")), // in a record, dims may be any JSON
	}
}

// definitionKind imports and exports definitions, and pointKind points. A metric has two names (see
// aliasOf). Its records are not stored under one name if its definition is stored under the other,
// unless the file contains both.
type (
	definitionKind struct {
		transfer.Stored[Definition]

		store Store
	}
	pointKind struct{ Store }
)

// Entry implements transfer.Kind.
func (definitionKind) Entry(d Definition) transfer.Entry {
	return transfer.Entry{Name: importName(d.Key), Unique: []transfer.UniqueText{{Text: "id " + d.ID, Owner: d.Key}}}
}

// Entry implements transfer.Kind.
func (pointKind) Entry(p pointLine) transfer.Entry {
	return transfer.Entry{Name: importName(p.MetricKey)}
}

// Verify implements transfer.Kind. No definition's id may belong to another metric.
func (k definitionKind) Verify(ctx context.Context, companyID string, definitions []Definition) ([]transfer.Problem, error) {
	problems, err := k.store.verifyNames(ctx, companyID, "key", metricKeys(definitions, func(d Definition) string { return d.Key }))
	if err != nil {
		return nil, err
	}
	idRecords, err := k.store.readIDRecords(ctx, companyID, definitions)
	for n, d := range definitions {
		if idRecord := idRecords[d.ID]; idRecord.key != d.Key && idRecord.inUse {
			problems = append(problems, transfer.Problem{Index: n, Text: "record." + idConflict(d, idRecord.key)})
		}
	}
	return problems, err
}

// Verify implements transfer.Kind.
func (k pointKind) Verify(ctx context.Context, companyID string, lines []pointLine) ([]transfer.Problem, error) {
	return k.verifyNames(ctx, companyID, "metricKey", metricKeys(lines, func(p pointLine) string { return p.MetricKey }))
}

func metricKeys[T any](records []T, keyOf func(T) string) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = keyOf(r)
	}
	return out
}

// importName returns the name by which an import remembers a key in its file.
func importName(key string) string { return "metric " + key }

// verifyNames finds the keys whose metric is stored only under its other name.
func (s Store) verifyNames(ctx context.Context, companyID, field string, keys []string) (problems []transfer.Problem, err error) {
	known, err := s.DefinitionsByKey(ctx, companyID, namesWithAliases(keys))
	if err != nil {
		return nil, err
	}
	for n, key := range keys {
		if stored, defined := storedKey(key, known); defined && stored != key {
			text := fmt.Sprintf("record.%s: the metric is stored as %s; use that key, or import both in one file", field, stored)
			problems = append(problems, transfer.Problem{Index: n, Text: text, UnlessNamed: importName(aliasOf(key))})
		}
	}
	return problems, nil
}

func idConflict(d Definition, key string) string {
	return fmt.Sprintf("id: %s is the id of the metric %s", d.ID, key)
}

// storedIDRecord holds the key in the id record of a definition. inUse reports whether the
// definition under that key really has the id.
type storedIDRecord struct {
	key   string
	inUse bool
}

// readIDRecords returns the id records of the definitions, as a map by id.
func (s Store) readIDRecords(ctx context.Context, companyID string, definitions []Definition) (map[string]storedIDRecord, error) {
	var ids []table.Key
	for _, d := range transfer.KeepLast(definitions, func(d Definition) string { return d.ID }) {
		if d.ID != "" { // without an id, the definition gets one when it is stored
			ids = append(ids, definitionIDKey(companyID, d.ID))
		}
	}
	found, err := table.BatchGet[struct {
		SK  string `json:"sk"`
		Key string `json:"key"`
	}](ctx, s.table, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var keys []string
	for _, idRecord := range found {
		keys = append(keys, idRecord.Key)
	}
	slices.Sort(keys)
	known, err := s.DefinitionsByKey(ctx, companyID, slices.Compact(keys))
	out := map[string]storedIDRecord{}
	for _, idRecord := range found {
		id := strings.TrimPrefix(idRecord.SK, definitionIDKeyPrefix)
		out[id] = storedIDRecord{idRecord.Key, known[idRecord.Key].ID == id}
	}
	return out, err
}

// namesWithAliases returns all names of the metrics with these keys, without duplicates.
func namesWithAliases(keys []string) (out []string) {
	for _, key := range keys {
		out = append(out, namesOf(key)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Import implements transfer.Kind. It returns an error if the metric has been defined under its
// other name since the file was checked.
func (k definitionKind) Import(ctx context.Context, companyID string, definitions []Definition, m transfer.Mode) (skipped int, err error) {
	skipped, _, err = k.store.putAllDefinitions(ctx, companyID, definitions, m)
	return skipped, err
}

// putAllDefinitions is putDefinitions for any number of definitions. If several have the same key,
// the last one is stored. The returned map has the stored id of each definition, by key.
func (s Store) putAllDefinitions(ctx context.Context, companyID string, definitions []Definition, m transfer.Mode) (skipped int, ids map[string]string, err error) {
	ids = map[string]string{}
	latest := transfer.KeepLast(definitions, func(d Definition) string { return d.Key })
	for batch := range slices.Chunk(latest, importBatchMax) {
		n, err := s.putDefinitions(ctx, companyID, batch, m, ids)
		if err != nil {
			return skipped, ids, err
		}
		skipped += n
	}
	return skipped, ids, nil
}

// Export implements transfer.Kind.
func (k pointKind) Export(ctx context.Context, companyID string, visit func(pointLine) error) error {
	return k.EachPoint(ctx, companyID, func(p Point) error {
		return visit(pointLine{SeriesID: &p.SeriesID, PointKey: &p.PointKey, Point: p})
	})
}

// Import implements transfer.Kind. It creates definitions for metrics that have none.
func (k pointKind) Import(ctx context.Context, companyID string, lines []pointLine, m transfer.Mode) (skipped int, err error) {
	points, definitionIDs, err := k.preparePoints(ctx, companyID, lines, m)
	if err != nil {
		return 0, err
	}
	if m.OnlyNew {
		return k.AddPoints(ctx, companyID, points, definitionIDs)
	}
	return 0, k.PutPoints(ctx, companyID, points, definitionIDs)
}

// preparePoints converts lines to points. It also returns a map from metric key to definition
// id, and creates a definition for each metric that has none.
func (s Store) preparePoints(ctx context.Context, companyID string, lines []pointLine, m transfer.Mode) ([]Point, map[string]string, error) {
	now := s.now()
	points := make([]Point, len(lines))
	definitions := map[string]Definition{}
	for i := range lines {
		points[i] = lines[i].Point
		definitions[points[i].MetricKey] = newPushedDefinition(points[i].MetricKey, now)
	}
	m.OnlyNew = true
	_, ids, err := s.putAllDefinitions(ctx, companyID, slices.Collect(maps.Values(definitions)), m)
	return points, ids, err
}

// Exist reports for each point whether a point of the same series and bucket is stored.
func (k pointKind) Exist(ctx context.Context, companyID string, lines []pointLine) ([]bool, error) {
	recordKeys := make([]table.Key, len(lines))
	buckets := make([]string, len(lines))
	for n, line := range lines {
		record, bucket, err := newPointRecord(companyID, line.Point)
		if err != nil {
			return nil, err
		}
		recordKeys[n], buckets[n] = table.Key{PK: record.PK, SK: record.SK}, bucket
	}
	items, err := table.BatchGetItems(ctx, k.table, transfer.KeepLast(recordKeys, func(k table.Key) table.Key { return k }))
	stored := make(map[table.Key]table.Item, len(items))
	for _, item := range items {
		stored[table.KeyOf(item)] = item
	}
	exist := make([]bool, len(lines))
	for n := range lines {
		exist[n] = stored[recordKeys[n]][buckets[n]] != nil
	}
	return exist, err
}

// importBatchMax is how many definitions one transaction of an import writes. A definition needs up
// to three writes.
const importBatchMax = 33

// importAttemptsMax limits how many times a transaction of an import is attempted while other
// callers create or delete its definitions.
const importAttemptsMax = 16

// putDefinitions stores definitions with different keys, and returns how many it skipped. A
// definition without an id gets one. Unless the file contains both names of a metric, a definition
// is not created if one exists under the metric's other name. A definition is never stored with the
// id of another metric's definition. The writes are conditional on these rules. putDefinitions adds
// the stored id of each definition to the map `ids`.
func (s Store) putDefinitions(ctx context.Context, companyID string, definitions []Definition, m transfer.Mode, ids map[string]string) (skipped int, err error) {
	for range importAttemptsMax {
		known, err := s.DefinitionsByKey(ctx, companyID, namesWithAliases(metricKeys(definitions, func(d Definition) string { return d.Key })))
		if err != nil {
			return 0, err
		}
		idRecords, err := s.readIDRecords(ctx, companyID, definitions)
		if err != nil {
			return 0, err
		}
		var writes []table.Write
		skipped = 0
		for _, d := range definitions {
			if d.CompanyID = companyID; d.ID == "" {
				d.ID = s.table.NewID(definitionIDPrefix)
			}
			stored, defined := storedKey(d.Key, known)
			otherNameInFile, idRecord := m.FileHasName(importName(aliasOf(d.Key))), idRecords[d.ID]
			switch {
			case defined && stored != d.Key && !otherNameInFile:
				return 0, fmt.Errorf("the metric %s has been stored as %s since the file was checked", d.Key, stored)
			case defined && stored == d.Key && m.OnlyNew:
				skipped++
				ids[d.Key] = known[d.Key].ID
			case idRecord.inUse && idRecord.key != d.Key:
				return 0, fmt.Errorf("the metric %s has been stored since the file was checked: %s", idRecord.key, idConflict(d, idRecord.key))
			default:
				ids[d.Key] = d.ID
				writes = append(writes, s.importWrites(d, defined && stored == d.Key, otherNameInFile, idRecord.key)...)
			}
		}
		if len(writes) == 0 {
			return skipped, nil
		}
		err = s.table.Transact(ctx, writes...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return skipped, err
		}
	}
	return 0, table.ErrTooMuchContention
}

// importWrites returns the writes for an imported definition. If `replace` is set, the writes
// replace the stored definition. If `allowOtherName` is set, they create the definition even if the
// metric's other name is defined. The id record must be missing, or contain the definition's key or
// the key in `stale`.
func (s Store) importWrites(d Definition, replace, allowOtherName bool, stale string) []table.Write {
	idWrite := s.table.WritePutIf(table.Keys{Key: definitionIDKey(d.CompanyID, d.ID)}, definitionIDRecord{d.Key},
		"attribute_not_exists(pk) OR #key IN (:key, :stale)", map[string]string{"#key": "key"},
		table.Item{":key": table.String(d.Key), ":stale": table.String(stale)})
	switch {
	case replace:
		return []table.Write{s.table.WritePutIfEqual(keysOf(d), d, "key", table.String(d.Key)), idWrite}
	case allowOtherName:
		return []table.Write{s.table.WriteCreate(keysOf(d), d), idWrite}
	}
	writes := s.writeNewDefinition(d, "")
	writes[1] = idWrite
	return writes
}

// dimsBytesMax limits the size of dims, to keep a record far below DynamoDB's limit of 400 KB. A
// push can send at most 10 names and 10 values of 200 characters each, with up to 6 bytes per
// character, which is 24,000 bytes.
const dimsBytesMax = 25_000

// pointLine is a point in an import file. seriesId and pointKey may be omitted, because they can be
// derived. In JSON, the two fields of pointLine take precedence over the fields of Point with the
// same names.
type pointLine struct {
	SeriesID *string `json:"seriesId"`
	PointKey *string `json:"pointKey"`
	Point
}

// Check validates a point and sets its identity. seriesId and pointKey in the line must match
// the derived values. Otherwise the same bucket would have two points.
func (pointKind) Check(line *pointLine) (problems []string) {
	p := &line.Point
	if wrong := checkKey(p.MetricKey); wrong != "" {
		problems = append(problems, "record.metricKey: "+wrong)
	}
	if err := p.Identify(); err != nil {
		return append(problems, "record."+err.Error())
	}
	if n := len(p.Dims); n > dimsBytesMax {
		problems = append(problems, fmt.Sprintf("record.dims: must have at most %d bytes, has %d", dimsBytesMax, n))
	}
	if given := line.SeriesID; given != nil && *given != p.SeriesID {
		problems = append(problems, fmt.Sprintf("record.seriesId: must be %s, derived from metricKey, grain and dims, or omitted", p.SeriesID))
	}
	if given := line.PointKey; given != nil && *given != p.PointKey {
		problems = append(problems, fmt.Sprintf("record.pointKey: must be %s, derived from grain and ts, or omitted", p.PointKey))
	}
	return problems
}
