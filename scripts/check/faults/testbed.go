package faults

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/functions"
	"growthworkspace/functions/recorder"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// callTimeout is the timeout for one attempt at a call that a check itself makes to the table. It is
// long, so that a check does not fail just because the machine is busy.
const callTimeout = time.Minute

// testbed is an engine, whose data is in memory, with a table.
type testbed struct {
	engine *localdb.Engine
	table  *table.Client // the operator's client, whose writes need no permit
}

// openTestbed starts an engine and creates the table, as the workspace command does.
func openTestbed(ctx context.Context, log io.Writer) (*testbed, error) {
	e, err := localdb.Open(ctx, localdb.Options{Install: true, Prefer: localdb.Dynoxide, Log: log})
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	b := &testbed{e, table.New(tableOptions(e.Endpoint, engineTransport(e.Socket), callTimeout)).AsOperator()}
	err = b.table.Create(ctx)
	if err == nil {
		_, err = migration.CompleteEmpty(ctx, b.table, functions.Migrations())
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return b, nil
}

// engineTransport returns a transport to the engine with the given socket, or to any host if socket
// is empty. It keeps enough connections open for the clients of a check.
func engineTransport(socket string) *http.Transport {
	transport := localdb.Transport(socket)
	transport.MaxIdleConnsPerHost = 128
	return transport
}

// tableOptions describe the table of a testbed. timeout is the timeout for one attempt at a call.
func tableOptions(endpoint string, transport http.RoundTripper, timeout time.Duration) table.Options {
	return table.Options{
		Name: "check", Region: "us-east-1", Endpoint: endpoint, Transport: transport, Timeout: timeout,
		Credentials: credentials.NewStaticCredentialsProvider("check", "check", ""),
		Now:         time.Now, NewID: id.NewGenerator(time.Now, rand.Reader),
	}
}

// streamReader delivers the records of a stream, as stream.Reader does.
type streamReader interface {
	Poll(ctx context.Context, consume stream.Consume) (delivered int, err error)
}

// recordChanges records the changes of a table until ctx is done, as `workspace serve` does. It
// reads the stream from its beginning. onError is called for each failed attempt.
func recordChanges(ctx context.Context, t *table.Client, from streamReader, onError func(error)) {
	const pause = 20 * time.Millisecond // when the stream has no more records
	r := recorder.New(t, func(_ context.Context, p recorder.ParkedRecord) error {
		return fmt.Errorf("the record %s of %s cannot be read: %s", p.SequenceNumber, p.SK, p.Reason)
	})
	for ctx.Err() == nil {
		delivered, err := from.Poll(ctx, r.Record)
		if err != nil && ctx.Err() == nil {
			onError(err)
		}
		if delivered > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// unlimitedQuota is a quota that no check can use up.
const unlimitedQuota auth.Quota = 1_000_000_000

// company is a company, with a key that has every scope.
type company struct{ id, keyID, key string }

// newCompany creates a company with a key. The key has the given quota for every class of
// operation.
func (bed *testbed) newCompany(ctx context.Context, quota auth.Quota) (company, error) {
	return bed.newKey(ctx, bed.table.NewID(id.CompanyPrefix), quota)
}

// newKey creates another key for a company. Each concurrent client should have its own key, because
// every request writes the record of its key.
func (bed *testbed) newKey(ctx context.Context, companyID string, quota auth.Quota) (company, error) {
	store := keys.NewStore(bed.table, time.Now)
	issued, secret, err := store.Issue(ctx, companyID, keys.Grant{Name: "check", Scopes: auth.Scopes(), APIVersion: fault.Version}, rand.Reader)
	if err != nil {
		return company{}, err
	}
	for _, class := range auth.Classes() {
		if _, err := store.SetQuota(ctx, companyID, issued.ID, class, quota); err != nil {
			return company{}, fmt.Errorf("set a quota: %w", err)
		}
	}
	return company{companyID, issued.ID, secret}, nil
}

func (bed *testbed) transferType(kind string) transfer.Type {
	types := functions.Transfers(bed.table)
	return types[slices.IndexFunc(types, func(t transfer.Type) bool { return t.Name == kind })]
}

// importRecords imports records of a type, as `workspace import` does.
func (bed *testbed) importRecords(ctx context.Context, companyID, kind string, records ...any) error {
	const batchMax = 200 // as in `workspace import`
	t := bed.transferType(kind)
	for batch := range slices.Chunk(records, batchMax) {
		checked := make([]any, len(batch))
		for n, record := range batch {
			text, err := json.Marshal(record)
			if err != nil {
				return fmt.Errorf("encode a %s: %w", kind, err)
			}
			var problems []string
			if checked[n], problems = t.Check(text); len(problems) > 0 {
				return fmt.Errorf("a %s is invalid: %s", kind, strings.Join(problems, "; "))
			}
		}
		if err := t.Write(ctx, companyID, checked); err != nil {
			return fmt.Errorf("write records of the type %s: %w", kind, err)
		}
	}
	return nil
}

// export returns a company's records of a type, as `workspace export` does.
func export[T any](ctx context.Context, b *testbed, companyID, kind string) (records []T, err error) {
	err = b.transferType(kind).Export(ctx, companyID, func(exported any) error {
		text, err := json.Marshal(exported)
		if err != nil {
			return err
		}
		var record T
		err = json.Unmarshal(text, &record)
		records = append(records, record)
		return err
	})
	return records, err
}
