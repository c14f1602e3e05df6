package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"growthworkspace/functions/openapi"
	"growthworkspace/infra"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// send sends a request with the company's key and the given additional headers.
func (a *acceptance) send(ctx context.Context, method, path string, body []byte, headers map[string]string) (smokeResponse, error) {
	return a.do(ctx, method, path, a.companyKey, body, headers)
}

// requireRetryAfter returns an error unless the response has a Retry-After of at least one second.
func (r smokeResponse) requireRetryAfter() error {
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || seconds < 1 {
		return fmt.Errorf("the response %d should have Retry-After, and has %q", r.status, r.header.Get("Retry-After"))
	}
	return nil
}

// checkCreateKey sends the same request twice. The request's transaction writes to two partitions,
// and AWS does not document whether IAM checks their keys together.
func checkCreateKey(ctx context.Context, a *acceptance) error {
	var ids []string
	for range 2 {
		got, err := a.send(ctx, http.MethodPost, "/v1/companies/"+a.company+"/keys", []byte(`{"name":"Smoke test","scopes":["company:read"]}`),
			map[string]string{"Idempotency-Key": "smoke-" + a.company})
		if err != nil {
			return err
		}
		var key struct{ ID string }
		if got.status != http.StatusOK || json.Unmarshal(got.body, &key) != nil || key.ID == "" {
			return fmt.Errorf("create_key: %d %s", got.status, got.excerpt())
		}
		ids = append(ids, key.ID)
	}
	if ids[0] != ids[1] {
		return fmt.Errorf("the same request made the keys %s and %s", ids[0], ids[1])
	}
	return nil
}

func checkIDs(ctx context.Context, a *acceptance) error {
	const chosen = "11111111-2222-3333-4444-555555555555"
	for _, path := range []string{"/v1/companies/" + a.company, "/v1/nothing", openapi.DocumentPath} {
		got, err := a.send(ctx, http.MethodGet, path, nil, map[string]string{"X-Amzn-RequestId": chosen})
		if err != nil {
			return err
		}
		id, extended := got.header.Get("Service-Request-Id"), got.header.Get("X-Amz-Apigw-Id")
		if id == "" || id == chosen || id != extended {
			return fmt.Errorf("GET %s: the id is %q, the gateway's extended id is %q, and the caller chose %q", path, id, extended, chosen)
		}
	}
	return nil
}

func checkCompression(ctx context.Context, a *acceptance) error {
	plain, err := a.send(ctx, http.MethodGet, openapi.DocumentPath, nil, map[string]string{"Accept-Encoding": "identity"})
	if err != nil {
		return err
	}
	packed, err := a.send(ctx, http.MethodGet, openapi.DocumentPath, nil, map[string]string{"Accept-Encoding": "gzip"})
	if err != nil {
		return err
	}
	if plain.header.Get("Content-Encoding") != "" || packed.header.Get("Content-Encoding") != "gzip" {
		return fmt.Errorf("Content-Encoding is %q without gzip and %q with it", plain.header.Get("Content-Encoding"), packed.header.Get("Content-Encoding"))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed.body))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(text, plain.body) {
		err = fmt.Errorf("the compressed document has %d bytes, and the plain one %d", len(text), len(plain.body))
	}
	return err
}

// gatewayBodyMax is the maximum size of a request body that API Gateway accepts.
const gatewayBodyMax = 10 << 20

func checkOversize(ctx context.Context, a *acceptance) error {
	body := bytes.Repeat([]byte(" "), gatewayBodyMax+1)
	got, err := a.send(ctx, http.MethodPost, "/v1/companies/"+a.company+"/feedback", body, nil)
	if err != nil {
		return err
	}
	return got.requireError(fault.PayloadTooLarge)
}

// A change of a function takes some seconds to take effect.
const (
	effectAttempts = 30
	effectPause    = 2 * time.Second
)

// retry calls a function until it succeeds.
func (a *acceptance) retry(ctx context.Context, run func() error) error {
	for n := 1; ; n++ {
		err := run()
		if err == nil || n == effectAttempts || ctx.Err() != nil {
			return err
		}
		if err := a.d.pause(ctx, effectPause); err != nil {
			return err
		}
	}
}

// checkSaturation makes the function that serves the OpenAPI document run out of instances, by
// reserving a concurrency of 0, and then removes the reservation.
func checkSaturation(ctx context.Context, a *acceptance) (err error) {
	if a.stack.parameter(infra.ParamConcurrency) != "-1" {
		return fmt.Errorf("%w: the stack reserves concurrency, which this check would change", errInconclusive)
	}
	i := slices.IndexFunc(infra.New().Functions, func(f infra.Function) bool { return f.Name == "openapi" })
	function, err := a.d.account.stackResource(ctx, a.d.stack, infra.New().Functions[i].ID())
	if err != nil {
		return err
	}
	// The deferred call also runs after an error, because AWS may have made the change without
	// confirming it.
	defer func() {
		ctx := context.WithoutCancel(ctx)
		restoreErr := a.retry(ctx, func() error {
			_, err := a.d.account.functions.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &function})
			return err
		})
		if restoreErr != nil {
			err = errors.Join(err, fmt.Errorf("the function %[1]s may be stopped; start it again: aws lambda delete-function-concurrency%[2]s --function-name %[1]s: %[3]w",
				function, a.d.awsFlags(), restoreErr))
		}
	}()
	_, err = a.d.account.functions.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: &function, ReservedConcurrentExecutions: aws.Int32(0)})
	if err != nil {
		return err
	}
	var got smokeResponse
	if err := a.retry(ctx, func() error {
		if got, err = a.send(ctx, http.MethodGet, openapi.DocumentPath, nil, nil); err == nil && got.status == http.StatusOK {
			return errors.New("the function still responds, although it may have no instance")
		}
		return err
	}); err != nil {
		return err
	}
	return errors.Join(got.requireError(fault.Internal), got.requireRetryAfter())
}

// The burst that checkThrottle sends. 3,000 requests cost about a cent.
const (
	burstRequests = 3000
	burstAtOnce   = 200
)

// checkThrottle sends a burst of requests until the gateway throttles one.
func checkThrottle(ctx context.Context, a *acceptance) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	var throttled smokeResponse
	var once sync.Once
	var group sync.WaitGroup
	var sent atomic.Int64
	for range burstAtOnce {
		group.Go(func() {
			for sent.Add(1) <= burstRequests && ctx.Err() == nil { // a request that fails is not throttled
				if got, _ := a.do(ctx, http.MethodHead, openapi.DocumentPath, "", nil, nil); got.status == http.StatusTooManyRequests {
					once.Do(func() { throttled = got; stop() })
				}
			}
		})
	}
	group.Wait()
	if throttled.status == 0 {
		return fmt.Errorf("%w: %d requests from here were too slow to be throttled at ThrottleRate %s", errInconclusive, burstRequests, a.stack.parameter(infra.ParamThrottleRate))
	}
	return throttled.requireRetryAfter()
}

// A restore takes minutes in a real account, and hours for a large table.
const (
	restoreMax   = 2 * time.Hour
	restorePause = 10 * time.Second
)

// checkRestore restores the table to a copy, looks for the company's records in the copy, and
// deletes the copy.
func checkRestore(ctx context.Context, a *acceptance) (err error) {
	// The latest time to which a table can be restored is about five minutes ago.
	for latest := (time.Time{}); !latest.After(a.companyMade); {
		backups, err := a.d.account.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &a.table})
		if err != nil {
			return err
		}
		recovery := backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription
		if recovery == nil || recovery.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
			return fmt.Errorf("point-in-time recovery of the table %s is off", a.table)
		}
		if latest = aws.ToTime(recovery.LatestRestorableDateTime); !latest.After(a.companyMade) {
			if err := a.d.pause(ctx, restorePause); err != nil {
				return err
			}
		}
	}
	name := a.table + "-smoke"
	// This call cannot be cancelled: without its response, it is unknown whether there is a copy to
	// delete.
	_, err = a.d.account.tables.RestoreTableToPointInTime(context.WithoutCancel(ctx), &dynamodb.RestoreTableToPointInTimeInput{
		SourceTableName: &a.table, TargetTableName: &name, UseLatestRestorableTime: aws.Bool(true),
	})
	if err != nil {
		return err
	}
	defer func() {
		if _, deleteErr := a.d.account.tables.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: &name}); deleteErr != nil {
			err = errors.Join(err, fmt.Errorf("the table %[1]s of the checks is still there, and DynamoDB deletes it only when it is ACTIVE: "+
				"aws dynamodb wait table-exists%[2]s --table-name %[1]s && aws dynamodb delete-table%[2]s --table-name %[1]s: %[3]w", name, a.d.awsFlags(), deleteErr))
		}
	}()
	if err := dynamodb.NewTableExistsWaiter(a.d.account.tables).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, restoreMax); err != nil {
		return fmt.Errorf("the restore to %s: %w", name, err)
	}
	found, err := a.d.account.tables.Query(ctx, &dynamodb.QueryInput{
		TableName: &name, KeyConditionExpression: aws.String("pk = :pk"), Select: types.SelectCount,
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: table.Partition(a.company, "company")}},
	})
	if err == nil && found.Count == 0 {
		err = errors.New("the copy does not have the company")
	}
	return err
}
