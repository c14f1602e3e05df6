package table

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Deadlines of a store call: the handler has 9 s, so three attempts of one second and their pauses fit (design.md §5). A
// table that refuses for now says so at once, so it can be asked more often in less time: of calls of which a fifth is
// refused, three attempts fail one in 125, eight one in 390,000.
const (
	attemptTimeout = time.Second
	attemptsMax    = 3
	refusalsMax    = 8
	backoffMax     = 200 * time.Millisecond
)

// callLongest is how long a call takes at most that the table refuses to the end.
const callLongest = (refusalsMax - 1) * backoffMax

// backoff is how long to wait after the attempt-th attempt, from 1; the error when there is to be no other. The SDK's
// own has no jitter below a second.
func backoff(attempt int, err error) (time.Duration, error) {
	if attempt >= attemptsMax && !refused(err) {
		return 0, &retry.MaxAttemptsError{Attempt: attempt, Err: err}
	}
	longest := backoffMax >> max(0, attemptsMax-1-attempt)
	return longest/2 + rand.N(longest/2), nil
}

// conflicts recognises a write that met a transaction.
var conflicts = retry.RetryableErrorCode{Codes: map[string]struct{}{
	(*types.TransactionConflictException)(nil).ErrorCode(): {},
}}

// refused tells whether the table has refused a call for now, without looking at it.
func refused(err error) bool {
	return throttles.IsErrorThrottle(err) == aws.TrueTernary || conflicts.IsErrorRetryable(err) == aws.TrueTernary
}

// retryCost is what an attempt after the first takes from the client's budget of 500, and what it gives back when it
// succeeds; each success gives one more. So a table that answers two attempts in five is asked as often as it takes,
// and one that is gone soon only once per call.
const retryCost = 1

// retryer is the SDK's, except that an answer is an answer: a condition that failed says that the table is well, and
// costs the budget nothing.
type retryer struct{ *retry.Standard }

func newRetryer() retryer {
	return retryer{retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts, s.RetryCost = refusalsMax, retryCost
		s.Backoff = retry.BackoffDelayerFunc(backoff)
		s.Retryables = append(s.Retryables, conflicts, retry.IsErrorRetryableFunc(cutOff))
	})}
}

// GetAttemptToken is aws.RetryerV2.
func (r retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := r.Standard.GetAttemptToken(ctx)
	return passing(release), err
}

// GetRetryToken is aws.Retryer.
func (r retryer) GetRetryToken(ctx context.Context, failure error) (func(error) error, error) {
	release, err := r.Standard.GetRetryToken(ctx, failure)
	return passing(release), err
}

// passing takes a failed condition for the success that it is to the network.
func passing(release func(error) error) func(error) error {
	return func(err error) error {
		var failed *types.ConditionalCheckFailedException
		if errors.As(err, &failed) {
			err = nil
		}
		return release(err)
	}
}

// cutOff recognises an answer whose connection broke in its middle. To ask again is right for every call: see writeId.
func cutOff(err error) aws.Ternary {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}
