package company

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Store keeps the profiles of companies:
//
//	access        key
//	get, modify   <company>#company / profile
//	all, erase    a scan, only for the operator's command line
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// now returns the current time as a timestamp.
func (s Store) now() string { return s.table.Now() }

func profileKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, profileArea), SK: profileSortKey}
}

const profileArea = "company"

// profileSortKey is the sort key of every profile. No other record has it.
const profileSortKey = "profile"

func keysOf(c Company) table.Keys { return table.Keys{Key: profileKey(c.ID)} }

// Get returns the company, or fault.ErrNotFound.
func (s Store) Get(ctx context.Context, companyID string) (Company, error) {
	return table.Get[Company](ctx, s.table, profileKey(companyID))
}

// Modify changes the company by compare-and-set (table.Modify).
func (s Store) Modify(ctx context.Context, companyID string, change func(*Company) error) (Company, error) {
	return table.Modify(ctx, s.table, profileKey(companyID), keysOf, change)
}

// Create writes a new company and begins its feed of changes. Returns table.ErrExists when its id
// is taken.
func (s Store) Create(ctx context.Context, c Company) error {
	err := s.table.Transact(ctx, s.table.WriteCreate(keysOf(c), c), change.WriteCounter(s.table, c.ID))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

// Erase deletes everything that is stored for a company, in all areas: its records, keys,
// snapshots, findings and stored responses. It returns the number of deleted records by area, even
// when it fails. It scans the table, because records such as findings have partitions of their own.
// Only the operator can call it, after the company's keys are refused.
//
// The company's feed of changes ends first, so that the erasure itself is not reported in it. The
// returned numbers leave out the counter of the feed. The profile is deleted last. So a call that
// stops early leaves the company in place, and the next call continues. progress is called with the
// number of deleted records; it may be nil.
func (s Store) Erase(ctx context.Context, companyID string, progress func(deleted int)) (map[string]int, error) {
	deleted := map[string]int{}
	if err := change.RemoveCounter(ctx, s.table, companyID); err != nil {
		return deleted, fmt.Errorf("erase company %s: %w", companyID, err)
	}
	for {
		before := sumCounts(deleted)
		kept, err := s.eraseRecords(ctx, companyID, deleted, progress)
		if err != nil {
			return deleted, fmt.Errorf("erase company %s: %w", companyID, err)
		}
		if sumCounts(deleted) > before {
			continue // scan again: a request in progress may have added records that the scan missed
		}
		if err := s.table.BatchDelete(ctx, kept); err != nil {
			return deleted, fmt.Errorf("erase company %s: %w", companyID, err)
		}
		countByArea(deleted, kept)
		return deleted, s.table.BatchDelete(ctx, []table.Key{profileKey(companyID)})
	}
}

func sumCounts(deleted map[string]int) (n int) {
	for _, of := range deleted {
		n += of
	}
	return n
}

// countByArea adds the records with the given keys to the counts by area. The area follows the
// company id in a partition key.
func countByArea(deleted map[string]int, keys []table.Key) {
	for _, k := range keys {
		area := strings.SplitN(k.PK, "#", 3)[1]
		deleted[area]++
	}
}

// eraseRecords scans the table and deletes all records of a company except the profile and the API
// keys. It returns the table keys of the API keys' records.
func (s Store) eraseRecords(ctx context.Context, companyID string, deleted map[string]int, progress func(int)) (kept []table.Key, err error) {
	in := &dynamodb.ScanInput{
		FilterExpression: aws.String("begins_with(pk, :company)"), ProjectionExpression: aws.String("pk, sk"),
		ExpressionAttributeValues: table.Item{":company": table.String(table.Partition(companyID, ""))},
		ConsistentRead:            aws.Bool(true),
	}
	keys := table.Partition(companyID, table.KeysArea)
	err = s.scan(ctx, in, func(page []table.Item) error {
		var erased []table.Key
		for _, item := range page {
			switch k := table.KeyOf(item); {
			case k == profileKey(companyID):
			case k.PK == keys:
				kept = append(kept, k)
			default:
				erased = append(erased, k)
			}
		}
		if err := s.table.BatchDelete(ctx, erased); err != nil {
			return err
		}
		countByArea(deleted, erased)
		if progress != nil && len(erased) > 0 {
			progress(sumCounts(deleted))
		}
		return nil
	})
	return kept, err
}

// scan calls visit with every page of a scan of the table.
func (s Store) scan(ctx context.Context, in *dynamodb.ScanInput, visit func(page []table.Item) error) error {
	for {
		out, err := s.table.Scan(ctx, in)
		if err != nil {
			return err
		}
		if err := visit(out.Items); err != nil || len(out.LastEvaluatedKey) == 0 {
			return err
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// ListAll returns every company in the table. It scans the table, because no index covers more than
// one company. Only the operator can call it: the roles of the functions do not allow scans.
func (s Store) ListAll(ctx context.Context) ([]Company, error) {
	companies := []Company{}
	in := &dynamodb.ScanInput{
		FilterExpression:          aws.String("sk = :profile"),
		ExpressionAttributeValues: table.Item{":profile": table.String(profileSortKey)},
	}
	err := s.scan(ctx, in, func(page []table.Item) error {
		for _, item := range page {
			var c Company
			if err := table.Decode(item, &c); err != nil {
				return err
			}
			companies = append(companies, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return companies, nil
}
