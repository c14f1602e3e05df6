package conformance

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/api"
)

// read is a read operation, with the response to a request that has only the required parameters.
type read struct {
	operation
	response
	path   string     // the path of the request, without the query string
	query  url.Values // the required parameters
	reason string     // why the operation was not called; empty if it was called
}

// url returns the path and query string of a request to the operation. parameters alternates
// between names and values of additional query parameters.
func (r read) url(parameters ...string) string {
	query := url.Values{}
	for name, values := range r.query {
		query[name] = values
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	if len(query) == 0 {
		return r.path
	}
	return r.path + "?" + query.Encode()
}

// isFeed reports whether the response is a page of a feed, which is a list that grows at its end.
// Clients continue to read it from the position in the Service-After header.
func (r read) isFeed() bool { return r.Header.Get("Service-After") != "" }

// readAll calls every read operation once. The rules use the ids and records in these responses. It
// calls those first whose path needs no record.
func (run *runner) readAll() {
	order := slices.Clone(run.document.operations)
	slices.SortStableFunc(order, func(a, b operation) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	for _, op := range order {
		if op.isRead() && run.ctx.Err() == nil {
			run.reads = append(run.reads, run.readOne(op))
		}
	}
}

func (run *runner) readOne(op operation) read {
	p := read{operation: op, query: url.Values{}}
	var ok bool
	if p.path, ok = run.fillPath(op.path); !ok {
		p.reason = op.ID + ": the company has no such record"
		return p
	}
	for _, q := range op.Parameters {
		if q.In != "query" || !q.Required {
			continue
		}
		key := run.knownField("metrics", "definitions", "key")
		if q.Name != "metricKey" || key == "" {
			p.reason = fmt.Sprintf("%s: the company has no value for %s", op.ID, q.Name)
			return p
		}
		p.query.Set(q.Name, key)
	}
	p.response = run.get(p.url())
	switch {
	case p.Status == http.StatusUnauthorized && (run.scopes == nil || run.lacks(op)):
		p.reason = fmt.Sprintf("%s: the key lacks %s", op.ID, op.Scope)
	case p.Status == http.StatusNotFound && !op.isList(), p.Status == http.StatusNotImplemented:
		p.reason = op.ID + ": the company has no such record, or the deployment has no feed"
	}
	return p
}

// eachRead calls visit for every operation that readAll has called and that returned a record or a
// list. For every other read operation, it calls skip with the reason.
func (run *runner) eachRead(visit func(read)) {
	for _, p := range run.reads {
		if p.reason != "" {
			run.skip("%s", p.reason)
			continue
		}
		if p.Status != http.StatusOK {
			run.fail("%s: %d instead of 200", p.request, p.Status)
			continue
		}
		visit(p)
	}
}

// eachList is like eachRead, for lists only.
func (run *runner) eachList(visit func(read)) {
	run.eachRead(func(p read) {
		if p.isList() {
			visit(p)
		}
	})
}

// fillPath replaces the parameters of a path with the ids of records that the run has created, or
// else of records in the lists that readAll has read. It returns false if there is no id for a
// parameter.
func (run *runner) fillPath(path string) (string, bool) {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", run.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); isParameter {
			segments[i] = url.PathEscape(run.knownField(segments[areaSegment], segments[i-1], "id"))
		}
	}
	return strings.Join(segments, "/"), !slices.Contains(segments[1:], "")
}

// knownField returns a text in a record of a collection, which the run has created or read, or "".
func (run *runner) knownField(area, collection, field string) string {
	for _, c := range run.created {
		if c.create.area() == area && lastSegment(c.create.path) == collection && text(c.fields[field]) != "" {
			return text(c.fields[field])
		}
	}
	for _, p := range run.reads {
		if p.isList() && (p.area() == area) && strings.HasSuffix(p.operation.path, "/"+collection) {
			for _, record := range p.records() {
				if value := text(record[field]); value != "" {
					return value
				}
			}
		}
	}
	return ""
}

// pathWithUnknownIDs replaces the parameters of a path with ids that no record has. They have the
// same prefix as the ids in the collection.
func (run *runner) pathWithUnknownIDs(path string) string {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", run.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); isParameter {
			segments[i] = unknownID(run.knownField(segments[areaSegment], segments[i-1], "id"))
		}
	}
	return strings.Join(segments, "/")
}

// unknownID returns an id that no record has, with the same prefix as a known id.
func unknownID(known string) string {
	prefix, _, found := strings.Cut(known, "_")
	if !found {
		prefix = "none"
	}
	return prefix + "_" + strings.Repeat("0", 26)
}

// createdRecord is a record that the run has created and must delete.
type createdRecord struct {
	response
	create         operation
	path           string         // of the record
	sent           map[string]any // the body of the request
	fields         map[string]any // the record in the response; nil if there is none
	idempotencyKey string         // empty if none was sent
}

// copiesCreated is the number of records of each kind that a run creates, so that a list with a
// limit of 1 has two pages.
const copiesCreated = 2

// createRecords creates records of every kind from the examples in the document, and pushes reviews
// and points. The rule `records` reports what fails.
func (run *runner) createRecords() {
	if !run.Write {
		return
	}
	creates := slices.DeleteFunc(slices.Clone(run.document.operations), func(op operation) bool {
		_, deletable := run.document.of(op, http.MethodDelete)
		return !op.isCreate() || !deletable || run.lacks(op)
	})
	slices.SortStableFunc(creates, func(a, b operation) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	for _, op := range creates {
		for range copiesCreated {
			run.created = append(run.created, run.create(op))
		}
	}
	run.pushReviews()
	run.pushPoints()
}

// create creates a record from the example of an operation. It sends an Idempotency-Key if the
// operation has this parameter.
func (run *runner) create(op operation) createdRecord {
	c := createdRecord{create: op, sent: ownExample(op)}
	var header []string
	if op.parameter("Idempotency-Key") != nil {
		c.idempotencyKey = rand.Text()
		header = []string{"Idempotency-Key", c.idempotencyKey}
	}
	path, _ := run.fillPath(op.path) // the collections that contain others have been filled before
	c.response = run.do(op.method, path, encode(c.sent), header...)
	run.keep(&c, c.object())
	return c
}

// keep sets the fields and the path of a created record. The path is that of the operation that
// deletes it, because the path of its collection may name a parent that its own path does not have.
func (run *runner) keep(c *createdRecord, fields map[string]any) {
	remove, _ := run.document.of(c.create, http.MethodDelete)
	parent, ok := run.fillPath(remove.path[:strings.LastIndex(remove.path, "/")])
	if id := text(fields["id"]); ok && id != "" {
		c.fields, c.path = fields, parent+"/"+url.PathEscape(id)
	}
}

func lastSegment(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// pushReviews pushes reviews and finds their records in the list.
func (run *runner) pushReviews() {
	push, ok := run.document.byID("push_feedback")
	if !ok || run.lacks(push) {
		return
	}
	path, _ := run.fillPath(push.path)
	example, _ := ownExample(push)["records"].([]any)
	review, _ := example[0].(map[string]any)
	for range copiesCreated {
		review["externalId"] = "check-" + rand.Text()
		c := createdRecord{create: push, sent: review}
		c.response = run.do(push.method, path, encode(map[string]any{"records": []any{review}}))
		for _, record := range run.get(path).records() { // the newest are first, and this one is of the far future
			if record["externalId"] == review["externalId"] {
				run.keep(&c, record)
			}
		}
		run.created = append(run.created, c)
	}
}

// The days of the points that a run pushes. They are in different months.
var pointDays = [copiesCreated]string{"2020-01-31", "2020-02-01"}

// pushPoints pushes points of the metric that the run has created.
func (run *runner) pushPoints() {
	push, ok := run.document.byID("push_metric_points")
	key := run.knownField("metrics", "definitions", "key")
	if !ok || run.lacks(push) || key == "" {
		return
	}
	path, _ := run.fillPath(push.path)
	for i, day := range pointDays {
		body := fmt.Sprintf(`{"points":[{"metricKey":%q,"ts":%q,"value":%d}]}`, key, day, i)
		if run.do(push.method, path, body).Status == http.StatusOK {
			run.points = path + "?" + url.Values{"metricKey": {key}, "from": pointDays[:1], "to": pointDays[1:]}.Encode()
		}
	}
}

// deleteRecords deletes what the run has created and not deleted yet, the newest first, because a
// record may belong to an older one. It calls onDelete with each response.
func (run *runner) deleteRecords(onDelete func(createdRecord, response)) {
	if run.points != "" {
		run.do(http.MethodDelete, run.points, "")
	}
	for _, c := range slices.Backward(run.created) {
		if c.path == "" {
			continue
		}
		got := run.do(http.MethodDelete, c.path, "")
		if got.Status != http.StatusOK && got.Status != http.StatusNotFound {
			run.leftBehind = append(run.leftBehind, c.path)
		}
		onDelete(c, got)
	}
	run.created, run.points = nil, ""
}

var idPattern = regexp.MustCompile(`^[a-z]{2,4}_[0-9a-z]{26}$`)

// farFuture replaces every time in a record that a run creates, so that nothing sends a post.
const farFuture = "2099-01-01T00:00:00.000Z"

// ownExample returns the example of an operation's body for a record of the run: without the ids of
// other records, with times in the far future, and with keys that no other record has.
func ownExample(op operation) map[string]any {
	example, _ := adapt(op.RequestBody.Content.JSON.Example).(map[string]any)
	delete(example, "slug") // it is derived from the title, and unique
	if example["key"] != nil {
		example["key"] = uniqueKey()
	}
	return example
}

func adapt(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, property := range v {
			if list, isList := property.([]any); isList && len(list) > 0 && idPattern.MatchString(text(list[0])) || idPattern.MatchString(text(property)) {
				continue
			}
			out[name] = adapt(property)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = adapt(v[i])
		}
		return out
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			return farFuture
		}
	}
	return value
}

// uniqueKey returns a key for a metric of the run.
func uniqueKey() string { return "custom.check_" + strings.ToLower(rand.Text()) }

func encode(value any) string {
	encoded, _ := json.Marshal(value) // cannot fail: the value was decoded from JSON
	return string(encoded)
}
