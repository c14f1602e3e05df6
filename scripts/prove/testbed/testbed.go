// Package testbed provides what the proofs need to run: a local engine with a table, companies with
// keys, any number of records copied from the demo company, and a build of the workspace program.
package testbed

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
	"growthworkspace/shared/migration"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/engine"
	"growthworkspace/shared/transfer"
)

// Region and TableName are the region and name of a testbed's table.
const (
	Region    = "us-east-1"
	TableName = "prove"
)

// Credentials are AWS credentials that every local engine accepts.
var Credentials = credentials.NewStaticCredentialsProvider("prove", "prove", "")

// attemptTimeout is the timeout for one attempt at a call that a proof itself makes to the table.
// It is long, so that a proof does not fail just because the machine is busy.
const attemptTimeout = time.Minute

// Options describe the engine of a testbed.
type Options struct {
	Data   string // the data folder; if empty, the data is in memory
	Prefer string // the name of the engine to use; if empty, any engine
	Log    io.Writer
}

// Testbed is an engine with a table.
type Testbed struct {
	Engine       *engine.Engine
	Table        *table.Client // the operator's client, whose writes need no permit
	ServingTable *table.Client // the handlers' client, whose writes wait for a permit that only a verified key gives

	options Options
}

// Open starts an engine and creates the table. It marks the migrations of the new table as
// complete, as the workspace command does when it opens a new table.
func Open(ctx context.Context, o Options) (*Testbed, error) {
	t := &Testbed{options: o}
	if err := t.Restart(ctx); err != nil {
		return nil, err
	}
	t.ServingTable = Client(t.Engine.Endpoint, Transport(t.Engine.Socket), attemptTimeout, time.Now)
	t.Table = t.ServingTable.AsOperator()
	err := t.Table.Create(ctx)
	if err == nil {
		_, err = migration.CompleteEmpty(ctx, t.Table, functions.Migrations())
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Restart starts a new engine with the testbed's data folder. The earlier engine must have been
// closed.
func (t *Testbed) Restart(ctx context.Context) (err error) {
	t.Engine, err = engine.Open(ctx, engine.Options{Data: t.options.Data, Share: true, Install: true, Prefer: t.options.Prefer, Log: t.options.Log})
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	return nil
}

// Close stops the engine.
func (t *Testbed) Close() error { return t.Engine.Close() }

// Transport returns a transport to the engine with the given socket. It keeps enough connections
// open for the clients of a proof.
func Transport(socket string) *http.Transport {
	transport := engine.Transport(socket)
	transport.MaxIdleConnsPerHost = 128
	return transport
}

// Client returns a client of a testbed's table. timeout is the timeout for one attempt at a call.
func Client(endpoint string, transport http.RoundTripper, timeout time.Duration, now func() time.Time) *table.Client {
	return table.New(tableOptions(endpoint, transport, timeout, now))
}

func tableOptions(endpoint string, transport http.RoundTripper, timeout time.Duration, now func() time.Time) table.Options {
	return table.Options{
		Name: TableName, Region: Region, Endpoint: endpoint, Transport: transport, Timeout: timeout, Credentials: Credentials,
		Now: now, NewID: id.NewGenerator(now, rand.Reader),
	}
}

// Stream returns a reader of the stream of a testbed's table. The table has a stream only after a
// call of table.Client.EnableStream.
func Stream(endpoint string, transport http.RoundTripper) *stream.Reader {
	return stream.New(tableOptions(endpoint, transport, attemptTimeout, time.Now))
}

// StreamReader delivers the records of a stream, as stream.Reader does.
type StreamReader interface {
	Poll(ctx context.Context, consume stream.Consume) (delivered int, err error)
}

// RecordChanges records the changes of a testbed's table until ctx is done, as `workspace serve`
// does. It reads the stream from its beginning. onError is called for each failed attempt.
func RecordChanges(ctx context.Context, t *table.Client, from StreamReader, onError func(error)) {
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
		case <-time.After(streamPause):
		}
	}
}

// streamPause is how long RecordChanges waits when the stream has no more records.
const streamPause = 20 * time.Millisecond

// UnlimitedQuota is a quota that no proof can use up.
const UnlimitedQuota auth.Quota = 1_000_000_000

// Company is a company, with a key that has every scope.
type Company struct {
	ID    string
	KeyID string
	Key   string
}

// NewCompany creates a company with a key. The key has the given quota for every class of
// operation.
func (t *Testbed) NewCompany(ctx context.Context, quota auth.Quota) (Company, error) {
	return t.NewKey(ctx, t.Table.NewID(id.CompanyPrefix), quota)
}

// NewKey creates another key for a company. A quota of zero means the default quotas. Each
// concurrent client should have its own key, because every request writes the record of its key.
func (t *Testbed) NewKey(ctx context.Context, companyID string, quota auth.Quota) (Company, error) {
	store := keys.NewStore(t.Table, time.Now)
	issued, secret, err := store.Issue(ctx, companyID, keys.Grant{Name: "prove", Scopes: auth.Scopes(), APIVersion: fault.Version}, rand.Reader)
	if err != nil {
		return Company{}, err
	}
	for _, class := range auth.Classes() {
		if quota == 0 {
			break
		}
		if _, err := store.SetQuota(ctx, companyID, issued.ID, class, quota); err != nil {
			return Company{}, fmt.Errorf("set a quota: %w", err)
		}
	}
	return Company{companyID, issued.ID, secret}, nil
}

func (t *Testbed) transferType(kind string) (transfer.Type, error) {
	types := functions.Transfers(t.Table)
	n := slices.IndexFunc(types, func(typ transfer.Type) bool { return typ.Name == kind })
	if n < 0 {
		return transfer.Type{}, fmt.Errorf("no type of record %q", kind)
	}
	return types[n], nil
}

// batchMax is the maximum number of records in a batch, the same as in `workspace import`.
const batchMax = 200

// Import imports records of a type, as `workspace import` does.
func (t *Testbed) Import(ctx context.Context, companyID, kind string, records ...any) error {
	recordType, err := t.transferType(kind)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(records, batchMax) {
		checked := make([]any, len(batch))
		for n, record := range batch {
			text, err := json.Marshal(record)
			if err != nil {
				return fmt.Errorf("encode a %s: %w", kind, err)
			}
			var problems []string
			if checked[n], problems = recordType.Check(text); len(problems) > 0 {
				return fmt.Errorf("a %s is invalid: %s", kind, strings.Join(problems, "; "))
			}
		}
		if err := recordType.Write(ctx, companyID, checked); err != nil {
			return fmt.Errorf("write records of the type %s: %w", kind, err)
		}
	}
	return nil
}

// Export returns a company's records of a type, as `workspace export` does.
func Export[T any](ctx context.Context, t *Testbed, companyID, kind string) (records []T, err error) {
	recordType, err := t.transferType(kind)
	if err != nil {
		return nil, err
	}
	err = recordType.Export(ctx, companyID, func(exported any) error {
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
