// Package crash is the gate of the deaths at every point: the process dies after its k-th call to the table, for all k,
// in a publish and in a create with an Idempotency-Key. What is left is the old state or the new one, never a mix, and
// whoever asks again gets the new one, once.
package crash

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/scripts/prove/faults/board"
	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
)

// Options say how large the boards are, how often each point is tried (calls that run side by side die in another order
// each time), and what is wrong with the service.
type Options struct {
	Sizes  []int
	Rounds int
	Plant  func(http.RoundTripper) http.RoundTripper // nil: nothing
}

// Gates returns the two gates.
func Gates() []gate.Gate {
	return []gate.Gate{
		{Name: "crash-publish", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			o := Options{Sizes: []int{3, 101}, Rounds: 1}
			if s.Long {
				o = Options{Sizes: []int{0, 1, 3, 99, 100, 101, 1000}, Rounds: 3}
			}
			return Publish(ctx, s, o)
		}},
		{Name: "crash-create", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return Create(ctx, s, Options{Rounds: s.Pick(3, 30)})
		}},
	}
}

// large is the size from which on one round must do: its board alone takes seconds to write.
const large = 200

// callsMax is far more than a publish of the largest board takes.
const callsMax = 500

// Publish is the gate of publishes.
func Publish(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	report = &gate.Report{}
	crashes, old, mixed := 0, 0, 0
	for _, size := range o.Sizes {
		rounds := o.Rounds
		if size > large {
			rounds = 1
		}
		for round := range rounds {
			for calls := int64(0); ; calls++ {
				if calls > callsMax {
					return nil, fmt.Errorf("a publish of %d items takes no end of calls", size)
				}
				alive := false
				for _, unheard := range []bool{false, true} {
					outcome, died, err := publishDies(ctx, where, o, size, death{calls, unheard}, report)
					if err != nil {
						return nil, fmt.Errorf("%d items, death after call %d: %w", size, calls, err)
					}
					for _, wrong := range outcome.Wrong {
						report.Violate("%d items, death after call %d: %s", size, calls, wrong)
					}
					if len(outcome.Wrong) > 0 {
						mixed++
					}
					if alive = alive || !died; !died {
						continue
					}
					if crashes++; !outcome.Published {
						old++
					}
				}
				if alive {
					if round == 0 {
						report.Figure("%d items: %d calls", size, calls)
					}
					break
				}
			}
		}
	}
	report.Figure("%d deaths, %d left the old state and %d the new, %d a mix", crashes, old, crashes-old, mixed)
	return report, nil
}

// publishDies publishes a board whose process dies after so many calls, looks at what is left, and publishes again.
// died tells whether there was a call left to die at.
func publishDies(ctx context.Context, where *stand.Stand, o Options, size int, at death, report *gate.Report) (outcome board.Outcome, died bool, err error) {
	b, err := board.New(ctx, where, size)
	if err != nil {
		return outcome, false, err
	}
	if size > 0 { // an empty board has one change only: its first publish
		if err := b.Edit(ctx); err != nil {
			return outcome, false, err
		}
		if err := publish(ctx, where, b, report); err != nil {
			return outcome, false, err
		}
	}
	if err := b.Edit(ctx); err != nil {
		return outcome, false, err
	}
	answer, died, err := dying(ctx, where, b.Company, o, at, http.MethodPost, b.Path(), nil)
	if err != nil {
		return outcome, died, err
	}
	outcome, err = b.Look(ctx, answer.Status == http.StatusOK)
	if err != nil || outcome.Published || len(outcome.Wrong) > 0 {
		return outcome, died, err
	}
	return outcome, died, publish(ctx, where, b, report)
}

// publish publishes with nothing in the way, as whoever got no answer would.
func publish(ctx context.Context, where *stand.Stand, b *board.Board, report *gate.Report) error {
	answer, _, err := dying(ctx, where, b.Company, Options{}, never, http.MethodPost, b.Path(), nil)
	if err != nil {
		return err
	}
	report.Require(answer.Status == http.StatusOK, "a publish after one that died: %d %s", answer.Status, answer.Body)
	if answer.Status != http.StatusOK {
		return nil
	}
	outcome, err := b.Look(ctx, true)
	for _, wrong := range outcome.Wrong {
		report.Violate("a publish after one that died: %s", wrong)
	}
	return err
}

// death is after so many calls to the table, or with the answer to the next one on its way.
type death struct {
	calls   int64
	unheard bool
}

// never is the death of a process that lives.
var never = death{calls: 1 << 30}

// dying makes one request to a process of its own that dies. What such a process
// still answers is a failure and tells nothing, unless it was done before.
func dying(ctx context.Context, where *stand.Stand, c stand.Company, o Options, at death, method, path string, body any, header ...string) (answer stand.Answer, died bool, err error) {
	die := &wire.Die{Next: where.Transport, After: at.calls, Unheard: at.unheard}
	var transport http.RoundTripper = die
	if o.Plant != nil {
		transport = o.Plant(transport)
	}
	base, stop, err := where.Service(transport)
	if err != nil {
		return answer, false, err
	}
	defer stop()
	answer, err = stand.NewClient(base, c).Call(ctx, method, path, body, header...)
	return answer, die.Died(), err
}
