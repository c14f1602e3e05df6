package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/fault"
)

// This is the retry policy for one call to DynamoDB. The handler has 9 s, which leaves room for
// three attempts of one second each. Throttled attempts return at once, so eight of them fit in the
// same time. If 20 % of attempts are throttled, a call then fails once in 390,000 times instead of
// once in 125.
const (
	attemptTimeout       = time.Second
	attemptsMax          = 3
	throttledAttemptsMax = 8
	backoffMax           = 200 * time.Millisecond
)

// throttledCallMax is the longest time that a call takes if every attempt is throttled.
const throttledCallMax = (throttledAttemptsMax - 1) * backoffMax

// backoff returns the pause after an attempt, counted from 1, or an error if the call must not be
// retried. The SDK's backoff has no jitter below a second.
func backoff(attempt int, err error) (time.Duration, error) {
	if attempt >= attemptsMax && !isThrottledOrConflict(err) {
		return 0, &retry.MaxAttemptsError{Attempt: attempt, Err: err}
	}
	longest := backoffMax >> max(0, attemptsMax-1-attempt)
	return longest/2 + rand.N(longest/2), nil
}

// throttleErrors recognises the error for a throttled call.
var throttleErrors = retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// conflictErrors recognises a write that conflicted with a transaction.
var conflictErrors = retry.RetryableErrorCode{Codes: map[string]struct{}{
	(*types.TransactionConflictException)(nil).ErrorCode(): {},
}}

// isThrottledOrConflict reports whether DynamoDB throttled a call, or rejected it because of a
// running transaction.
func isThrottledOrConflict(err error) bool {
	return throttleErrors.IsErrorThrottle(err) == aws.TrueTernary || conflictErrors.IsErrorRetryable(err) == aws.TrueTernary
}

// wrapCallError returns the error for a failed call. The caller gets fault.ErrUnavailable if the
// call was never sent because too many were in flight, or if DynamoDB refused it temporarily.
// Otherwise the outcome of the call is unknown, and the caller gets fault.ErrInternal.
func wrapCallError(call string, err error) error {
	var response interface{ HTTPStatusCode() int }
	if errors.Is(err, errNoSlot) || isThrottledOrConflict(err) || errors.As(err, &response) && response.HTTPStatusCode() == http.StatusServiceUnavailable {
		return wrapUnavailable(call, err)
	}
	return fmt.Errorf("%s: %w", call, err)
}

// wrapUnavailable returns the error for a call that DynamoDB refused on every attempt.
func wrapUnavailable(call string, err error) error {
	return fmt.Errorf("%s: %w: %w", call, fault.ErrUnavailable, err)
}

// retryCost is what a retry takes from the client's retry budget of 500. A successful retry gives
// it back, and each success adds one more. So calls keep all their retries while two attempts in
// five succeed. In an outage the budget is soon used up, and each call is sent only once.
const retryCost = 1

// retryer is the SDK's standard retryer, but a failed condition costs no budget; see
// releaseAsSuccess.
type retryer struct{ *retry.Standard }

func newRetryer() retryer {
	return retryer{retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts, s.RetryCost = throttledAttemptsMax, retryCost
		s.Backoff = retry.BackoffDelayerFunc(backoff)
		s.Retryables = append(s.Retryables, conflictErrors, retry.IsErrorRetryableFunc(isTruncated))
	})}
}

// GetAttemptToken implements aws.RetryerV2.
func (r retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := r.Standard.GetAttemptToken(ctx)
	return releaseAsSuccess(release), err
}

// GetRetryToken implements aws.Retryer.
func (r retryer) GetRetryToken(ctx context.Context, failure error) (func(error) error, error) {
	release, err := r.Standard.GetRetryToken(ctx, failure)
	return releaseAsSuccess(release), err
}

// releaseAsSuccess counts a failed condition as a success in the retry budget: DynamoDB responded,
// so it is healthy.
func releaseAsSuccess(release func(error) error) func(error) error {
	return func(err error) error {
		var failed *types.ConditionalCheckFailedException
		if errors.As(err, &failed) {
			err = nil
		}
		return release(err)
	}
}

// isTruncated recognises a response that was truncated or corrupted in transit. Every call can be
// repeated safely, because writes carry a write token.
func isTruncated(err error) aws.Ternary {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errCorrupt) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}
