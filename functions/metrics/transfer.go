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
	definitions := transfer.WithRulesOf[createDefinitionInput](transfer.Define[Definition]("metric-definition", definitionIDPrefix, nil, nil, transfer.ExportEach[Definition](t, definitionsOf)))
	definitions = transfer.WithVerify(definitions, s.verifyIDs)
	definitions = transfer.WithUnique(definitions, func(d Definition) []transfer.UniqueText {
		return []transfer.UniqueText{{Text: "id " + d.ID, Owner: d.Key}}
	})
	points := transfer.Define("metric-point", "", checkPoint, nil,
		func(ctx context.Context, companyID string, visit func(pointLine) error) error {
			return s.EachPoint(ctx, companyID, func(p Point) error {
				return visit(pointLine{SeriesID: &p.SeriesID, PointKey: &p.PointKey, Point: p})
			})
		})
	points = transfer.WithRulesOf[pushedPoint](points, "dims") // in a record, dims may be any JSON
	definitions = transfer.WithExisting(definitions, transfer.ExistsByKey(t, func(companyID string, d Definition) table.Key { return definitionKey(companyID, d.Key) }), s.addDefinitions)
	points = transfer.WithExisting(points, s.pointsExist, s.addPointLines)
	return []transfer.Type{
		transfer.WithAliases(definitions, func(d Definition) (own, rival string) { return importAliases(d.Key) },
			func(ctx context.Context, companyID string, records []Definition) ([]string, error) {
				return s.verifyNames(ctx, companyID, "key", metricKeys(records, func(d Definition) string { return d.Key }))
			}, s.importDefinitions),
		transfer.WithAliases(points, func(p pointLine) (own, rival string) { return importAliases(p.MetricKey) },
			func(ctx context.Context, companyID string, records []pointLine) ([]string, error) {
				return s.verifyNames(ctx, companyID, "metricKey", metricKeys(records, func(p pointLine) string { return p.MetricKey }))
			}, s.importPoints),
	}
}

func metricKeys[T any](records []T, keyOf func(T) string) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = keyOf(r)
	}
	return out
}

// importAliases returns the names under which an import remembers the keys in its file. The first
// is for the given key. The second is for the metric's other key, or empty if there is none.
func importAliases(key string) (own, rival string) {
	if other := aliasOf(key); other != "" {
		rival = importName(other)
	}
	return importName(key), rival
}

func importName(key string) string { return "metric " + key }

// verifyNames finds the keys whose metric is stored only under its other name. It returns one
// message per key, empty if there is no problem.
func (s Store) verifyNames(ctx context.Context, companyID, field string, keys []string) ([]string, error) {
	known, err := s.DefinitionsByKey(ctx, companyID, namesWithAliases(keys))
	if err != nil {
		return nil, err
	}
	problems := make([]string, len(keys))
	for i, key := range keys {
		if stored, defined := storedKey(key, known); defined && stored != key {
			problems[i] = fmt.Sprintf("record.%s: the metric is stored as %s; use that key, or import both in one file", field, stored)
		}
	}
	return problems, nil
}

// verifyIDs checks that no definition's id is already used by another metric. It returns one
// message per definition, empty if there is no conflict.
func (s Store) verifyIDs(ctx context.Context, companyID string, definitions []Definition) ([]string, error) {
	idRecords, err := s.readIDRecords(ctx, companyID, definitions)
	problems := make([]string, len(definitions))
	for i, d := range definitions {
		if idRecord := idRecords[d.ID]; idRecord.key != d.Key && idRecord.inUse {
			problems[i] = "record." + idConflict(d, idRecord.key)
		}
	}
	return problems, err
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

// importDefinitions stores definitions, and replaces existing ones with the same key. Returns an
// error if the metric has been defined under its other name since the file was checked.
func (s Store) importDefinitions(ctx context.Context, companyID string, definitions []Definition, fileHasName transfer.FileHasName) error {
	_, _, err := s.putAllDefinitions(ctx, companyID, definitions, true, fileHasName)
	return err
}

// addDefinitions stores definitions whose keys are not defined yet, and returns how many it skipped
// because their keys are already defined.
func (s Store) addDefinitions(ctx context.Context, companyID string, definitions []Definition, fileHasName transfer.FileHasName) (skipped int, err error) {
	skipped, _, err = s.putAllDefinitions(ctx, companyID, definitions, false, fileHasName)
	return skipped, err
}

// putAllDefinitions is putDefinitions for any number of definitions. If several have the same key,
// the last one is stored. The returned map has the stored id of each definition, by key.
func (s Store) putAllDefinitions(ctx context.Context, companyID string, definitions []Definition, replace bool, fileHasName transfer.FileHasName) (skipped int, ids map[string]string, err error) {
	ids = map[string]string{}
	latest := transfer.KeepLast(definitions, func(d Definition) string { return d.Key })
	for batch := range slices.Chunk(latest, importBatchMax) {
		n, err := s.putDefinitions(ctx, companyID, batch, replace, fileHasName, ids)
		if err != nil {
			return skipped, ids, err
		}
		skipped += n
	}
	return skipped, ids, nil
}

// importPoints stores points, and creates definitions for metrics that have none.
func (s Store) importPoints(ctx context.Context, companyID string, lines []pointLine, fileHasName transfer.FileHasName) error {
	points, definitionIDs, err := s.preparePoints(ctx, companyID, lines, fileHasName)
	if err != nil {
		return err
	}
	return s.PutPoints(ctx, companyID, points, definitionIDs)
}

// addPointLines stores only the points that are not stored yet, and is otherwise like importPoints.
// It returns how many points it skipped.
func (s Store) addPointLines(ctx context.Context, companyID string, lines []pointLine, fileHasName transfer.FileHasName) (skipped int, err error) {
	points, definitionIDs, err := s.preparePoints(ctx, companyID, lines, fileHasName)
	if err != nil {
		return 0, err
	}
	return s.AddPoints(ctx, companyID, points, definitionIDs)
}

// preparePoints converts lines to points. It also returns a map from metric key to definition
// id, and creates a definition for each metric that has none.
func (s Store) preparePoints(ctx context.Context, companyID string, lines []pointLine, fileHasName transfer.FileHasName) ([]Point, map[string]string, error) {
	now := s.now()
	points := make([]Point, len(lines))
	definitions := map[string]Definition{}
	for i := range lines {
		points[i] = lines[i].Point
		definitions[points[i].MetricKey] = newPushedDefinition(points[i].MetricKey, now)
	}
	_, ids, err := s.putAllDefinitions(ctx, companyID, slices.Collect(maps.Values(definitions)), false, fileHasName)
	return points, ids, err
}

// pointsExist reports for each point whether a point of the same series and bucket is stored.
func (s Store) pointsExist(ctx context.Context, companyID string, lines []pointLine) ([]bool, error) {
	recordKeys := make([]table.Key, len(lines))
	buckets := make([]string, len(lines))
	for n, line := range lines {
		record, bucket, err := newPointRecord(companyID, line.Point)
		if err != nil {
			return nil, err
		}
		recordKeys[n], buckets[n] = table.Key{PK: record.PK, SK: record.SK}, bucket
	}
	items, err := table.BatchGetItems(ctx, s.table, transfer.KeepLast(recordKeys, func(k table.Key) table.Key { return k }))
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

// putDefinitions stores definitions with different keys. Unless `replace` is set, it skips those
// whose key is already defined, and returns how many it skipped. A definition without an id gets
// one. Unless the file contains both names of a metric, a definition is not created if one exists
// under the metric's other name. A definition is never stored with the id of another metric's
// definition. The writes are conditional on these rules. putDefinitions adds the stored id of each
// definition to the map `ids`.
func (s Store) putDefinitions(ctx context.Context, companyID string, definitions []Definition, replace bool, fileHasName transfer.FileHasName, ids map[string]string) (skipped int, err error) {
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
			otherNameInFile, idRecord := fileHasName(importName(aliasOf(d.Key))), idRecords[d.ID]
			switch {
			case defined && stored != d.Key && !otherNameInFile:
				return 0, fmt.Errorf("the metric %s has been stored as %s since the file was checked", d.Key, stored)
			case defined && stored == d.Key && !replace:
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

// checkPoint validates a point and sets its identity. seriesId and pointKey in the line must match
// the derived values. Otherwise the same bucket would have two points.
func checkPoint(line *pointLine) (problems []string) {
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
