package company_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/functions/company"
	"growthworkspace/shared/change"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/trail"
)

// remainingPartitions returns the partition keys of a company's records, except those of its trail.
func remainingPartitions(t *testing.T, c *table.Client, companyID string) (out []string) {
	t.Helper()
	for _, key := range remainingKeys(t, c, companyID) {
		if !strings.HasSuffix(key.PK, "#"+trail.Area) {
			out = append(out, key.PK)
		}
	}
	return out
}

func remainingKeys(t *testing.T, c *table.Client, companyID string) (out []table.Key) {
	t.Helper()
	in := &dynamodb.ScanInput{
		FilterExpression: aws.String("begins_with(pk, :company)"), ExpressionAttributeValues: table.Item{":company": table.String(companyID)},
		ConsistentRead: aws.Bool(true),
	}
	for {
		found, err := c.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range found.Items {
			out = append(out, table.KeyOf(item))
		}
		if in.ExclusiveStartKey = found.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return out
		}
	}
}

// addRecords stores the profile of a company, and 30 records in each of several partitions.
func addRecords(t *testing.T, s *apitest.Service, companyID string) {
	t.Helper()
	for _, parts := range [][]string{{"plan"}, {"optimise"}, {"optimise", "findings", "aud_1"}, {"metrics"}, {"feedback"}} {
		k := table.Key{PK: table.Partition(companyID, parts[0], parts[1:]...), SK: "x"}
		for n := range 30 {
			k.SK = fmt.Sprintf("x#%d", n)
			if err := s.Table.Insert(t.Context(), table.Keys{Key: k}, struct{}{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	name := companyID
	if err := company.NewStore(s.Table).Create(t.Context(), company.Company{ID: companyID, Name: &name}); err != nil {
		t.Fatal(err)
	}
}

// Ensure an erasure deletes every record of a company in any partition, counts them by area, and
// touches no other company, not even one whose id begins with the same characters.
func TestErase(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, company.Operations)
	one, other := s.Table.NewID("co"), s.Table.NewID("co")
	longer := one + "1"
	for _, id := range []string{one, other, longer} {
		addRecords(t, s, id)
	}
	for range 2 {
		if _, _, err := s.Keys.Issue(t.Context(), one, keys.Grant{Name: "key"}, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	before := len(remainingPartitions(t, s.Table, other))
	noted := 0
	got, err := company.NewStore(s.Table).Erase(t.Context(), one, func(deleted int) { noted = deleted })
	if err != nil || fmt.Sprint(got) != "map[company:2 feedback:30 keys:2 metrics:30 optimise:60 plan:30]" || noted != 152 {
		t.Errorf("%v, %v, %d noted", got, err, noted)
	}
	if rest := remainingPartitions(t, s.Table, one+"#"); len(rest) > 0 {
		t.Errorf("left %q, want nothing", rest)
	}
	var acts []string
	if err := trail.List(t.Context(), s.Table, one, "", func(e trail.Entry) error {
		acts = append(acts, fmt.Sprint(e.Act, " ", string(e.Details)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(acts) // all entries have the same time, because the test's clock stands still
	if len(acts) != 5 || acts[0] != "company_create {}" || acts[1] != `company_delete {"records":{"company":2,"feedback":30,"keys":2,"metrics":30,"optimise":60,"plan":30}}` {
		t.Errorf("the trail has %q, want it to survive the erasure and to tell of it", acts)
	}
	if n := len(remainingPartitions(t, s.Table, other)); n != before {
		t.Errorf("%d of %d records of another company are left", n, before)
	}
	if n := len(remainingPartitions(t, s.Table, longer)); n != before {
		t.Errorf("%d of %d records of a company with a longer id are left", n, before)
	}
}

// Ensure the registry lists each company once, sorted by id, and not an erased company. GetMany
// must return the profiles sorted by id, and skip a company without a profile.
func TestRegistry(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, company.Operations)
	store := company.NewStore(s.Table)
	var created []string
	for range 20 {
		id := s.Table.NewID("co")
		if err := store.Create(t.Context(), company.Company{ID: id, Name: &id}); err != nil {
			t.Fatal(err)
		}
		created = append(created, id)
	}
	slices.Sort(created)
	if _, err := store.Erase(t.Context(), created[3], nil); err != nil {
		t.Fatal(err)
	}
	created = slices.Delete(created, 3, 4)
	ids, err := table.RegisteredCompanies(t.Context(), s.Table)
	ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(created, id) }) // other tests create companies, too
	if err != nil || !slices.Equal(ids, created) {
		t.Errorf("the registry has %v, error %v; want %v", ids, err, created)
	}
	all, err := store.GetMany(t.Context(), append(ids, s.Table.NewID("co"))) // the last one has no profile
	if err != nil || len(all) != len(created) {
		t.Fatalf("%d profiles, error %v; want %d", len(all), err, len(created))
	}
	for n, c := range all {
		if c.ID != created[n] || *c.Name != created[n] {
			t.Errorf("profile %d is %s, want %s", n, c.ID, created[n])
		}
	}
}

// Ensure an erasure that crashes after any of its calls leaves the profile until everything else is
// gone. The next erasure must delete the rest.
func TestEraseCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	p := &apitest.CrashingTransport{}
	s := apitest.NewWithTransport(t, company.Operations, p)
	for after := 1; ; after++ {
		id := s.Table.NewID("co")
		addRecords(t, s, id)
		records := len(remainingPartitions(t, s.Table, id+"#"))
		p.CrashAfter(after, false)
		_, eraseErr := company.NewStore(s.Table).Erase(t.Context(), id, nil)
		p.StopCrashing()
		rest := remainingPartitions(t, s.Table, id+"#")
		if listed := isRegistered(t, s, id); listed != slices.Contains(rest, id+"#company") && eraseErr != nil {
			t.Errorf("after %d calls the company is in the registry: %t, and has the partitions %v", after, listed, rest)
		}
		if left := remainingKeys(t, s.Table, id+"#"); len(rest) < records && slices.Contains(left, change.CounterKey(id)) {
			t.Errorf("after %d calls the feed of changes has not ended, but only %d of %d records are left", after, len(rest), records)
		}
		if eraseErr == nil {
			if len(rest) > 0 || after < 5 || isRegistered(t, s, id) {
				t.Errorf("after %d calls: %v", after, rest)
			}
			return
		}
		if len(rest) > 0 && !strings.Contains(strings.Join(rest, " "), id+"#company") {
			t.Errorf("after %d calls the profile is gone, but not %v", after, rest)
		}
		if _, err := company.NewStore(s.Table).Erase(t.Context(), id, nil); err != nil || len(remainingPartitions(t, s.Table, id+"#")) > 0 {
			t.Errorf("after %d calls: %v, %v", after, err, remainingPartitions(t, s.Table, id+"#"))
		}
	}
}

func isRegistered(t *testing.T, s *apitest.Service, companyID string) bool {
	t.Helper()
	item, err := table.GetItem(t.Context(), s.Table, table.RegistryKey(companyID))
	if err != nil {
		t.Fatal(err)
	}
	return len(item) > 0
}

// smallPagesTransport is a transport that limits each page of a scan to a few items.
type smallPagesTransport struct{ scans atomic.Int64 }

func (p *smallPagesTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan") {
		p.scans.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var in map[string]any
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		in["Limit"] = 40
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return apitest.Transport.RoundTrip(r)
}

// Ensure Erase reads every page of its scan. It must continue after a page that contains no record
// of the company.
func TestEraseScansManyPages(t *testing.T) {
	t.Parallel()
	p := &smallPagesTransport{}
	s := apitest.NewWithTransport(t, company.Operations, p)
	var companies []string
	for range 2 {
		id := s.Table.NewID("co")
		addRecords(t, s, id)
		companies = append(companies, id)
	}
	for _, id := range companies {
		got, err := company.NewStore(s.Table).Erase(t.Context(), id, nil)
		if err != nil || fmt.Sprint(got) != "map[feedback:30 metrics:30 optimise:60 plan:30]" {
			t.Errorf("erased %v of %s, want 30 of feedback, metrics and plan, and 60 of optimise: %v", got, id, err)
		}
	}
	if p.scans.Load() < 2 {
		t.Errorf("%d scans, want several", p.scans.Load())
	}
}
