package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// response is the response to an event of a tumbling window. Lambda requires a state, which this
// function does not use.
type response struct {
	State map[string]string `json:"state"`
}

// handler returns the function's handler. After an error, Lambda retries the batch, and holds back
// the later records of the shard until the batch succeeds or is given up.
func handler(
	record func(ctx context.Context, shardID string, records []change.StreamRecord) error, log *slog.Logger,
) func(context.Context, events.DynamoDBTimeWindowEvent) (response, error) {
	return func(ctx context.Context, event events.DynamoDBTimeWindowEvent) (response, error) {
		out := response{map[string]string{}}
		if len(event.Records) == 0 { // the last event of a window may be empty
			return out, nil
		}
		records := make([]change.StreamRecord, len(event.Records))
		for n, r := range event.Records {
			records[n] = convertRecord(r.Change)
		}
		err := record(ctx, event.ShardID, records)
		if err != nil {
			log.LogAttrs(ctx, slog.LevelError, "batch not recorded", slog.String("shardId", event.ShardID), slog.Int("records", len(records)),
				slog.String("firstSequenceNumber", records[0].SequenceNumber), slog.String("error", err.Error()))
			return out, fmt.Errorf("shard %s: %w", event.ShardID, err)
		}
		return out, nil
	}
}

func convertRecord(r events.DynamoDBStreamRecord) change.StreamRecord {
	return change.StreamRecord{
		SequenceNumber: r.SequenceNumber, Key: table.KeyOf(convertItem(r.Keys)),
		Old: convertItem(r.OldImage), New: convertItem(r.NewImage), WrittenAt: r.ApproximateCreationDateTime.Time,
	}
}

func convertItem(from map[string]events.DynamoDBAttributeValue) table.Item {
	if len(from) == 0 {
		return nil
	}
	out := make(table.Item, len(from))
	for name, value := range from {
		out[name] = convertValue(value)
	}
	return out
}

func convertValue(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: convertItem(v.Map())}
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for n, element := range v.List() {
			list[n] = convertValue(element)
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
