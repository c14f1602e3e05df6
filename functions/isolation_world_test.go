package functions_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	mathrand "math/rand"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// testTenant is one company of a world.
type testTenant struct {
	id      string
	marker  string   // part of every string in the company's records, where the rules allow it; never part of a request
	fullKey string   // a key with all scopes
	readKey string   // a key that can only read
	cursors []string // from responses to this company
	etags   []string // ETags from responses to this company
}

// isolationWorld is a service that has its own table and a few companies. Each company has two
// copies of the fixture. In one copy, the records have the same ids in all companies, which imports
// make possible. In the other copy, their ids are unique to the company.
type isolationWorld struct {
	t            *testing.T
	service      *apitest.Service
	injectedLeak *leakTransport
	tenants      []*testTenant
}

// fixtureMarkers lists the marker of each company of a world, in order. fixtureSuffixes lists, in
// the same order, the suffix of the ids that are unique to the company.
var (
	fixtureMarkers  = []string{"qzamber", "qzbirch", "qzcedar"}
	fixtureSuffixes = []string{"a9", "b9", "c9"}
)

// newIsolationWorld returns a world with the given number of companies. The leak has no effect
// until leak.startLeak is called.
func newIsolationWorld(t *testing.T, companies int, leak *leakTransport) *isolationWorld {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	var transport http.RoundTripper
	if leak != nil {
		transport = leak
	}
	o := apitest.Options(t, s.Clock.Now, transport)
	o.Name = s.Table.NewID("test")
	// The same seed must generate the same ids, so that rapid can shrink a failure.
	source, mu := mathrand.New(mathrand.NewSource(1)), sync.Mutex{}
	generate := id.NewGenerator(s.Clock.Now, source)
	o.NewID = func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		return generate(prefix)
	}
	w := &isolationWorld{t: t, service: s, injectedLeak: leak}
	s.ServingTable = table.New(o)
	s.Table = s.ServingTable.AsOperator()
	if err := s.Table.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Keys = keys.NewStore(s.Table, s.Clock.Now)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler)))
	fixtures := fixturesWithMarkers(t)
	for i := range companies {
		tenant := &testTenant{id: s.Table.NewID(id.CompanyPrefix), marker: fixtureMarkers[i]}
		for _, kind := range functions.Transfers(s.Table) {
			if err := kind.Write(t.Context(), tenant.id, fixtures[i][kind.Name]); err != nil {
				t.Fatalf("the fixtures of %s are not stored: %v", kind.Name, err)
			}
		}
		w.issueKeys(tenant)
		w.tenants = append(w.tenants, tenant)
	}
	return w
}

func (w *isolationWorld) close() {
	if err := w.service.Table.Drop(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

func (w *isolationWorld) issueKeys(tenant *testTenant) {
	w.t.Helper()
	readOnly := slices.DeleteFunc(auth.Scopes(), func(s auth.Scope) bool { return !strings.HasSuffix(string(s), ":read") })
	for secret, scopes := range map[*string][]auth.Scope{&tenant.fullKey: auth.Scopes(), &tenant.readKey: readOnly} {
		var err error
		_, *secret, err = w.service.Keys.Issue(w.t.Context(), tenant.id, keys.Grant{Name: tenant.marker, Scopes: scopes, APIVersion: fault.Version}, rand.Reader)
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// tableDump holds the contents of a table, by company.
type tableDump struct {
	rows     map[string]map[string]string // each row as JSON, by company and table key
	ids      map[string][]string          // ids of records by company, sorted
	sortKeys []string                     // all sort keys, sorted
}

// dumpTable reads the whole table. If a row belongs to no company or to two companies, it also
// returns a description of that row. Such a row in itself violates isolation.
func (w *isolationWorld) dumpTable() (d tableDump, violation string) {
	d = tableDump{rows: map[string]map[string]string{}, ids: map[string][]string{}}
	for _, tenant := range w.tenants {
		d.rows[tenant.id] = map[string]string{}
	}
	in := &dynamodb.ScanInput{ConsistentRead: aws.Bool(true)}
	for {
		out, err := w.service.Table.Scan(w.t.Context(), in)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, item := range out.Items {
			pk, sk := attributeText(item, "pk"), attributeText(item, "sk")
			company, _, _ := strings.Cut(pk, "#")
			if company == "operator" { // no function's role can read or write these partitions
				continue
			}
			text, err := json.Marshal(item)
			if err != nil || d.rows[company] == nil {
				return d, fmt.Sprintf("the row %s %s belongs to no company: %v", pk, sk, err)
			}
			d.rows[company][pk+" "+sk] = string(text)
			if recordID := attributeText(item, "id"); recordID != "" {
				d.ids[company] = append(d.ids[company], recordID)
			}
			if named := attributeText(item, "companyId"); named != "" && named != company {
				return d, fmt.Sprintf("the row %s %s has the companyId %s", pk, sk, named)
			}
			for name := range item {
				value := attributeText(item, name)
				if strings.HasSuffix(name, "pk") && !strings.HasPrefix(value, company+"#") {
					return d, fmt.Sprintf("the row %s %s is in the index partition %s", pk, sk, value)
				} else if strings.HasSuffix(name, "sk") {
					d.sortKeys = append(d.sortKeys, value)
				}
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	for _, list := range d.ids {
		slices.Sort(list)
	}
	slices.Sort(d.sortKeys)
	return d, ""
}

func attributeText(item map[string]types.AttributeValue, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// export returns the records of a company as `workspace export` writes them.
func (w *isolationWorld) export(companyID string) string {
	w.t.Helper()
	var out bytes.Buffer
	for _, kind := range functions.Transfers(w.service.Table) {
		if err := kind.Export(w.t.Context(), companyID, func(record any) error {
			return json.NewEncoder(&out).Encode(map[string]any{"type": kind.Name, "record": record})
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	return out.String()
}

// fixturesWithMarkers returns each company's records by type. It reads the fixture only once.
func fixturesWithMarkers(t *testing.T) []map[string][]any {
	t.Helper()
	fixtureOnce.Do(func() {
		for i, marker := range fixtureMarkers {
			fixtureRecords = append(fixtureRecords, fixtureWithMarker(t, marker, fixtureSuffixes[i]))
		}
	})
	return fixtureRecords
}

var (
	fixtureOnce    sync.Once
	fixtureRecords []map[string][]any
)

var fixtureID = regexp.MustCompile(`^[a-z]{3}_[0-9]+$`)

// fixtureWithMarker returns two copies of the fixture's records, with the marker in their strings:
// one with the fixture's ids, and one with the suffix appended to the ids.
func fixtureWithMarker(t *testing.T, marker, suffix string) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	for _, kind := range functions.Transfers(nil) {
		for _, line := range fixtureLines(t) {
			for _, copySuffix := range []string{"", suffix} {
				if line.Type != kind.Name || copySuffix != "" && (line.Type == "company" || line.Type == "brand-kit") {
					continue
				}
				record := line.properties(t)
				check := func() (any, []string) { return kind.Check(marshal(t, record)) }
				visitTexts(record, func(old string, set func(string)) {
					if fixtureID.MatchString(old) {
						set(old + copySuffix)
						return
					}
					// All companies have the metric key growth.signups; other metric keys are
					// unique to each company.
					for _, text := range []string{old + " " + marker + copySuffix, old + "-" + marker + copySuffix, old + marker + copySuffix, old} {
						set(text)
						if _, problems := check(); len(problems) == 0 && (copySuffix != "" || old != "growth.signups") {
							return
						}
					}
				})
				checked, problems := check()
				if len(problems) > 0 {
					t.Fatalf("the record %v has problems: %v", record, problems)
				}
				out[kind.Name] = append(out[kind.Name], checked)
			}
		}
	}
	return out
}

// visitTexts visits the strings in a JSON value, in a fixed order.
func visitTexts(value any, visit func(old string, set func(string))) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[name].(string); ok {
				visit(text, func(s string) { v[name] = s })
			}
			visitTexts(v[name], visit)
		}
	case []any:
		for i := range v {
			if text, ok := v[i].(string); ok {
				visit(text, func(s string) { v[i] = s })
			}
			visitTexts(v[i], visit)
		}
	}
}

// leakTransport is a deliberate fault: a transport that redirects one kind of table call to another
// company's partition. It does not redirect calls for API keys, because those would only fail.
type leakTransport struct {
	action string // the DynamoDB call, such as GetItem

	mu       sync.Mutex
	from, to string
	leaked   int
}

// startLeak makes later calls for the first company use the partition of the second one.
func (l *leakTransport) startLeak(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from, l.to = from, to
}

// RoundTrip implements http.RoundTripper.
func (l *leakTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	l.mu.Lock()
	from, to := l.from, l.to
	l.mu.Unlock()
	if call != l.action || from == "" {
		return apitest.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if prefix := []byte(from + "#"); bytes.Contains(body, prefix) && !bytes.Contains(body, []byte(from+"#keys")) {
		body = bytes.ReplaceAll(body, prefix, []byte(to+"#")) // does not change the length, because all company ids have the same length
		l.mu.Lock()
		l.leaked++
		l.mu.Unlock()
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return apitest.Transport.RoundTrip(r)
}

// refillQuotas advances the clock so that the rate limits refill.
func (w *isolationWorld) refillQuotas() { w.service.Clock.Advance(time.Minute) }
