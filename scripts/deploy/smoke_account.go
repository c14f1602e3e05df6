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
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"growthworkspace/functions/openapi"
	"growthworkspace/infra"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// checkOperate creates the company that the checks use. tidy deletes it.
func checkOperate(ctx context.Context, a *acceptance) error {
	var made struct{ CompanyID, Key string }
	if err := a.runOperatorCommand(ctx, &made, "company", "create", "--name", "Smoke test", "--issue-key"); err != nil {
		return err
	}
	a.company, a.companyKey, a.companyMade = made.CompanyID, made.Key, time.Now()
	got, err := a.send(ctx, http.MethodGet, "/v1/companies/"+a.company, nil, nil)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("its profile: %d %s", got.status, got.excerpt())
	}
	return nil
}

// send sends a request with the company's key and the given additional headers.
func (a *acceptance) send(ctx context.Context, method, path string, body []byte, headers map[string]string) (smokeResponse, error) {
	return a.do(ctx, method, path, a.companyKey, body, headers)
}

// requireEnvelope returns an error unless the response is an error with the given code in the
// envelope.
func requireEnvelope(got smokeResponse, code fault.Code) error {
	var envelope struct{ Errors []struct{ Code string } }
	if got.status != code.Status() || json.Unmarshal(got.body, &envelope) != nil || len(envelope.Errors) != 1 || envelope.Errors[0].Code != string(code) {
		return fmt.Errorf("the response should be %d with the code %s, and is %d %s", code.Status(), code, got.status, got.excerpt())
	}
	return nil
}

// requireRetryAfter returns an error unless the response has a Retry-After of at least one second.
func requireRetryAfter(got smokeResponse) error {
	if seconds, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || seconds < 1 {
		return fmt.Errorf("the response %d should have Retry-After, and has %q", got.status, got.header.Get("Retry-After"))
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

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9+/_-]+=*$`)

func checkIDs(ctx context.Context, a *acceptance) error {
	const chosen = "11111111-2222-3333-4444-555555555555"
	for _, path := range []string{"/v1/companies/" + a.company, "/v1/nothing", openapi.DocumentPath} {
		got, err := a.send(ctx, http.MethodGet, path, nil, map[string]string{"X-Amzn-RequestId": chosen})
		if err != nil {
			return err
		}
		id := got.header.Get("Service-Request-Id")
		switch {
		case !requestIDPattern.MatchString(id):
			return fmt.Errorf("GET %s: the id is %q", path, id)
		case id == chosen:
			return fmt.Errorf("GET %s: the caller has chosen the id", path)
		case id != got.header.Get("X-Amz-Apigw-Id"):
			return fmt.Errorf("GET %s: the id is %s, and the gateway's extended id is %s", path, id, got.header.Get("X-Amz-Apigw-Id"))
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
	if err != nil {
		return err
	}
	if !bytes.Equal(text, plain.body) {
		return fmt.Errorf("the compressed document has %d bytes, and the plain one %d", len(text), len(plain.body))
	}
	return nil
}

// gatewayBodyMax is the maximum size of a request body that API Gateway accepts.
const gatewayBodyMax = 10 << 20

func checkOversize(ctx context.Context, a *acceptance) error {
	body := bytes.Repeat([]byte(" "), gatewayBodyMax+1)
	got, err := a.send(ctx, http.MethodPost, "/v1/companies/"+a.company+"/feedback", body, nil)
	if err != nil {
		return err
	}
	return requireEnvelope(got, fault.PayloadTooLarge)
}

// checkSaturation makes the function that serves the OpenAPI document run out of instances, by
// reserving a concurrency of 0, and then removes the reservation.
func checkSaturation(ctx context.Context, a *acceptance) (err error) {
	if a.stack.parameter(infra.ParamConcurrency) != "-1" {
		return fmt.Errorf("%w: the stack reserves concurrency, which this check would change", errInconclusive)
	}
	function := a.functions["openapi"]
	path := "2017-10-31/functions/" + url.PathEscape(function) + "/concurrency"
	// The deferred call also runs after an error, because AWS may have made the change without
	// confirming it.
	defer func() {
		ctx := context.WithoutCancel(ctx)
		restoreErr := a.retry(ctx, func() error { return a.account.callREST(ctx, http.MethodDelete, "lambda", path, nil) })
		if restoreErr != nil {
			err = errors.Join(err, fmt.Errorf("the function %[1]s may be stopped; start it again: aws lambda delete-function-concurrency --region %[2]s --function-name %[1]s: %[3]w",
				function, a.account.config.Region, restoreErr))
		}
	}()
	if err := a.account.callREST(ctx, http.MethodPut, "lambda", path, []byte(`{"ReservedConcurrentExecutions":0}`)); err != nil {
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
	return errors.Join(requireEnvelope(got, fault.Internal), requireRetryAfter(got))
}

// callREST sends a request to a REST API of AWS.
func (a *account) callREST(ctx context.Context, method, service, path string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, method, a.endpoint(service)+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return a.send(ctx, service, r, body, func([]byte) error { return nil })
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
	remaining := make(chan struct{}, burstRequests)
	for range burstRequests {
		remaining <- struct{}{}
	}
	close(remaining)
	for range burstAtOnce {
		group.Go(func() {
			for range remaining {
				got, err := a.request(ctx, http.MethodHead, openapi.DocumentPath, "")
				if err != nil && ctx.Err() != nil {
					return
				}
				if got.status == http.StatusTooManyRequests {
					once.Do(func() { throttled = got; stop() })
				}
			}
		})
	}
	group.Wait()
	if throttled.status == 0 {
		return fmt.Errorf("%w: %d requests from here were too slow to be throttled at ThrottleRate %s", errInconclusive, burstRequests, a.stack.parameter(infra.ParamThrottleRate))
	}
	return requireRetryAfter(throttled)
}

// checkCanary reads the last deployment of each function. It starts no deployment, because only a
// new version of the stack does that.
func checkCanary(ctx context.Context, a *acceptance) error {
	if a.stack.parameter(infra.ParamRollout) != infra.RolloutCanary {
		return fmt.Errorf("%w: the stack has Rollout=%s; deploy with --param Rollout=canary, then another version, then run this again",
			errInconclusive, a.stack.parameter(infra.ParamRollout))
	}
	application, err := a.account.stackResource(ctx, a.d.stack, infra.DeploymentsID)
	if err != nil {
		return err
	}
	for _, f := range infra.New().Functions {
		group, err := a.account.stackResource(ctx, a.d.stack, f.DeploymentGroupID())
		if err != nil {
			return err
		}
		var answer struct {
			Info struct {
				Last struct {
					ID     string `json:"deploymentId"`
					Status string `json:"status"`
				} `json:"lastAttemptedDeployment"`
			} `json:"deploymentGroupInfo"`
		}
		if err := a.callCodeDeploy(ctx, "GetDeploymentGroup", map[string]any{"applicationName": application, "deploymentGroupName": group}, &answer); err != nil {
			return err
		}
		switch last := answer.Info.Last; last.Status {
		case "Succeeded":
		case "":
			return fmt.Errorf("%w: CodeDeploy has not deployed %s yet; deploy another version, then run this again", errInconclusive, f.Name)
		default:
			return fmt.Errorf("the last deployment of %s, %s, is %s", f.Name, last.ID, last.Status)
		}
	}
	return nil
}

func (a *acceptance) callCodeDeploy(ctx context.Context, action string, in, out any) error {
	return a.account.callJSON(ctx, "codedeploy", "1.1", "CodeDeploy_20141006."+action, in, out)
}

// cloudWatchVersion is the version of CloudWatch's API.
const cloudWatchVersion = "2010-08-01"

// checkAlarm puts an alarm into the ALARM state. CloudWatch records in the alarm's history whether
// it published to the topic.
func checkAlarm(ctx context.Context, a *acceptance) error {
	name, err := a.account.stackResource(ctx, a.d.stack, "AuthFailuresAlarm")
	if err != nil {
		return err
	}
	set := func(ctx context.Context, state string) error {
		return a.account.callQueryAPI(ctx, "monitoring", cloudWatchVersion, url.Values{
			"Action": {"SetAlarmState"}, "AlarmName": {name}, "StateValue": {state}, "StateReason": {"go run ./scripts/deploy smoke"},
		}, &struct{}{})
	}
	if err := set(ctx, "ALARM"); err != nil {
		return err
	}
	defer func() { _ = set(context.WithoutCancel(ctx), "OK") }() // the alarm's own evaluation would also reset it within minutes
	kind := "Action"
	if a.account.isEmulated() {
		kind = "StateUpdate" // an emulator changes the state but publishes nothing
	}
	err = a.retry(ctx, func() error {
		var history struct {
			Items []struct {
				Summary string `xml:"HistorySummary"`
			} `xml:"DescribeAlarmHistoryResult>AlarmHistoryItems>member"`
		}
		err := a.account.callQueryAPI(ctx, "monitoring", cloudWatchVersion, url.Values{
			"Action": {"DescribeAlarmHistory"}, "AlarmName": {name}, "HistoryItemType": {kind}, "MaxRecords": {"10"},
		}, &history)
		if err != nil {
			return err
		}
		for _, item := range history.Items {
			if kind == "StateUpdate" || strings.Contains(item.Summary, "Successfully executed action") {
				return nil
			}
		}
		return fmt.Errorf("the history of the alarm %s has no entry of the type %s", name, kind)
	})
	if err == nil && a.account.isEmulated() {
		return fmt.Errorf("%w: the alarm rang, but an emulator publishes nothing", errInconclusive)
	}
	return err
}

// checkLogs sends a request and runs the saved query with the request's id.
func checkLogs(ctx context.Context, a *acceptance) error {
	got, err := a.send(ctx, http.MethodGet, "/v1/companies/"+a.company, nil, nil)
	if err != nil {
		return err
	}
	id := got.header.Get("Service-Request-Id")
	var saved struct {
		QueryDefinitions []struct {
			QueryString   string   `json:"queryString"`
			LogGroupNames []string `json:"logGroupNames"`
		} `json:"queryDefinitions"`
	}
	if err := a.callLogs(ctx, "DescribeQueryDefinitions", map[string]any{"queryDefinitionNamePrefix": a.d.stack + "/request"}, &saved); err != nil {
		return err
	}
	if len(saved.QueryDefinitions) != 1 {
		return fmt.Errorf("there are %d saved queries %s/request", len(saved.QueryDefinitions), a.d.stack)
	}
	query := saved.QueryDefinitions[0]
	return a.retry(ctx, func() error { // the log lines can be found within a minute
		var started struct {
			QueryID string `json:"queryId"`
		}
		now := time.Now()
		err := a.callLogs(ctx, "StartQuery", map[string]any{
			"logGroupNames": query.LogGroupNames, "queryString": strings.ReplaceAll(query.QueryString, infra.QueryPlaceholder, id),
			"startTime": now.Add(-15 * time.Minute).Unix(), "endTime": now.Unix(),
		}, &started)
		if err != nil {
			return err
		}
		var result struct {
			Status  string              `json:"status"`
			Results [][]json.RawMessage `json:"results"`
		}
		for result.Status != "Complete" {
			if err := a.d.pause(ctx, time.Second); err != nil {
				return err
			}
			if err := a.callLogs(ctx, "GetQueryResults", map[string]any{"queryId": started.QueryID}, &result); err != nil {
				return err
			}
			if result.Status == "Failed" || result.Status == "Cancelled" || result.Status == "Timeout" {
				return fmt.Errorf("the query ended as %s", result.Status)
			}
		}
		if len(result.Results) < 2 {
			return fmt.Errorf("the id %s is in %d lines, want that of the gateway and that of the function", id, len(result.Results))
		}
		return nil
	})
}

func (a *acceptance) callLogs(ctx context.Context, action string, in, out any) error {
	return a.account.callJSON(ctx, "logs", "1.1", "Logs_20140328."+action, in, out)
}

// A restore takes minutes in a real account, and hours for a large table.
const (
	restoreAttempts = 720
	restorePause    = 10 * time.Second
)

// checkRestore restores the table to a copy, looks for the company's records in the copy, and
// deletes the copy.
func checkRestore(ctx context.Context, a *acceptance) (err error) {
	// The latest time to which a table can be restored is about five minutes ago.
	if err := a.waitForRestore(ctx, func() (bool, error) {
		var backups struct {
			ContinuousBackupsDescription struct {
				PointInTimeRecoveryDescription struct{ LatestRestorableDateTime float64 }
			}
		}
		err := a.account.callDynamoDB(ctx, "DescribeContinuousBackups", map[string]any{"TableName": a.table}, &backups)
		latest := backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.LatestRestorableDateTime
		return latest > float64(a.companyMade.Unix()), err
	}); err != nil {
		return err
	}
	name := a.table + "-smoke"
	// This call cannot be cancelled: without its response, it is unknown whether there is a copy to
	// delete.
	if err := a.account.callDynamoDB(context.WithoutCancel(ctx), "RestoreTableToPointInTime", map[string]any{
		"SourceTableName": a.table, "TargetTableName": name, "UseLatestRestorableTime": true,
	}, &struct{}{}); err != nil {
		return err
	}
	defer func() {
		if deleteErr := a.account.callDynamoDB(context.WithoutCancel(ctx), "DeleteTable", map[string]any{"TableName": name}, &struct{}{}); deleteErr != nil {
			err = errors.Join(err, fmt.Errorf("the table %[1]s of the checks is still there, and DynamoDB deletes it only when it is ACTIVE: "+
				"aws dynamodb wait table-exists --region %[2]s --table-name %[1]s && aws dynamodb delete-table --region %[2]s --table-name %[1]s: %[3]w",
				name, a.account.config.Region, deleteErr))
		}
	}()
	if err := a.waitForRestore(ctx, func() (bool, error) {
		state, err := a.account.table(ctx, name)
		return state.status == "ACTIVE", err
	}); err != nil {
		return err
	}
	var found struct{ Count int }
	if err := a.account.callDynamoDB(ctx, "Query", map[string]any{
		"TableName": name, "KeyConditionExpression": "pk = :pk", "Select": "COUNT",
		"ExpressionAttributeValues": map[string]any{":pk": map[string]string{"S": table.Partition(a.company, "company")}},
	}, &found); err != nil {
		return err
	}
	if found.Count == 0 {
		return errors.New("the copy does not have the company")
	}
	return nil
}

// waitForRestore calls a function repeatedly until it reports that the restore is done. It gives up
// after two hours.
func (a *acceptance) waitForRestore(ctx context.Context, done func() (bool, error)) error {
	for range restoreAttempts {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := a.d.pause(ctx, restorePause); err != nil {
			return err
		}
	}
	return errors.New("the restore has not ended after two hours")
}
