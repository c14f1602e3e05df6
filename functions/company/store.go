package company

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
	"growthworkspace/shared/trail"
)

// Store keeps the profiles of companies:
//
//	access        key
//	get, modify   <company>#company / profile
//	all           operator#companies#<shard> / <company>, the registry; only for the operator
//	erase         a scan, only for the operator's command line
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

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

// Create stores a new company, adds it to the registry and starts its feed of changes. It returns
// table.ErrExists if the id is already taken.
func (s Store) Create(ctx context.Context, c Company) error {
	err := s.table.Transact(ctx, append([]table.Write{
		s.table.WriteCreate(keysOf(c), c), change.WriteCounter(s.table, c.ID), s.table.WritePut(table.Keys{Key: table.RegistryKey(c.ID)}, struct{}{}),
	}, trail.Writes(ctx, s.table, c.ID, trail.CompanyCreate, trail.Details{})...)...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

// Erase deletes everything that is stored for a company, in all areas: its records, keys,
// snapshots, findings and stored responses. It keeps only the company's trail. It returns the
// number of deleted records by area, even if it fails. It scans the table, because records such as
// findings have partitions of their own. Only the operator can call it. The company must be
// suspended first, so that its keys are refused.
//
// Erase ends the company's feed of changes first, so that the feed does not report the erasure
// itself. The returned numbers leave out the feed's counter. The profile and the registry entry are
// deleted last, in one transaction. So if a call stops early, the company still exists, and the
// next call continues. progress is called with the number of deleted records; it may be nil.
func (s Store) Erase(ctx context.Context, companyID string, progress func(deleted int)) (map[string]int, error) {
	running, err := trail.Begin(ctx, s.table, companyID, trail.CompanyDelete)
	if err != nil {
		return nil, fmt.Errorf("erase company %s: %w", companyID, err)
	}
	deleted, err := s.erase(ctx, companyID, progress)
	return deleted, running.End(ctx, trail.Details{Records: deleted}, err)
}

func (s Store) erase(ctx context.Context, companyID string, progress func(deleted int)) (map[string]int, error) {
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
		return deleted, s.table.Transact(ctx,
			s.table.WriteDelete(profileKey(companyID), "", nil, nil), s.table.WriteDelete(table.RegistryKey(companyID), "", nil, nil))
	}
}

func sumCounts(deleted map[string]int) (n int) {
	for _, count := range deleted {
		n += count
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

// eraseRecords scans the table and deletes all records of a company except the profile, the API
// keys and the trail. It returns the table keys of the API key records, which it does not delete.
func (s Store) eraseRecords(ctx context.Context, companyID string, deleted map[string]int, progress func(int)) (kept []table.Key, err error) {
	in := &dynamodb.ScanInput{
		FilterExpression: aws.String("begins_with(pk, :company)"), ProjectionExpression: aws.String("pk, sk"),
		ExpressionAttributeValues: table.Item{":company": table.String(table.Partition(companyID, ""))},
		ConsistentRead:            aws.Bool(true),
	}
	keysPartition := table.Partition(companyID, table.KeysArea)
	err = s.scan(ctx, in, func(page []table.Item) error {
		var erased []table.Key
		for _, item := range page {
			switch k := table.KeyOf(item); {
			case k == profileKey(companyID), k.PK == trail.Partition(companyID):
			case k.PK == keysPartition:
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

// GetMany returns the companies with the given ids, sorted by id. It leaves out companies that do
// not exist.
func (s Store) GetMany(ctx context.Context, companyIDs []string) ([]Company, error) {
	keys := make([]table.Key, len(companyIDs))
	for n, companyID := range companyIDs {
		keys[n] = profileKey(companyID)
	}
	companies, err := table.BatchGet[Company](ctx, s.table, keys)
	slices.SortFunc(companies, func(a, b Company) int { return strings.Compare(a.ID, b.ID) })
	return companies, err
}
