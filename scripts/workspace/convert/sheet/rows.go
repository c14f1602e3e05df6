package sheet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/functions/plan"
	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/tabular"
	"growthworkspace/shared/timestamp"
)

// rowConverter converts the rows of a table to records.
type rowConverter struct {
	mapping

	table          *tabular.Table
	out            *convert.Output
	target         *target
	dateFormat     tabular.Format
	zone           *time.Location
	pointDates     *tabular.Dates // reads the dates of points
	columns        []fieldColumn
	metrics        []metricColumn
	dims           []dimColumn
	idIndex        int            // the index of the --id-column, or -1
	dateIndex      int            // the index of the column with a point's date, or -1
	constantValues map[string]any // the fields set by --set
	defaults       map[string]any // the values of fields that neither --set nor the row sets
	columnsByField map[string]string
	grain          string
	slugs          map[string]string      // the ids of the items, by slug
	shapes         map[string]*pointShape // by the cells of the shape's columns
	shapeKey, line []byte                 // reused

	nthDay          func(cell string) (time.Time, error) // parses a number of a day; nil if the column of dates has none
	totalsHaveNoDay bool                                 // whether a row with neither a day nor dimensions contains totals
	consecutiveDays bool                                 // whether the rows must be consecutive days
	lastDay         time.Time
}

type fieldColumn struct {
	index   int
	field   *field
	numbers *tabular.Numbers
	dates   *tabular.Dates
}

type dimColumn struct {
	index int
	name  string
}

type metricColumn struct {
	index          int
	numbers        *tabular.Numbers
	key            string // empty if the key is in a column of the row
	scale          *big.Rat
	currency       string
	isMinor        bool
	columnsByField map[string]string
}

// newRowConverter prepares the conversion of a table's rows. It returns an error if the mapping
// does not fit the table.
func newRowConverter(t *tabular.Table, m mapping, out *convert.Output) (*rowConverter, error) {
	kind, err := newTarget(m.Type)
	if err != nil {
		return nil, err
	}
	format, zone, err := m.dates()
	if err != nil {
		return nil, err
	}
	r := &rowConverter{
		mapping: m, table: t, out: out, target: kind, idIndex: -1, dateIndex: -1, columnsByField: map[string]string{}, constantValues: map[string]any{}, defaults: map[string]any{},
		dateFormat: format, zone: zone, slugs: map[string]string{}, shapes: map[string]*pointShape{},
	}
	if err := r.setConstants(); err != nil {
		return nil, err
	}
	if m.IDColumn != "" {
		if r.idIndex, err = t.Find(m.IDColumn); err != nil {
			return nil, err
		}
		r.columnsByField["id"], r.columnsByField["externalId"] = t.Heading(r.idIndex), t.Heading(r.idIndex)
	}
	if err := r.setColumns(); err != nil {
		return nil, err
	}
	if kind.name == typePoint {
		return r, r.setMetrics()
	}
	if len(m.Metrics)+len(m.Scales)+len(m.Units)+len(m.Currencies)+len(m.Aggregations) > 0 {
		return nil, fmt.Errorf("--metric, --scale, --unit, --currency and --aggregation are for --type %s", typePoint)
	}
	return r, r.checkRequired()
}

func (r *rowConverter) setConstants() error {
	for _, name := range slices.Sorted(maps.Keys(r.Constants)) {
		text := r.Constants[name]
		f, err := r.target.field("set", name)
		if err != nil {
			return err
		}
		if r.constantValues[name], err = f.value(text, tabular.NewNumbers(r.Decimal, nil), tabular.NewDates(r.dateFormat, r.zone, nil)); err != nil {
			return fmt.Errorf("--set %s=%s: %w", name, text, err)
		}
		r.columnsByField[name] = fmt.Sprintf("--set %s", name)
	}
	for _, f := range r.target.fields {
		if f.fallback != "" {
			r.defaults[f.name] = f.fallback
		}
	}
	return nil
}

// dimsPrefix is the prefix of a dimension's name in --map.
const dimsPrefix = "dims."

func (r *rowConverter) setColumns() error {
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		at, err := r.table.Find(r.Fields[name])
		if err != nil {
			return err
		}
		if dim, ok := strings.CutPrefix(name, dimsPrefix); ok && r.target.name == typePoint && dim != "" {
			r.dims = append(r.dims, dimColumn{at, dim})
			continue
		}
		f, err := r.target.field("map", name)
		if err != nil {
			return err
		}
		r.columnsByField[name] = r.table.Heading(at)
		if r.target.name == typePoint && (name == "ts" || name == "value") {
			continue // setMetrics handles these
		}
		r.addColumn(at, f)
	}
	if r.DateColumn == "" || r.target.name == typePoint {
		return nil
	}
	name, err := r.dateField()
	if err != nil {
		return err
	}
	at, err := r.table.Find(r.DateColumn)
	if err != nil {
		return err
	}
	r.columnsByField[name] = r.table.Heading(at)
	r.addColumn(at, r.target.fields[name])
	return nil
}

func (r *rowConverter) addColumn(index int, f *field) {
	cells := r.table.Column(index)
	r.columns = append(r.columns, fieldColumn{index, f, tabular.NewNumbers(r.Decimal, cells), tabular.NewDates(r.dateFormat, r.zone, cells)})
}

// dateField returns the name of the field that --date-column fills.
func (r *rowConverter) dateField() (string, error) {
	for _, name := range []string{"postedAt", "scheduledFor", "suggestedFor"} {
		if _, ok := r.target.fields[name]; ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("--date-column: a record of type %s has no date of its own; name the field with --map FIELD=%s", r.target.name, r.DateColumn)
}

// checkRequired returns an error if a required field has neither a column nor a constant.
func (r *rowConverter) checkRequired() error {
	for _, name := range slices.Sorted(maps.Keys(r.target.fields)) {
		f := r.target.fields[name]
		_, isFixed := r.constantValues[name]
		_, hasDefault := r.defaults[name]
		isFilled := slices.ContainsFunc(r.columns, func(c fieldColumn) bool { return c.field.name == name })
		if f.isRequired && !isFixed && !hasDefault && !isFilled && name != "externalId" { // externalId is derived
			return fmt.Errorf("a record of type %s needs %s: name its column with --map %s=COLUMN, or its value with --set %s=VALUE", r.target.name, name, name, name)
		}
	}
	return nil
}

// setMetrics finds the columns with the dates and values of points.
func (r *rowConverter) setMetrics() error {
	dateColumn := r.DateColumn
	if dateColumn == "" {
		dateColumn = r.Fields["ts"]
	}
	if dateColumn == "" {
		return errors.New("a metric-point needs a day: name its column with --date-column")
	}
	var err error
	if r.dateIndex, err = r.table.Find(dateColumn); err != nil {
		return err
	}
	r.pointDates = tabular.NewDates(r.dateFormat, r.zone, r.table.Column(r.dateIndex))
	r.columnsByField["ts"] = r.table.Heading(r.dateIndex)
	r.grain = string(metrics.GrainDay)
	if grain, ok := r.constantValues["grain"].(string); ok {
		r.grain = grain
	}
	if value := r.Fields["value"]; value != "" { // each row has one metric
		if len(r.Metrics) > 0 {
			return errors.New("--metric and --map value=COLUMN exclude each other")
		}
		key, _ := r.constantValues["metricKey"].(string)
		if key == "" && r.Fields["metricKey"] == "" {
			return errors.New("a metric-point needs a metric: name the column of its key with --map metricKey=COLUMN, or use --metric COLUMN=KEY")
		}
		return r.addMetric(value, key)
	}
	if len(r.Metrics) == 0 {
		return errors.New("a metric-point needs a value: name its columns with --metric COLUMN=KEY")
	}
	for _, column := range slices.Sorted(maps.Keys(r.Metrics)) {
		if err := r.addMetric(column, r.Metrics[column]); err != nil {
			return err
		}
	}
	slices.SortFunc(r.metrics, func(a, b metricColumn) int { return a.index - b.index })
	for flag, values := range map[string]map[string]string{"scale": r.Scales, "unit": r.Units, "currency": r.Currencies, "aggregation": r.Aggregations} {
		for column := range values {
			isMetric := func(c metricColumn) bool {
				return strings.EqualFold(r.table.Header[c.index], tabular.CleanHeading(column))
			}
			isElsewhere := r.known != nil && !hasColumn(r.table, column) // a preset's file may have several tables
			if column != "" && !isElsewhere && !slices.ContainsFunc(r.metrics, isMetric) {
				return fmt.Errorf("--%s %s: is not a column of --metric", flag, column)
			}
		}
	}
	return nil
}

func (r *rowConverter) addMetric(column, key string) error {
	at, err := r.table.Find(column)
	if err != nil {
		return err
	}
	s := r.seriesOf(column)
	c := metricColumn{index: at, numbers: tabular.NewNumbers(r.Decimal, r.table.Column(at)), key: key, currency: forColumn(r.Currencies, column), isMinor: s.unit == unitMinor, columnsByField: maps.Clone(r.columnsByField)}
	if s.scale != "" {
		if c.scale, err = parseScale(s.scale); err != nil {
			return err
		}
	}
	c.columnsByField["value"], c.columnsByField["currency"] = r.table.Heading(at), r.table.Heading(at)
	if r.Fields["metricKey"] == "" {
		c.columnsByField["metricKey"] = r.table.Heading(at)
	}
	r.metrics = append(r.metrics, c)
	return r.emitDefinition(s, key, c)
}

// unitMinor is the unit for amounts of money.
const unitMinor = "currency_minor"

// emitDefinition emits the definition of a metric if its unit or aggregation is known.
func (r *rowConverter) emitDefinition(s series, key string, c metricColumn) error {
	if s.unit == "" && s.aggregation == "" || r.defined[key] {
		return nil
	}
	if key == "" {
		return errors.New("--unit and --aggregation need --metric COLUMN=KEY, because the rows have metrics of their own")
	}
	fields := map[string]any{
		"id": digestID(registeredType(typeDefinition).Prefix, typeDefinition, key), "key": key, "name": r.table.Header[c.index], "kind": string(metrics.KindMeasured), "needsReview": false,
	}
	if s.unit != "" {
		fields["unit"] = s.unit
	}
	if s.aggregation != "" {
		fields["aggregation"] = s.aggregation
	}
	columnsByField := maps.Clone(c.columnsByField)
	for _, name := range []string{"key", "name", "unit", "aggregation"} {
		columnsByField[name] = r.table.Heading(c.index)
	}
	r.defined[key] = true
	return r.out.Emit(convert.Record{Type: typeDefinition, Fields: fields, Row: r.table.HeaderRow, Columns: columnsByField})
}

func (r *rowConverter) convertAll(ctx context.Context) error {
	unlessDone := func(err error) error {
		if err == nil && r.table.Row%1000 == 0 {
			err = ctx.Err()
		}
		return err
	}
	return r.table.Each(func() error { return unlessDone(r.convert()) }, func(bad convert.Problem) error {
		if r.isTotal() {
			r.out.Skip(reasonTotal)
			return nil
		}
		return unlessDone(r.out.Report(bad))
	})
}

// Reasons for skipping rows.
const (
	reasonTotal    = "rows of totals"
	reasonSkipWord = "rows with a word of --skip-rows"
	reasonNoValue  = "cells without a value in columns of metrics"
)

// totalWords are the labels of rows of totals in several languages.
var totalWords = []string{
	"total", "totals", "grand total", "sum", "summe", "gesamt", "gesamtsumme", "insgesamt", "total général", "total general", "totale", "totaal",
	"suma", "razem", "итого", "合計", "总计",
}

func isTotalWord(cell string) bool {
	text := strings.TrimSuffix(strings.TrimSpace(cell), ":")
	return slices.ContainsFunc(totalWords, func(w string) bool { return strings.EqualFold(text, w) })
}

// isTotal reports whether the current row contains the totals of other rows. Such a row has a label
// in totalWords instead of the date, or no date and such a label in a different cell, or neither if
// totalsHaveNoDay is set.
func (r *rowConverter) isTotal() bool {
	cells := r.table.Cells
	if r.dateIndex < 0 || r.dateIndex >= len(cells) {
		return false
	}
	if tabular.IsBlank(cells[r.dateIndex]) {
		hasValue := func(d dimColumn) bool { return d.index < len(cells) && !tabular.IsBlank(cells[d.index]) }
		return r.totalsHaveNoDay && !slices.ContainsFunc(r.dims, hasValue) || slices.ContainsFunc(cells, isTotalWord)
	}
	return isTotalWord(cells[r.dateIndex])
}

// hasSkipWord reports whether a cell of the current row is one of the words in --skip-rows.
func (r *rowConverter) hasSkipWord() bool {
	return len(r.SkipRows) > 0 && slices.ContainsFunc(r.table.Cells, func(cell string) bool {
		return slices.ContainsFunc(r.SkipRows, func(w string) bool { return strings.EqualFold(strings.TrimSpace(cell), strings.TrimSpace(w)) })
	})
}

// convert emits the records of the current row, or reports its problems.
func (r *rowConverter) convert() error {
	switch {
	case r.hasSkipWord():
		r.out.Skip(reasonSkipWord)
		return nil
	case r.isTotal():
		r.out.Skip(reasonTotal)
		return nil
	}
	if r.target.name == typePoint {
		return r.convertPoints()
	}
	fields, err := r.fields()
	if err != nil || fields == nil {
		return err
	}
	key := ""
	if r.idIndex >= 0 {
		if key = strings.TrimSpace(r.table.Cells[r.idIndex]); key == "" {
			return r.out.Report(r.table.Problem(r.idIndex, "is empty, but identifies the record"))
		}
	}
	if err := r.target.identify(fields, key); err != nil {
		return r.out.Report(r.table.Problem(-1, err.Error()))
	}
	record := convert.Record{Type: r.target.name, Fields: fields, Row: r.table.Row, Columns: r.columnsByField}
	if key != "" || r.Fields["externalId"] != "" { // without a key and an externalId, the record is identified by a digest of its fields, so its versions cannot differ
		record.Identity, record.Version = identityOf(fields)
	}
	r.setDefaults(fields) // called after identify, so that a new default in the API does not change the id
	if r.target.name == typeItem {
		r.setSlug(fields)
	}
	return r.out.Emit(record)
}

// fields returns the fields that --set and the current row set. It returns nil if the row has a
// problem, which it reports.
func (r *rowConverter) fields() (map[string]any, error) {
	fields := maps.Clone(r.constantValues)
	for _, c := range r.columns {
		value, err := c.field.value(r.table.Cells[c.index], c.numbers, c.dates)
		switch {
		case errors.Is(err, tabular.ErrEmpty):
		case err != nil:
			fields = nil
			if err := r.out.Report(r.table.Problem(c.index, err.Error())); err != nil {
				return nil, err
			}
		case fields != nil:
			fields[c.field.name] = value
		}
	}
	return fields, nil
}

// setDefaults sets the fields that neither --set nor the row sets.
func (r *rowConverter) setDefaults(fields map[string]any) {
	for name, value := range r.defaults {
		if _, ok := fields[name]; !ok {
			fields[name] = value
		}
	}
}

// identityOf returns the identity that all versions of a record share. version is the time of this
// version, or the zero time if the record has none.
func identityOf(fields map[string]any) (identity string, version time.Time) {
	if itemID, ok := fields["id"].(string); ok {
		return itemID, version
	}
	if posted, ok := fields["postedAt"].(string); ok {
		version, _ = timestamp.Parse(posted)
	}
	return fmt.Sprintf("%s\n%s", fields["source"], fields["externalId"]), version
}

// setSlug derives an item's slug from its title, as the API does. It appends a number if another item
// of an earlier row has the same slug.
func (r *rowConverter) setSlug(fields map[string]any) {
	itemID, _ := fields["id"].(string)
	title, _ := fields["title"].(string)
	base := plan.DeriveSlug(title)
	slug := base
	for n := 2; r.slugs[slug] != "" && r.slugs[slug] != itemID; n++ {
		slug = fmt.Sprintf("%s-%d", base, n)
	}
	r.slugs[slug], fields["slug"] = itemID, slug
}

// pointShape is what many points have in common: all fields but the day and the value.
type pointShape struct {
	fields map[string]any
	series []string // what identifies the series, for each column of values
	prefix [][]byte // the JSON of a point up to its day, for each column of values; nil until a point was checked
}

// shapesMax is the maximum number of shapes that are remembered. It limits the memory to about 10 MB.
const shapesMax = 20_000

// shape returns the shape of the current row. It returns nil if the row has a problem, which it
// reports.
func (r *rowConverter) shape() (*pointShape, error) {
	r.shapeKey = r.shapeKey[:0]
	for _, c := range r.columns {
		r.shapeKey = append(append(r.shapeKey, r.table.Cells[c.index]...), 0)
	}
	for _, d := range r.dims {
		r.shapeKey = append(append(r.shapeKey, r.table.Cells[d.index]...), 0)
	}
	if known := r.shapes[string(r.shapeKey)]; known != nil {
		return known, nil
	}
	fields, err := r.fields()
	if err != nil || fields == nil {
		return nil, err
	}
	r.setDefaults(fields)
	dims := map[string]string{}
	for _, d := range r.dims {
		if text := strings.TrimSpace(r.table.Cells[d.index]); text != "" {
			dims[d.name] = text
		}
	}
	if len(dims) > 0 {
		fields["dims"] = dims
	}
	text, err := json.Marshal(dims)
	if err != nil {
		return nil, fmt.Errorf("encode the dimensions: %w", err)
	}
	s := &pointShape{fields: fields, prefix: make([][]byte, len(r.metrics))}
	for _, c := range r.metrics {
		key := c.key
		if key == "" {
			key, _ = fields["metricKey"].(string)
		}
		s.series = append(s.series, key+"\n"+r.grainOf(s)+"\n"+string(text))
	}
	if len(r.shapes) == shapesMax {
		clear(r.shapes)
	}
	r.shapes[string(r.shapeKey)] = s
	return s, nil
}

// grainOf returns the length of the buckets of a shape's points.
func (r *rowConverter) grainOf(s *pointShape) string {
	if own, ok := s.fields["grain"].(string); ok {
		return own
	}
	return r.grain
}

// convertPoints emits a point for each metric in the current row.
func (r *rowConverter) convertPoints() error {
	shape, err := r.shape()
	if err != nil || shape == nil {
		return err
	}
	day, err := r.day()
	if errors.Is(err, tabular.ErrEmpty) {
		err = errors.New("is empty, but a point needs a day")
	}
	if ofFile := (convert.Problem{}); errors.As(err, &ofFile) {
		return ofFile
	}
	if err != nil {
		return r.out.Report(r.table.Problem(r.dateIndex, err.Error()))
	}
	for i, c := range r.metrics {
		value, err := r.metricValue(c)
		if errors.Is(err, tabular.ErrEmpty) {
			r.out.Skip(reasonNoValue)
			continue
		}
		if err == nil {
			err = r.checkNewPoint(shape.series[i], r.grainOf(shape), day)
		}
		if err == nil {
			err = r.emitPoint(shape, i, day, value)
		} else {
			err = r.out.Report(r.table.Problem(c.index, err.Error()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// emitPoint emits the point of a column of values. Only the first point of a shape is checked: its
// day and its value cannot be invalid, because they were read.
func (r *rowConverter) emitPoint(s *pointShape, column int, day time.Time, value float64) error {
	number, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a value: %w", err)
	}
	if s.prefix[column] != nil {
		line := append(r.line[:0], s.prefix[column]...)
		line = append(day.AppendFormat(line, time.DateOnly), `T00:00:00.000Z","value":`...)
		r.line = append(append(line, number...), '}')
		return r.out.EmitChecked(typePoint, r.table.Row, r.line)
	}
	c := r.metrics[column]
	point := maps.Clone(s.fields)
	if c.key != "" {
		point["metricKey"] = c.key
	}
	if c.currency != "" {
		point["currency"] = c.currency
	}
	delete(point, "ts")
	delete(point, "value")
	prefix, err := convert.Encode(point)
	if err != nil {
		return err
	}
	point["ts"], point["value"] = convert.FormatTime(day), value
	before := r.out.Problems()
	err = r.out.Emit(convert.Record{Type: typePoint, Fields: point, Row: r.table.Row, Columns: c.columnsByField})
	if r.out.Problems() == before {
		s.prefix[column] = append(prefix[:len(prefix)-1], `,"ts":"`...) // no other property sorts after ts and value
	}
	return err
}

// day returns the day of the current row.
func (r *rowConverter) day() (time.Time, error) {
	cell := r.table.Cells[r.dateIndex]
	var date tabular.Date
	var err error
	if r.nthDay != nil && !tabular.IsBlank(cell) && isNthDay(cell) {
		date.Day, err = r.nthDay(cell)
	} else {
		date, err = r.pointDates.Read(cell)
	}
	day := date.Day
	if err != nil {
		return day, explain(err)
	}
	if r.consecutiveDays && r.grain == string(metrics.GrainDay) && !r.lastDay.IsZero() && !day.Equal(r.lastDay) && !day.Equal(r.lastDay.AddDate(0, 0, 1)) {
		return day, fmt.Errorf("%q is not the day after the row before, so the rows are not days: name their length with --set grain=week or --set grain=month", cell)
	}
	r.lastDay = day
	return day, nil
}

// metricValue returns the value of a cell in the unit of its metric.
func (r *rowConverter) metricValue(c metricColumn) (float64, error) {
	n, err := c.numbers.Read(r.table.Cells[c.index])
	if err == nil {
		err = n.CheckCurrency(c.currency)
	}
	if err != nil {
		return 0, explain(err)
	}
	value, err := n.Value(c.scale)
	if err == nil && c.isMinor && value != math.Trunc(value) {
		return 0, fmt.Errorf("%s is not a whole number of %s, such as cents: multiply the column with --scale", r.table.Cells[c.index], unitMinor)
	}
	return value, err
}

// checkNewPoint returns an error if an earlier row has the same point, because the import would
// keep only the last one. It remembers the point for the next calls.
func (r *rowConverter) checkNewPoint(series, grain string, day time.Time) error {
	switch grain {
	case string(metrics.GrainWeek):
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case string(metrics.GrainMonth):
		day = day.AddDate(0, 0, 1-day.Day())
	}
	isNew, err := r.seen.add(series, int(day.Unix()/86400))
	if err == nil && !isNew {
		err = fmt.Errorf("an earlier row has the same %s; if another column tells the rows apart, name it with --map %sNAME=COLUMN", grain, dimsPrefix)
	}
	return err
}

// daySet is a set of days for each of many series. To save memory, each word is a bitmap of 64 days
// of one series.
type daySet struct {
	seed    maphash.Seed
	bitmaps map[uint64]uint64
}

// daySetBitmapsMax is the maximum number of bitmaps in a daySet. It limits the memory to about 40
// MB.
const daySetBitmapsMax = 1_000_000

func newDaySet() *daySet { return &daySet{maphash.MakeSeed(), map[uint64]uint64{}} }

// add adds a day to a series and reports whether the day is new.
func (s *daySet) add(series string, day int) (isNew bool, err error) {
	key := maphash.Comparable(s.seed, struct {
		series string
		block  int
	}{series, day >> 6})
	word, bit := s.bitmaps[key], uint64(1)<<(day&63)
	if word&bit != 0 {
		return false, nil
	}
	if word == 0 && len(s.bitmaps) == daySetBitmapsMax {
		return false, errors.New("has too many series: split the file, or map fewer dimensions")
	}
	s.bitmaps[key] = word | bit
	return true, nil
}
