package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"growthworkspace/functions/recorder"
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// streamEvent is an event as Lambda sends it for a tumbling window.
const streamEvent = `{
	"Records": [{
		"eventID": "1", "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1",
		"eventSourceARN": "arn:aws:dynamodb:eu-central-1:111122223333:table/workspace/stream/2026-08-11T09:30:00.000",
		"dynamodb": {
			"ApproximateCreationDateTime": 1786440600, "SequenceNumber": "4421584500000000017450439091", "SizeBytes": 26, "StreamViewType": "NEW_AND_OLD_IMAGES",
			"Keys": {"pk": {"S": "co_1#plan"}, "sk": {"S": "item#itm_1"}},
			"OldImage": {"pk": {"S": "co_1#plan"}, "sk": {"S": "item#itm_1"}, "rev": {"N": "1"}},
			"NewImage": {"rev": {"N": "2"}, "live": {"BOOL": true}, "none": {"NULL": true}, "raw": {"B": "AAEC"}, "list": {"L": [{"S": "a"}, {"N": "1.5"}]},
				"map": {"M": {"a": {"S": "b"}}}, "texts": {"SS": ["a"]}, "numbers": {"NS": ["1"]}, "bytes": {"BS": ["AA=="]}}
		}
	}],
	"window": {"start": "2026-08-11T09:30:00Z", "end": "2026-08-11T09:45:00Z"}, "state": {}, "shardId": "shardId-00000001",
	"eventSourceARN": "arn", "isFinalInvokeForWindow": false, "isWindowTerminatedEarly": false
}`

func handle(t *testing.T, text string, record func(context.Context, string, []change.StreamRecord) error) (string, error) {
	t.Helper()
	var event events.DynamoDBTimeWindowEvent
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	out, err := handler(record, slog.New(slog.DiscardHandler))(t.Context(), event)
	response, marshalErr := json.Marshal(out)
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	return string(response), err
}

// Ensure the recorder gets the shard and the records of an event, with all kinds of attributes.
func TestEvent(t *testing.T) {
	t.Parallel()
	var shard string
	var got []change.StreamRecord
	response, err := handle(t, streamEvent, func(_ context.Context, shardID string, records []change.StreamRecord) error {
		shard, got = shardID, records
		return nil
	})
	if err != nil || response != `{"state":{}}` || shard != "shardId-00000001" {
		t.Errorf("response %s, shard %s: %v", response, shard, err)
	}
	want := []change.StreamRecord{{
		SequenceNumber: "4421584500000000017450439091", Key: table.Key{PK: "co_1#plan", SK: "item#itm_1"}, WrittenAt: time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC),
		Old: table.Item{"pk": table.String("co_1#plan"), "sk": table.String("item#itm_1"), "rev": table.Number(1)},
		New: table.Item{
			"rev": table.Number(2), "live": &types.AttributeValueMemberBOOL{Value: true}, "none": &types.AttributeValueMemberNULL{Value: true},
			"raw": &types.AttributeValueMemberB{Value: []byte{0, 1, 2}}, "list": &types.AttributeValueMemberL{Value: []types.AttributeValue{table.String("a"), table.Float(1.5)}},
			"map": &types.AttributeValueMemberM{Value: table.Item{"a": table.String("b")}}, "texts": &types.AttributeValueMemberSS{Value: []string{"a"}},
			"numbers": &types.AttributeValueMemberNS{Value: []string{"1"}}, "bytes": &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
		},
	}}
	ignore := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{},
		types.AttributeValueMemberNULL{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{})
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
}

// Ensure a created record has no old image, and a deleted record no new one.
func TestCreateAndDelete(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Replace(streamEvent, `"OldImage"`, `"Other"`, 1), strings.Replace(streamEvent, `"NewImage"`, `"Other"`, 1)} {
		_, err := handle(t, text, func(_ context.Context, _ string, records []change.StreamRecord) error {
			if (records[0].Old == nil) == (records[0].New == nil) {
				t.Errorf("%+v, want one image", records[0])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Ensure the empty event at the end of a window is accepted, and that an error names the shard.
func TestEmptyAndFailedEvents(t *testing.T) {
	t.Parallel()
	fail := func(context.Context, string, []change.StreamRecord) error { return errors.New("no table") }
	if response, err := handle(t, `{"Records": [], "isFinalInvokeForWindow": true}`, fail); err != nil || response != `{"state":{}}` {
		t.Errorf("empty: %s, %v", response, err)
	}
	if _, err := handle(t, streamEvent, fail); err == nil || err.Error() != "shard shardId-00000001: no table" {
		t.Errorf("failed: %v", err)
	}
}

// Ensure a parked record is sent to the queue with a signed request, and that a refusal is an
// error.
func TestQueue(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, body = r, string(text)
		w.WriteHeader(status)
	}))
	defer server.Close()
	q := queue{
		url: server.URL + "/111122223333/parked", region: "eu-central-1", now: time.Now, http: server.Client(),
		credentials: credentials.NewStaticCredentialsProvider("id", "secret", "token"),
	}
	if err := q.send(t.Context(), recorder.ParkedRecord{ShardID: "s", SequenceNumber: "7", PK: "co_1#plan", SK: "item#itm_1", Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	want := `{"MessageBody":"{\"shardId\":\"s\",\"sequenceNumber\":\"7\",\"pk\":\"co_1#plan\",\"sk\":\"item#itm_1\",\"reason\":\"r\"}","QueueUrl":"` + q.url + `"}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	if got.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessage" || got.Header.Get("X-Amz-Security-Token") != "token" || !strings.Contains(got.Header.Get("Authorization"), "/eu-central-1/sqs/aws4_request") {
		t.Errorf("the headers are %v", got.Header)
	}
	if status = http.StatusForbidden; q.send(t.Context(), recorder.ParkedRecord{}) == nil {
		t.Error("a refusal is no error")
	}
}
