package table

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	"growthworkspace/shared/parallel"
)

// The registry of companies lists all companies, in the base table. Its partition keys begin with
// operatorPart instead of a company's id. The policies of the functions' roles allow access only to
// companies' partitions, so no function can read or write the registry.

// operatorPart is the first part of the operator's partition keys. No company has this id.
const operatorPart = "operator"

// OperatorShards is the number of partitions of the registry. Several partitions together accept
// more writes per second than one. Changing this number requires moving every entry.
const OperatorShards = 8

func registryPartition(shard uint32) string {
	return JoinKey(operatorPart, "companies", strconv.Itoa(int(shard)))
}

// RegistryKey returns the key of a company's entry in the registry of companies.
func RegistryKey(companyID string) Key {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(companyID)) // a hash returns no error
	return Key{PK: registryPartition(hash.Sum32() % OperatorShards), SK: companyID}
}

// RegisteredCompanies returns the ids of the companies in the registry, sorted. It reads with
// strong consistency.
func RegisteredCompanies(ctx context.Context, c *Client) ([]string, error) {
	type entry struct {
		CompanyID string `store:"sk"`
	}
	var mu sync.Mutex
	var found []string
	err := parallel.Do(OperatorShards, OperatorShards, func(n int) error {
		return ForEach(ctx, c, Collection{Partition: registryPartition(uint32(n)), Consistent: true}, func(e entry) error {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, e.CompanyID)
			return nil
		})
	})
	slices.Sort(found)
	return found, err
}
