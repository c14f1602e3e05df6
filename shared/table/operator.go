package table

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"growthworkspace/shared/parallel"
)

// The operator's lists span all companies. The registry of companies is in the base table. GSI6
// lists the records that a worker has to act on. The partition keys of both begin with operatorPart
// instead of a company's id. The policies of the functions' roles allow access only to companies'
// partitions, so no function can read or write the registry. No function's role allows queries of
// GSI6.

// operatorPart is the first part of the operator's partition keys. No company has this id.
const operatorPart = "operator"

// OperatorShards is the number of partitions of each of the operator's lists. Several partitions
// together accept more writes per second than one. Reading an empty list costs half a read unit per
// partition. Changing this number requires moving every entry.
const OperatorShards = 8

func operatorPartition(list string, shard uint32) string {
	return JoinKey(operatorPart, list, strconv.Itoa(int(shard)))
}

// shardOf returns the number of the partition that contains a record's entry.
func shardOf(recordID string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(recordID)) // a hash returns no error
	return hash.Sum32() % OperatorShards
}

// WorkKey returns the GSI6 key of a record that a worker has to act on. The parameter list is the
// name of the list for this kind of work. The parameter at is the time of the entry, for
// CompaniesWithWork. It is empty if the worker has to act at once.
func WorkKey(list, at, companyID, recordID string) Key {
	return Key{PK: operatorPartition(list, shardOf(recordID)), SK: JoinKey(at, companyID, recordID)}
}

// CompaniesWithWork returns the sorted ids of the companies that have an entry in a list of GSI6.
// Entries whose time is after until do not count and are not read. If until is empty, all entries
// count.
func CompaniesWithWork(ctx context.Context, c *Client, list, until string) ([]string, error) {
	in := Collection{Index: GSI6}
	if until != "" {
		in.Until = JoinKey(until, "~") // after every id
	}
	return operatorCompanies(ctx, c, list, in, func(e struct {
		SK string `store:"gsi6sk"`
	}) string {
		_, rest, _ := strings.Cut(e.SK, "#")
		companyID, _, _ := strings.Cut(rest, "#")
		return companyID
	})
}

// registryList is the list of all companies.
const registryList = "companies"

// RegistryKey returns the key of a company's entry in the registry of companies.
func RegistryKey(companyID string) Key {
	return Key{PK: operatorPartition(registryList, shardOf(companyID)), SK: companyID}
}

// RegisteredCompanies returns the ids of the companies in the registry, sorted. It reads with
// strong consistency.
func RegisteredCompanies(ctx context.Context, c *Client) ([]string, error) {
	return operatorCompanies(ctx, c, registryList, Collection{Consistent: true}, func(e struct {
		CompanyID string `store:"sk"`
	}) string {
		return e.CompanyID
	})
}

// operatorCompanies returns the distinct companies in all partitions of a list, sorted by id. The
// parameter template specifies how to read a partition.
func operatorCompanies[T any](ctx context.Context, c *Client, list string, template Collection, companyOf func(T) string) ([]string, error) {
	var mu sync.Mutex
	found := map[string]bool{}
	err := parallel.Do(OperatorShards, OperatorShards, func(n int) error {
		shard := template
		shard.Partition = operatorPartition(list, uint32(n))
		return ForEach(ctx, c, shard, func(entry T) error {
			mu.Lock()
			defer mu.Unlock()
			found[companyOf(entry)] = true
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(found)), nil
}
