package infra_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/shared/table"
)

// dynamoActions lists every DynamoDB action on a table, an index, or the account.
var dynamoActions = strings.Fields(`
	BatchGetItem BatchWriteItem ConditionCheckItem CreateBackup CreateGlobalTable CreateTable CreateTableReplica
	DeleteBackup DeleteItem DeleteResourcePolicy DeleteTable DeleteTableReplica DescribeBackup DescribeContinuousBackups
	DescribeContributorInsights DescribeEndpoints DescribeExport DescribeGlobalTable DescribeGlobalTableSettings
	DescribeImport DescribeKinesisStreamingDestination DescribeLimits DescribeReservedCapacity DescribeStream DescribeTable
	DescribeTableReplicaAutoScaling DescribeTimeToLive DisableKinesisStreamingDestination
	EnableKinesisStreamingDestination ExportTableToPointInTime GetItem GetRecords GetResourcePolicy GetShardIterator
	ImportTable ListBackups ListContributorInsights ListExports ListGlobalTables ListImports ListStreams ListTables
	ListTagsOfResource PartiQLDelete PartiQLInsert PartiQLSelect PartiQLUpdate PurchaseReservedCapacityOfferings PutItem
	PutResourcePolicy Query RestoreTableFromAwsBackup RestoreTableFromBackup RestoreTableToPointInTime Scan
	StartAwsBackupJob TagResource UntagResource UpdateContinuousBackups UpdateContributorInsights UpdateGlobalTable
	UpdateGlobalTableSettings UpdateItem UpdateKinesisStreamingDestination UpdateTable UpdateTableReplicaAutoScaling
	UpdateTimeToLive`)

const someCompanyID = "co_01kdvdna017fxb6j762bd9qnf4"

// readAccessTable reads testdata/access.tsv, the handwritten list of grants. Its columns are the
// function, the area, the table or index, and the actions.
func readAccessTable(t *testing.T) map[[3]string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/access.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[[3]string][]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 4 {
			t.Fatalf("%q has %d columns", line, len(columns))
		}
		out[[3]string(columns[:3])] = strings.Fields(columns[3])
	}
	return out
}

// areas returns all areas that have partitions: the areas of the service, "keys" and "trail".
func areas() []string {
	out := []string{"keys", "trail"}
	for _, a := range functions.All() {
		out = append(out, a.Name)
	}
	return out
}

// Ensure that in every kind of partition, each function may use exactly the actions in
// testdata/access.tsv. It must not be allowed to use any action on another table, on partitions
// that do not all belong to it, or without a partition key.
func TestAccess(t *testing.T) {
	t.Parallel()
	want := readAccessTable(t)
	used := map[[3]string]bool{}
	for _, f := range infra.New().Functions {
		p := policyOf(t, f)
		for _, area := range areas() {
			for _, action := range dynamoActions {
				for target, resources := range map[string][]string{"table": {tableARN}, "index": indexARNs(table.Indexes())} {
					cell := [3]string{f.Name, area, target}
					used[cell] = true
					allowed := slices.Contains(want[cell], action)
					for _, resource := range resources {
						checkCell(t, p, f.Name, area, callAccess{"dynamodb:" + action, resource, nil}, allowed)
					}
				}
			}
		}
		for _, combination := range areaCombinations(areas()) {
			var keys, allowedActions []string
			for _, area := range combination {
				keys = append(keys, table.Partition(someCompanyID, area))
			}
			for cell, actions := range want {
				if cellAreas := strings.Split(cell[1], "+"); cell[0] == f.Name && len(cellAreas) > 1 && containsAll(cellAreas, combination) {
					used[cell] = true
					allowedActions = append(allowedActions, actions...)
				}
			}
			for _, action := range dynamoActions {
				if got := p.allows(callAccess{"dynamodb:" + action, tableARN, keys}); got != slices.Contains(allowedActions, action) {
					t.Errorf("%s, %s in %v together: %v", f.Name, action, combination, got)
				}
			}
		}
		for _, action := range dynamoActions {
			for _, resource := range append(indexARNs(table.Indexes()), tableARN, foreignARN, foreignARN+"/index/gsi1", foreignARN+"/stream/1", "*") {
				if p.allows(callAccess{"dynamodb:" + action, resource, nil}) {
					t.Errorf("%s may %s on %s without a partition key", f.Name, action, resource)
				}
			}
		}
	}
	for cell := range want {
		if !used[cell] {
			t.Errorf("testdata/access.tsv has %v, which does not exist", cell)
		}
	}
}

// areaCombinations returns every pair and every triple of areas.
func areaCombinations(areas []string) (out [][]string) {
	for i, first := range areas {
		for j, second := range areas[i+1:] {
			out = append(out, []string{first, second})
			for _, third := range areas[i+1:][j+1:] {
				out = append(out, []string{first, second, third})
			}
		}
	}
	return out
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// checkCell checks that a policy allows an action in one kind of partition if `allowed` is true,
// and does not allow it otherwise. The policy must never allow the action in similar partitions.
func checkCell(t *testing.T, p policy, function, area string, a callAccess, allowed bool) {
	t.Helper()
	check := func(want bool, resource string, leading ...string) {
		t.Helper()
		a.resource, a.partitionKeys = resource, leading
		if got := p.allows(a); got != want {
			t.Errorf("%s, %s on %s in %q: %v", function, a.action, resource, leading, got)
		}
	}
	own := table.Partition(someCompanyID, area)
	narrowed := table.Partition(someCompanyID, area, "anything", "else")
	ownResource := a.resource
	check(allowed, ownResource, own)
	check(allowed, ownResource, own, own)
	if area == "keys" || area == "trail" {
		check(false, ownResource, narrowed) // partitions in these areas have no further segments
	} else {
		check(allowed, ownResource, narrowed)
	}
	check(false, foreignARN, own)
	check(false, ownResource, someCompanyID)                // no area
	check(false, ownResource, area)                         // no company
	check(false, ownResource, "co_1#"+area)                 // an id that no company can have
	check(false, ownResource, own+"x")                      // another area
	check(false, ownResource, someCompanyID+"#other#"+area) // another area, with this area's name as a later segment
	check(false, ownResource, someCompanyID+"#other#"+area+"#x")
	check(false, ownResource, own, someCompanyID+"#other")
}

func indexARNs(indexes []table.Index) (out []string) {
	for _, i := range indexes {
		out = append(out, tableARN+"/index/"+i.Name())
	}
	return out
}

// Ensure no function may use any action on the operator's partitions in the table and the indexes.
func TestOperatorListsAreClosed(t *testing.T) {
	t.Parallel()
	partition := table.RegistryKey(someCompanyID).PK
	for _, f := range infra.New().Functions {
		p := policyOf(t, f)
		for _, action := range dynamoActions {
			for _, resource := range append(indexARNs(table.Indexes()), tableARN) {
				if p.allows(callAccess{"dynamodb:" + action, resource, []string{partition}}) {
					t.Errorf("%s may %s on %s in %s", f.Name, action, resource, partition)
				}
			}
		}
	}
}

// Ensure a function cannot scan, even if another policy in its role allows everything.
func TestScansAreDenied(t *testing.T) {
	t.Parallel()
	everything := statement{"Allow", []string{"dynamodb:*"}, []string{"*"}, nil}
	for _, f := range infra.New().Functions {
		p := append(policy{everything}, policyOf(t, f)...)
		for _, action := range dynamoActions {
			want := action != "Scan" && !strings.HasPrefix(action, "PartiQL")
			if got := p.allows(callAccess{"dynamodb:" + action, tableARN, []string{someCompanyID + "#keys"}}); got != want {
				t.Errorf("%s: %s is allowed: %t, want %t", f.Name, action, got, want)
			}
		}
	}
}

// Ensure only the recorder may read the stream, and send messages to the queue of parked records.
func TestOnlyTheRecorderReadsTheStream(t *testing.T) {
	t.Parallel()
	streamActions := []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
	for _, f := range infra.New().Functions {
		p := policyOf(t, f)
		isRecorder := f.Name == infra.RecorderName
		if f.ReadsStream() != isRecorder {
			t.Errorf("%s reads the stream: %t", f.Name, f.ReadsStream())
		}
		for _, action := range dynamoActions {
			want := isRecorder && slices.Contains(streamActions, action)
			for _, partitionKeys := range [][]string{nil, {table.Partition(someCompanyID, "changes")}} {
				if got := p.allows(callAccess{"dynamodb:" + action, tableARN + "/stream/1", partitionKeys}); got != want {
					t.Errorf("%s: %s of the stream is allowed: %t, want %t", f.Name, action, got, want)
				}
			}
		}
		for _, action := range []string{"SendMessage", "ReceiveMessage", "DeleteMessage", "PurgeQueue", "SetQueueAttributes", "GetQueueAttributes"} {
			want := isRecorder && action == "SendMessage"
			if got := p.allows(callAccess{action: "sqs:" + action, resource: "arn:of:" + infra.ParkedQueueID}); got != want {
				t.Errorf("%s: %s is allowed: %t, want %t", f.Name, action, got, want)
			}
			if p.allows(callAccess{action: "sqs:" + action, resource: "arn:of:AnotherQueue"}) {
				t.Errorf("%s: %s of another queue is allowed", f.Name, action)
			}
		}
	}
}

// Ensure each function may use only the table and its own logs. The recorder may also use its
// queue.
func TestOnlyTableAndLogs(t *testing.T) {
	t.Parallel()
	for _, f := range infra.New().Functions {
		p := policyOf(t, f)
		for _, other := range infra.New().Functions {
			for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents", "logs:CreateLogGroup", "logs:FilterLogEvents"} {
				want := f.Name == other.Name && action != "logs:CreateLogGroup" && action != "logs:FilterLogEvents"
				if got := p.allows(callAccess{action: action, resource: "arn:of:" + other.LogsID()}); got != want {
					t.Errorf("%s: %s of %s is allowed: %t, want %t", f.Name, action, other.Name, got, want)
				}
			}
		}
		for _, s := range p {
			for _, action := range s.actions {
				service, _, _ := strings.Cut(action, ":")
				if service != "dynamodb" && service != "logs" && !(service == "sqs" && f.Name == infra.RecorderName) || s.effect == "Allow" && strings.ContainsAny(action, "*?") {
					t.Errorf("%s: the policy has the action %s", f.Name, action)
				}
			}
			if s.effect == "Allow" && slices.ContainsFunc(s.resources, func(r string) bool { return strings.ContainsAny(r, "*?") }) {
				t.Errorf("%s: a resource is a pattern: %v", f.Name, s.resources)
			}
		}
	}
}
