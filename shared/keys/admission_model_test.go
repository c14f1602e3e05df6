package keys

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// modelTable simulates a table that contains the record of one key. Each call waits twice: before
// it takes effect, and before its response arrives. That lets a test choose the order in which the
// calls of many callers begin, take effect and return. The other tests of this package show that a
// real engine evaluates the condition of an admission as apply does.
type modelTable struct {
	wait func()
	now  func() time.Time

	mu       sync.Mutex
	ids      int
	item     table.Item
	writes   int
	admitted []time.Time // begin times of the writes that took effect
}

const modelTATAttribute = "tatRead"

func newModel(t *testing.T, quota auth.Quota, tat int64) (*modelTable, auth.Token) {
	t.Helper()
	ids := id.NewGenerator(time.Now, rand.Reader)
	secret, err := auth.Mint(ids(id.CompanyPrefix), ids(id.KeyPrefix), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	m := &modelTable{item: table.Item{"hash": table.String(hex.EncodeToString(token.Hash[:])), "quotaRead": table.Number(int64(quota))}}
	if tat != 0 {
		m.item[modelTATAttribute] = table.Number(tat)
	}
	return m, token
}

func (m *modelTable) NewID(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids++
	return prefix + "_" + strconv.Itoa(m.ids)
}

func (m *modelTable) GetItem(context.Context, *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	m.wait()
	m.mu.Lock()
	item := maps.Clone(m.item)
	m.mu.Unlock()
	m.wait()
	return &dynamodb.GetItemOutput{Item: item}, nil
}

func (m *modelTable) UpdateKey(_ context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	beganAt := m.now()
	m.wait()
	item, applied := m.apply(in.ExpressionAttributeValues, beganAt)
	m.wait()
	if !applied {
		return nil, &types.ConditionalCheckFailedException{Item: item}
	}
	return &dynamodb.UpdateItemOutput{Attributes: item}, nil
}

// apply performs the write of a charge if the write's condition holds. It returns the resulting
// record.
func (m *modelTable) apply(v table.Item, beganAt time.Time) (item table.Item, applied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	tat, above := numberOf(m.item[modelTATAttribute]), int64(-1)
	if v[":above"] != nil {
		above = numberOf(v[":above"])
	}
	if m.item["quotaRead"].(*types.AttributeValueMemberN).Value != v[":quota"].(*types.AttributeValueMemberN).Value || tat <= above || tat > numberOf(v[":upTo"]) {
		return maps.Clone(m.item), false
	}
	if v[":tat"] != nil {
		m.item[modelTATAttribute] = v[":tat"]
	} else {
		m.item[modelTATAttribute] = table.Number(tat + numberOf(v[":step"]))
	}
	m.item["admission"] = v[":mark"]
	m.admitted = append(m.admitted, beganAt)
	return maps.Clone(m.item), true
}

// numberOf returns the value of a number attribute, or 0 if it is absent.
func numberOf(a types.AttributeValue) int64 {
	n, ok := a.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		panic(err)
	}
	return i
}

// quotaExcess finds the time window in which the admitted requests exceed the quota by the most,
// and returns that excess. In a window, the quota allows the size of the bucket plus one request
// per interval. The result is zero or less for a correct bucket.
func (m *modelTable) quotaExcess(quota auth.Quota) int64 {
	slices.SortFunc(m.admitted, time.Time.Compare)
	if len(m.admitted) == 0 {
		return 0
	}
	interval, minSlack, maxExcess := int64(quota.Interval()), int64(0), int64(-1<<62)
	for n, at := range m.admitted {
		slack := int64(n)*interval - at.Sub(m.admitted[0]).Nanoseconds() // slack(n) - slack(k) is how far the window from request k to request n exceeds the refill
		if n == 0 || slack < minSlack {
			minSlack = slack
		}
		maxExcess = max(maxExcess, slack-minSlack)
	}
	return maxExcess/interval + 1 - int64(quota)
}

// admitFunc is Store.Admit, or a faulty version of it that a test plants.
type admitFunc func(s *Store, token auth.Token) error

func admitRead(s *Store, token auth.Token) error {
	_, err := s.Admit(context.Background(), token, nil, auth.ClassRead)
	return err
}

func (m *modelTable) newProcess() *Store {
	s := NewStore(nil, m.now)
	s.records = m
	return s
}

// loadTest describes a number of callers that keep making requests for a while, in several
// processes.
type loadTest struct {
	quota      auth.Quota
	callers    int
	latency    time.Duration // the average duration of a call to the table
	startsFull bool          // whether the bucket is full at the start; otherwise it is empty
	pauseMean  time.Duration // the average pause of a caller after each request
	duration   time.Duration
	seed       uint64
}

func (l loadTest) String() string {
	return fmt.Sprintf("%d a minute, %d callers, calls of %s, pauses of %s, full %v, seed %d", l.quota, l.callers, l.latency, l.pauseMean, l.startsFull, l.seed)
}

// loadResult is the outcome of the calls of a loadTest.
type loadResult struct {
	allowed, admitted, excess int64
	writeCount                int
	errs                      []error // other than refusals
}

// run runs the callers in virtual time. They share three processes, and their calls take random
// times.
func (l loadTest) run(t *testing.T, admit admitFunc) (r loadResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		tat := int64(0)
		if !l.startsFull {
			charge, _ := l.quota.Charge(begin.UnixNano()+1, begin) // a charge for a bucket in use
			tat = charge.MaxTAT + charge.Step
		}
		m, token := newModel(t, l.quota, tat)
		random, mu := mathrand.New(mathrand.NewPCG(l.seed, 1)), sync.Mutex{}
		m.now = time.Now
		m.wait = func() {
			mu.Lock()
			d := time.Duration(random.Int64N(int64(l.latency))) // half the latency on average, and each call waits twice
			mu.Unlock()
			time.Sleep(d)
		}
		pause := func() {
			mu.Lock()
			d := time.Duration(random.Int64N(2*int64(l.pauseMean) + 1))
			mu.Unlock()
			time.Sleep(d)
		}
		processes := []*Store{m.newProcess(), m.newProcess(), m.newProcess()}
		var wait sync.WaitGroup
		for n := range l.callers {
			wait.Go(func() {
				for time.Since(begin) < l.duration {
					err := admit(processes[n%len(processes)], token)
					if err != nil && fault.PublicError(err).Code != fault.RateLimited {
						mu.Lock()
						r.errs = append(r.errs, err)
						mu.Unlock()
						return
					}
					pause()
				}
			})
		}
		wait.Wait()
		r.allowed = int64(l.duration / l.quota.Interval())
		if l.startsFull {
			r.allowed += int64(l.quota)
		}
		r.admitted, r.excess, r.writeCount = int64(len(m.admitted)), m.quotaExcess(l.quota), m.writes
	})
	return r
}

// Ensure callers that never pause get at least 98 % of what the quota allows, and never more. Their
// only errors must be refusals. This must hold at any quota and latency.
func TestEveryQuotaIsLive(t *testing.T) {
	t.Parallel()
	requests := 4000
	if testing.Short() {
		requests = 400
	}
	for _, quota := range []auth.Quota{60, 600, 601, 1200, 6000, 20_000, 60_000} {
		for _, latency := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			for _, callers := range []int{64, 192} {
				duration := time.Duration(requests) * latency / time.Duration(callers)
				c := loadTest{quota, callers, latency, int64(duration/quota.Interval()) < 100, 0, duration, 1}
				r := c.run(t, admitRead)
				possible := min(r.allowed, int64(callers)*int64(c.duration/(2*latency)))
				if float64(r.admitted+1) < 0.98*float64(possible) || len(r.errs) > 0 || r.excess > 0 {
					t.Errorf("%s: %d of %d admitted by %d writes, %d over, %d errors such as %v", c, r.admitted, possible, r.writeCount, r.excess, len(r.errs), errors.Join(r.errs...))
				}
			}
		}
	}
}

// Ensure callers whose combined rate is about the refill rate are refused only if the bucket is
// empty. At this rate, the bucket keeps switching between full and in use while calls are in
// flight.
func TestCallersAtThePaceOfTheRefill(t *testing.T) {
	t.Parallel()
	requests := 5000
	if testing.Short() {
		requests = 1000
	}
	for _, quota := range []auth.Quota{60, 600, 601, 6000, 60_000} {
		for _, latency := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			c := loadAtRefillRate(quota, latency, requests)
			if r := c.run(t, admitRead); len(r.errs) > 0 || r.excess > 0 || quota > 600 && r.writeCount > int(r.admitted)*11/10+128 { // 128 allows for each caller's first writes
				t.Errorf("%s: %d admitted by %d writes, %d over, %d errors such as %v", c, r.admitted, r.writeCount, r.excess, len(r.errs), errors.Join(r.errs...))
			}
		}
	}
}

// loadAtRefillRate returns a loadTest whose callers together call as fast as the bucket refills,
// starting with a full bucket.
func loadAtRefillRate(quota auth.Quota, latency time.Duration, requests int) loadTest {
	callers := 64
	pause := time.Duration(callers)*quota.Interval() - latency
	return loadTest{quota, callers, latency, true, max(0, pause), time.Duration(requests) * quota.Interval(), 1}
}

// Ensure the simulation finds the faults that it is meant to find. Without a lag, callers whose
// combined rate is the refill rate guess wrongly whether the bucket is full, until they give up.
// Callers that repeat a charge of an empty bucket race for each token. A write without an upper
// limit admits too much.
func TestLoadFindsInjectedBugs(t *testing.T) {
	t.Parallel()
	hasErrors := func(r loadResult) bool { return len(r.errs) > 0 }
	for name, test := range map[string]struct {
		loadTest
		admit admitFunc
		found func(r loadResult) bool
	}{
		"no lag":      {loadAtRefillRate(60_000, 10*time.Millisecond, 1000), func(s *Store, token auth.Token) error { return naiveAdmit(s, token, true) }, hasErrors},
		"no refusals": {loadTest{6000, 64, 5 * time.Millisecond, false, 0, 500 * time.Millisecond, 1}, func(s *Store, token auth.Token) error { return naiveAdmit(s, token, false) }, hasErrors},
		"no limit": {loadTest{600, 64, 5 * time.Millisecond, false, 0, 100 * time.Millisecond, 1}, func(s *Store, token auth.Token) error {
			return naiveAdmit(&Store{records: ignoreUpperLimitTable{s.records.(*modelTable)}, now: s.now, cache: bucketCache{buckets: map[bucketKey]cachedBucket{}}}, token, false)
		}, func(r loadResult) bool { return r.excess > 0 }},
	} {
		if r := test.run(t, test.admit); !test.found(r) {
			t.Errorf("%s: not found: %d of %d admitted, %d over, %d errors", name, r.admitted, r.allowed, r.excess, len(r.errs))
		}
	}
}

// ignoreUpperLimitTable is a table that ignores the upper limit in the condition of a charge.
type ignoreUpperLimitTable struct{ *modelTable }

func (u ignoreUpperLimitTable) UpdateKey(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if in.ExpressionAttributeValues[":above"] != nil {
		in.ExpressionAttributeValues[":upTo"] = table.Number(1 << 62)
	}
	return u.modelTable.UpdateKey(ctx, in)
}

// naiveAdmit admits requests as Store.Admit did before buckets had a lag: a bucket is full once its
// theoretical arrival time has passed, and a wrong guess is retried. If refuse is false, naiveAdmit
// also retries a charge that found an empty bucket.
func naiveAdmit(s *Store, token auth.Token, refuse bool) error {
	bucketID := bucketKey{token.Hash, auth.ClassRead}
	known := s.cache.get(bucketID)
	for range attemptsMax {
		now := s.now().UnixNano()
		interval := int64(known.quota.Interval())
		latest := now + int64(known.quota-1)*interval
		if refuse && known.tat > latest {
			if _, err := s.read(context.Background(), token); err != nil {
				return err
			}
		}
		values := table.Item{":quota": table.Number(int64(known.quota)), ":mark": table.String("a")}
		if known.tat <= now {
			values[":upTo"], values[":tat"] = table.Number(now), table.Number(now+interval)
		} else {
			values[":above"], values[":upTo"], values[":step"] = table.Number(now), table.Number(latest), table.Number(interval)
		}
		out, err := s.records.UpdateKey(context.Background(), &dynamodb.UpdateItemInput{ExpressionAttributeValues: values})
		var failed *types.ConditionalCheckFailedException
		if err == nil {
			known.tat = numberOf(out.Attributes[modelTATAttribute])
			s.cache.setIfNewer(bucketID, known)
			return nil
		}
		if !errors.As(err, &failed) {
			return err
		}
		known.quota, known.tat = auth.Quota(numberOf(failed.Item["quotaRead"])), numberOf(failed.Item[modelTATAttribute])
		s.cache.setIfNewer(bucketID, known)
		if refuse && known.tat > latest {
			return auth.NewQuotaExceededError(auth.ClassRead)
		}
	}
	return errors.New("the bucket moved at every attempt")
}

// stepScheduler runs callers one step at a time. In each step it either lets one waiting call
// proceed or advances the clock.
type stepScheduler struct {
	mu      sync.Mutex
	waiting []chan struct{} // in the order in which they began to wait
	now     time.Time
}

func (s *stepScheduler) wait() {
	c := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	<-c
}

func (s *stepScheduler) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// contentionCase is a bucket that a few callers in two processes use concurrently. The clock moves
// forward once, by clockStep, at any moment.
type contentionCase struct {
	name            string
	quota           auth.Quota
	tatAhead        time.Duration // how far the bucket's theoretical arrival time is ahead of the clock; -time.Hour makes the bucket full
	clockStep       time.Duration // if zero, the clock does not move
	admissionBounds func(callers int) (least, most int)
}

func exactCount(n int) func(int) (int, int) { return func(int) (int, int) { return n, n } }

func allCallers(callers int) (int, int) { return callers, callers }

var contentionCases = []contentionCase{
	{"full", 600, -time.Hour, 0, allCallers},
	{"full of two", 2, -time.Hour, 0, exactCount(2)},
	{"full of one", 1, -time.Hour, 0, exactCount(1)},
	{"becomes full", 600, 1, time.Second, allCallers},
	{"one left, then two", 2, 30 * time.Second, 30 * time.Second, func(int) (int, int) { return 1, 2 }},
	{"empty, then one", 2, 60 * time.Second, 30 * time.Second, func(int) (int, int) { return 0, 1 }},
	{"full, with a lag", 1200, -time.Hour, 0, allCallers},
	{"becomes full, with a lag", 1200, 0, time.Second, allCallers},
	{"one left, with a lag", 1200, 60*time.Second - 300*time.Millisecond, 0, exactCount(1)},
	{"corrupt", 600, 24 * time.Hour, 0, exactCount(1)},
	{"another quota", 120, -time.Hour, 0, allCallers},
}

// run lets each caller call once. choose decides the order: given the number of options for the
// next step, it returns the index of one of them.
func (c contentionCase) run(t *testing.T, callers int, choose func(n int) int) {
	t.Helper()
	e := &stepScheduler{now: time.Unix(1_786_440_600, 0)}
	m, token := newModel(t, c.quota, e.now.Add(c.tatAhead).UnixNano())
	m.now, m.wait = e.clock, e.wait
	processes, done := []*Store{m.newProcess(), m.newProcess()}, make(chan error, callers)
	for n := range callers {
		go func() { done <- admitRead(processes[n%2], token) }()
		synctest.Wait()
	}
	for step := c.clockStep; len(e.waiting) > 0; synctest.Wait() {
		options := len(e.waiting)
		if step > 0 {
			options++
		}
		if n := choose(options); n < len(e.waiting) {
			next := e.waiting[n]
			e.waiting = slices.Delete(e.waiting, n, n+1)
			close(next)
		} else {
			e.now, step = e.now.Add(step), 0
		}
	}
	for range callers {
		if err := <-done; err != nil && fault.PublicError(err).Code != fault.RateLimited {
			t.Errorf("error %v, want none or that the quota is used up", err)
		}
	}
	least, most := c.admissionBounds(callers)
	if n := len(m.admitted); n < min(least, callers) || n > most || m.quotaExcess(c.quota) > 0 {
		t.Errorf("%d of %d admitted, want %d to %d; %d over", n, callers, least, most, m.quotaExcess(c.quota))
	}
}

// Ensure callers are admitted while the bucket has room, and none beyond that. The test covers
// every order in which the calls of two callers can begin, take effect and return, and many random
// orders of six.
func TestEveryCallOrder(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for _, b := range contentionCases {
		synctest.Test(t, func(t *testing.T) {
			var path, options []int
			for orders := 1; !t.Failed(); orders++ {
				depth := 0
				b.run(t, 2, func(n int) int {
					if depth == len(path) {
						path, options = append(path, 0), append(options, n)
					}
					depth++
					return path[depth-1]
				})
				if t.Failed() {
					t.Fatalf("%s: in the order %v", b.name, path)
				}
				for len(path) > 0 && path[len(path)-1] == options[len(path)-1]-1 { // continue with the next order
					path, options = path[:len(path)-1], options[:len(path)-1]
				}
				if len(path) == 0 {
					if orders < 6 { // two calls can take effect and return in 6 different orders
						t.Errorf("%s: only %d orders", b.name, orders)
					}
					break
				}
				path[len(path)-1]++
			}
			for seed := range seeds {
				random := mathrand.New(mathrand.NewPCG(seed, 2))
				if b.run(t, 6, random.IntN); t.Failed() {
					t.Fatalf("%s: with the seed %d", b.name, seed)
				}
			}
		})
	}
}
