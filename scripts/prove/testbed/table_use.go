package testbed

import (
	"context"
	"log/slog"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/table"
)

// TableUse contains the table calls and capacity units of one request, according to its log line.
type TableUse struct{ Calls, ReadUnits, WriteUnits float64 }

// UseRecorder is a slog.Handler that keeps the table use of the last request. It is safe for
// concurrent use.
type UseRecorder struct {
	mu   sync.Mutex
	last TableUse
}

// Last returns the table use of the last request.
func (u *UseRecorder) Last() TableUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

// Handle implements slog.Handler.
func (u *UseRecorder) Handle(_ context.Context, r slog.Record) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "TableCalls":
			u.last.Calls = float64(a.Value.Int64())
		case "ReadUnits":
			u.last.ReadUnits = a.Value.Float64()
		case "WriteUnits":
			u.last.WriteUnits = a.Value.Float64()
		}
		return true
	})
	return nil
}

// Enabled implements slog.Handler.
func (u *UseRecorder) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. It ignores the attributes.
func (u *UseRecorder) WithAttrs([]slog.Attr) slog.Handler { return u }

// WithGroup implements slog.Handler. It ignores the group.
func (u *UseRecorder) WithGroup(string) slog.Handler { return u }

// ItemBytes returns the size of an item as DynamoDB counts it. A number takes about half a byte per
// digit.
func ItemBytes(item table.Item) (bytes int) {
	for name, value := range item {
		bytes += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			bytes += len(v.Value)
		case *types.AttributeValueMemberN:
			bytes += len(v.Value)/2 + 2
		}
	}
	return bytes
}
