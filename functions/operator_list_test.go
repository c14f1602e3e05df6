package functions_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// newServiceWithOwnTable returns a service with its own table, which no other test uses, and the
// options of that table.
func newServiceWithOwnTable(t *testing.T) (*apitest.Service, table.Options) {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	o := apitest.Options(t, s.Clock.Now, nil)
	o.Name = s.Table.NewID("test")
	s.ServingTable = table.New(o)
	s.Table = s.ServingTable.AsOperator()
	if err := s.Table.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Table.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.Keys = keys.NewStore(s.Table, s.Clock.Now)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler)))
	return s, o
}

// scanItems returns all items of the table or of an index.
func scanItems(t testing.TB, s *apitest.Service, index table.Index) (items []table.Item) {
	t.Helper()
	in := &dynamodb.ScanInput{}
	if index == table.Base {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = aws.String(index.Name())
	}
	for {
		out, err := s.Table.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return items
		}
	}
}

// Ensure the registry lists exactly the companies that have a profile, after companies were created
// and erased.
func TestRegistryIsRight(t *testing.T) {
	t.Parallel()
	s, _ := newServiceWithOwnTable(t)
	store := company.NewStore(s.Table)
	check := func(after string) {
		t.Helper()
		var profiles []string
		for _, item := range scanItems(t, s, table.Base) {
			if attributeText(item, "sk") == "profile" {
				profiles = append(profiles, attributeText(item, "id"))
			}
		}
		slices.Sort(profiles)
		registered, err := table.RegisteredCompanies(t.Context(), s.Table)
		if diff := cmp.Diff(profiles, registered); diff != "" || err != nil {
			t.Errorf("after %s: %v, the registry (-want +got):\n%s", after, err, diff)
		}
	}
	for n := range 20 { // more companies than partitions
		c := company.Company{ID: s.Table.NewID(id.CompanyPrefix), Name: new("N")}
		if err := store.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		check("a creation")
		if n%3 > 0 {
			continue
		}
		if _, err := store.Erase(t.Context(), c.ID, nil); err != nil {
			t.Fatal(err)
		}
		check("an erasure")
	}
}
