package infra

import (
	"encoding/json"
	"slices"

	"growthworkspace/functions"
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// RecorderName is the name of the function that makes the feed of changes from the table's stream.
const RecorderName = "recorder"

// ParkedQueueID is the logical id of the queue of stream records that the recorder could not read.
const ParkedQueueID = "ParkedChangesQueue"

const (
	streamMappingID     = "RecorderStream"
	parkedQueueVariable = "PARKED_QUEUE_URL" // functions/recorder/lambda reads it
	daySeconds          = 24 * 60 * 60
)

// recorderGrants returns what the recorder may do in the table: read and write feeds.
func recorderGrants() []Grant {
	return []Grant{{Area: change.Area, Actions: []string{actionGetItem, actionPutItem, actionUpdateItem}}}
}

// streamARN is the ARN of the table's stream: an attribute of the table if the table is a resource
// of the stack, otherwise ParamTableStream. When a table is adopted, both values are equal, so the
// adoption does not change the event source mapping.
func streamARN() Object {
	return IfCondition(ifOwnTable, Attribute(TableID, "StreamArn"), Ref(ParamTableStream))
}

// streamStatements let the recorder read the stream and park records. Lambda reads the stream with
// the role of the function.
func streamStatements() []Statement {
	return []Statement{
		{
			Sid: "Stream", Effect: "Allow", Resources: List{streamARN()}, Condition: ifStream,
			Actions: withServicePrefix([]string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}),
		},
		{Sid: "ParkedChanges", Effect: "Allow", Actions: []string{"sqs:SendMessage"}, Resources: List{Attribute(ParkedQueueID, "Arn")}},
	}
}

// streamResources returns the mapping that invokes the recorder, and the queue of parked records.
func streamResources() Object {
	return Object{
		{streamMappingID, onlyIf(ifStream, resource("AWS::Lambda::EventSourceMapping", Object{
			{"FunctionName", Ref(Function{Name: RecorderName}.AliasID())},
			{"EventSourceArn", streamARN()},
			// With LATEST, a new mapping would miss the records of the minutes that it takes to
			// start. The recorder recognises records that it gets again.
			{"StartingPosition", "TRIM_HORIZON"},
			{"BatchSize", 100},
			{"MaximumBatchingWindowInSeconds", 1},
			// Lambda sends the shard's id only with a time window, and the recorder needs it to
			// recognise records. The window itself has no other use, so it is as long as possible.
			{"TumblingWindowInSeconds", 900},
			{"ParallelizationFactor", 1}, // one batch of a shard at a time
			// A batch is retried until its records expire. The recorder parks what it cannot read.
			{"MaximumRetryAttempts", -1},
			{"MaximumRecordAgeInSeconds", -1},
			{"FilterCriteria", Object{{"Filters", List{Object{{"Pattern", streamFilter()}}}}}},
		}))},
		{ParkedQueueID, resource("AWS::SQS::Queue", Object{
			{"MessageRetentionPeriod", 14 * daySeconds}, {"SqsManagedSseEnabled", true},
		})},
		{ParkedQueueID + "Policy", parkedQueuePolicy()},
	}
}

// parkedQueuePolicy denies unencrypted connections.
func parkedQueuePolicy() Object {
	return resource("AWS::SQS::QueuePolicy", Object{{"Queues", List{Ref(ParkedQueueID)}}, {"PolicyDocument", policyDocument(
		Object{
			{"Sid", "OnlyEncrypted"}, {"Effect", "Deny"}, {"Principal", "*"}, {"Action", "sqs:*"},
			{"Resource", Attribute(ParkedQueueID, "Arn")}, {"Condition", Object{{"Bool", Object{{"aws:SecureTransport", "false"}}}}},
		},
	)}})
}

// streamFilter returns the pattern of the writes that the recorder gets: those to items that a source
// of changes may recognise by the beginning of their sort keys. So no invocation is spent on uses of
// keys, on remembered responses or on the feeds themselves. Changes to keys are reported by records
// of their own, because the keys themselves are written with every request. Every record of the
// stream has a sort key, even that of a deletion. A filter on an attribute that only the unwanted
// items have would depend on how Lambda treats a missing image.
func streamFilter() string {
	type prefix struct {
		Prefix string `json:"prefix"`
	}
	var prefixes []prefix
	for _, source := range functions.ChangeSources() {
		if p := (prefix{source.SortKey}); !slices.Contains(prefixes, p) {
			prefixes = append(prefixes, p)
		}
	}
	text, err := json.Marshal(map[string]any{"dynamodb": map[string]any{"Keys": map[string]any{table.Base.SK(): map[string]any{"S": prefixes}}}})
	if err != nil {
		panic("infra: cannot encode a filter: " + err.Error())
	}
	return string(text)
}
