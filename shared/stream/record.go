package stream

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// convertRecord converts a stream record. The SDK has separate attribute types for streams.
func convertRecord(r *types.StreamRecord) (out change.StreamRecord, err error) {
	out.SequenceNumber = aws.ToString(r.SequenceNumber)
	if r.ApproximateCreationDateTime != nil {
		out.WrittenAt = *r.ApproximateCreationDateTime
	}
	key, err := convertItem(r.Keys)
	if err != nil {
		return out, err
	}
	out.Key = table.KeyOf(key)
	if out.Old, err = convertItem(r.OldImage); err != nil {
		return out, err
	}
	out.New, err = convertItem(r.NewImage)
	return out, err
}

func convertItem(from map[string]types.AttributeValue) (table.Item, error) {
	if len(from) == 0 {
		return nil, nil
	}
	out := make(table.Item, len(from))
	for name, value := range from {
		var err error
		if out[name], err = convertValue(value); err != nil {
			return nil, fmt.Errorf("the attribute %s: %w", name, err)
		}
	}
	return out, nil
}

func convertValue(from types.AttributeValue) (tabletypes.AttributeValue, error) {
	switch v := from.(type) {
	case *types.AttributeValueMemberS:
		return &tabletypes.AttributeValueMemberS{Value: v.Value}, nil
	case *types.AttributeValueMemberN:
		return &tabletypes.AttributeValueMemberN{Value: v.Value}, nil
	case *types.AttributeValueMemberB:
		return &tabletypes.AttributeValueMemberB{Value: v.Value}, nil
	case *types.AttributeValueMemberBOOL:
		return &tabletypes.AttributeValueMemberBOOL{Value: v.Value}, nil
	case *types.AttributeValueMemberNULL:
		return &tabletypes.AttributeValueMemberNULL{Value: v.Value}, nil
	case *types.AttributeValueMemberSS:
		return &tabletypes.AttributeValueMemberSS{Value: v.Value}, nil
	case *types.AttributeValueMemberNS:
		return &tabletypes.AttributeValueMemberNS{Value: v.Value}, nil
	case *types.AttributeValueMemberBS:
		return &tabletypes.AttributeValueMemberBS{Value: v.Value}, nil
	case *types.AttributeValueMemberM:
		item, err := convertItem(v.Value)
		return &tabletypes.AttributeValueMemberM{Value: item}, err
	case *types.AttributeValueMemberL:
		list := make([]tabletypes.AttributeValue, len(v.Value))
		for n, element := range v.Value {
			var err error
			if list[n], err = convertValue(element); err != nil {
				return nil, err
			}
		}
		return &tabletypes.AttributeValueMemberL{Value: list}, nil
	}
	return nil, fmt.Errorf("unknown type %T", from)
}
