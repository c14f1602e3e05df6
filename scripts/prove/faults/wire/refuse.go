package wire

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
)

// Chance is a source of decisions that can be repeated: the same seed, the same decisions, as far as the order in which
// they are asked for is the same. Safe for concurrent use.
type Chance struct {
	mu     sync.Mutex
	random *rand.Rand
}

// NewChance returns the decisions of a seed.
func NewChance(seed uint64) *Chance { return &Chance{random: rand.New(rand.NewPCG(seed, 0))} }

// Of says yes with this probability.
func (c *Chance) Of(p float64) bool { return c.Float() < p }

// Float returns a number from 0 to 1.
func (c *Chance) Float() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.Float64()
}

// Refusals that DynamoDB gives where it is asked too much at once. The engines never give the first two.
const (
	Throttling = "ThrottlingException"
	Throughput = "ProvisionedThroughputExceededException"
	Conflict   = "TransactionConflictException"
)

// Refuse answers the calls that it chooses with a refusal of DynamoDB's, and does not perform them. A transaction's
// refusals come as DynamoDB gives them: canceled, with a reason for each of its writes.
type Refuse struct {
	Next    http.RoundTripper
	Choose  func(call string) (code string, refuse bool)
	refused atomic.Int64
}

// RoundTrip is http.RoundTripper.
func (f *Refuse) RoundTrip(r *http.Request) (*http.Response, error) {
	call := Call(r)
	code, refuse := f.Choose(call)
	if !refuse {
		return f.Next.RoundTrip(r)
	}
	f.refused.Add(1)
	const namespace = "com.amazonaws.dynamodb.v20120810#"
	if call != "TransactWriteItems" || code == Throttling {
		if err := r.Body.Close(); err != nil {
			return nil, errors.Join(errors.New("close a call"), err)
		}
		return answer(http.StatusBadRequest, map[string]any{"__type": namespace + code, "message": "refused by the harness"})
	}
	body, err := decode(r)
	if err != nil {
		return nil, err
	}
	reason := map[string]string{Conflict: "TransactionConflict", Throughput: "ThrottlingError"}[code]
	if reason == "" {
		reason = code
	}
	writes, _ := body["TransactItems"].([]any)
	reasons := make([]map[string]any, len(writes))
	for n := range reasons {
		reasons[n] = map[string]any{"Code": "None"}
	}
	if len(reasons) > 0 {
		reasons[0] = map[string]any{"Code": reason, "Message": "refused by the harness"}
	}
	return answer(http.StatusBadRequest, map[string]any{
		"__type": namespace + "TransactionCanceledException", "message": "refused by the harness", "CancellationReasons": reasons,
	})
}

// Refused returns how many calls were refused.
func (f *Refuse) Refused() int64 { return f.refused.Load() }

// Share refuses a share of the calls, half with throttling of both kinds and half with a conflict of transactions,
// which only writes can meet.
func Share(chance *Chance, share float64) func(call string) (string, bool) {
	return func(call string) (string, bool) {
		if !chance.Of(share) {
			return "", false
		}
		switch kind := chance.Float(); {
		case kind < 0.5 && Writes(call) && call != "BatchWriteItem":
			return Conflict, true
		case kind < 0.75:
			return Throughput, true
		}
		return Throttling, true
	}
}
