package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
)

// ledgerBoard is the board of the writes beside the publishes.
const ledgerBoard = "brd_ledger"

// ledgerWriters is how many write at once.
const ledgerWriters = 2

// ledger writes items while processes are killed, and keeps what was acknowledged.
type ledger struct {
	company stand.Company

	mu     sync.Mutex
	serial int
	acked  map[string]string // the title of each item by its id
}

func newLedger(c stand.Company) *ledger { return &ledger{company: c, acked: map[string]string{}} }

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// title returns one that no other write has.
func (l *ledger) title() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	return fmt.Sprintf("Write %d", l.serial)
}

// write lets the writers write until the returned function is called, which waits for their last answers. One whose
// service does not answer stops by itself.
func (l *ledger) write(ctx context.Context, base string) (stop func()) {
	ended := make(chan struct{})
	var wait sync.WaitGroup
	client := stand.NewClient(base, l.company)
	for range ledgerWriters {
		wait.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				title := l.title()
				answer, err := client.Call(ctx, "POST", "plan/boards/"+ledgerBoard+"/items", map[string]any{"title": title})
				if err != nil {
					return // the server is gone
				}
				var made struct{ ID string }
				if answer.Status == 200 && answer.Decode(&made) == nil {
					l.mu.Lock()
					l.acked[made.ID] = title
					l.mu.Unlock()
				}
			}
		})
	}
	return func() { close(ended); wait.Wait() }
}

// verify looks for every acknowledged write.
func (l *ledger) verify(ctx context.Context, s *stand.Stand, report *gate.Report) error {
	records, err := s.Export(ctx, l.company.ID, "item")
	if err != nil {
		return err
	}
	stored := map[string]string{}
	for _, text := range records {
		var i struct{ ID, Title string }
		if err := json.Unmarshal(text, &i); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		stored[i.ID] = i.Title
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, title := range l.acked {
		report.Require(stored[id] == title, "the acknowledged write %q of %s is lost", title, id)
	}
	return nil
}
