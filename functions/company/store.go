package company

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/table"
)

// Store keeps the profiles of companies:
//
//	access        key
//	get, modify   <company>#company / profile
//	all           a scan, only for the operator's command line
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// now returns the current time as a timestamp.
func (s Store) now() string { return s.table.Now() }

func profileKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, "company"), SK: profile}
}

// profile is the sort key of every profile. No other record has it.
const profile = "profile"

func keysOf(c Company) table.Keys { return table.Keys{Key: profileKey(c.ID)} }

// Get returns the company, or fault.ErrNotFound.
func (s Store) Get(ctx context.Context, companyID string) (Company, error) {
	return table.Get[Company](ctx, s.table, profileKey(companyID))
}

// Modify changes the company by compare-and-set (table.Modify).
func (s Store) Modify(ctx context.Context, companyID string, change func(*Company) error) (Company, error) {
	return table.Modify(ctx, s.table, profileKey(companyID), keysOf, change)
}

// Create writes a new company. Returns table.ErrExists when its id is taken.
func (s Store) Create(ctx context.Context, c Company) error {
	return s.table.Insert(ctx, keysOf(c), c)
}

// All returns every company in the table. It scans the table, because no index covers more than one company. Only the operator
// can call it: the roles of the functions do not allow scans.
func (s Store) All(ctx context.Context) ([]Company, error) {
	companies := []Company{}
	in := &dynamodb.ScanInput{
		FilterExpression:          aws.String("sk = :profile"),
		ExpressionAttributeValues: table.Item{":profile": table.String(profile)},
	}
	for {
		out, err := s.table.Scan(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, item := range out.Items {
			var c Company
			if err := table.Decode(item, &c); err != nil {
				return nil, err
			}
			companies = append(companies, c)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return companies, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
