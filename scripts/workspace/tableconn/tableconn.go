package tableconn

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
)

// Session is an open table.
type Session struct {
	Target
	Table        *table.Client         // for the operator's commands, whose writes need no permit
	ServingTable *table.Client         // for handlers, whose writes need a permit that only a verified key gives
	Engine       *localdb.Engine       // nil if the table is in an AWS account
	Migrations   []migration.Migration // of all areas
	options      table.Options         // those of ServingTable
	region       string
	listCommand  string // the command line that lists the companies, for error messages

	upgradeCommand string // the command line that upgrades the table, for notes
}

// callsMax is the maximum number of concurrent calls to a local engine, one for each of two
// companies. The engine runs one call at a time, so more calls would only wait there, where they
// could not take turns. If a call timed out there, it would be unknown whether its write was done.
const callsMax = 2

// Open opens the table. For a data folder, it starts an engine or connects to a running one.
// Outside an AWS account, it creates the table if it does not exist. In a data folder, it migrates
// records that an earlier version stored. timeout is the timeout for one attempt at a table
// operation. If share is true, other commands can use the engine that Open starts; otherwise, they
// wait until it stops.
func Open(ctx context.Context, t *terminal.Terminal, flags Flags, timeout time.Duration, share bool) (*Session, error) {
	target, err := flags.Resolve()
	if err != nil {
		return nil, err
	}
	s := &Session{Target: target, Migrations: functions.Migrations(), listCommand: t.Command("company list") + flags.Arguments(), upgradeCommand: t.Command("upgrade") + flags.Arguments()}
	o := table.Options{Name: target.TableName, Timeout: timeout, Now: t.Now, NewID: id.NewGenerator(t.Now, rand.Reader)}
	if !target.IsAWS() {
		s.Engine, err = localdb.Open(ctx, localdb.Options{Endpoint: target.Endpoint, Data: target.Data, Format: dataFormat, Share: share, Install: true, Log: t.Notes()})
		if err != nil {
			return nil, err
		}
		o.Endpoint, o.MaxConcurrentCalls = s.Engine.Endpoint, callsMax
	}
	err = s.configureCredentials(ctx, t, &o)
	if err == nil {
		s.region = o.Region
		s.setClients(o)
		err = s.prepareTable(ctx)
	}
	if err == nil && s.Data != "" {
		err = s.migrateFolder(ctx, t)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Session) setClients(o table.Options) {
	s.options, s.ServingTable = o, table.New(o)
	s.Table = s.ServingTable.AsOperator()
}

// EnableStream switches the table's stream on, if it is off, and returns a reader of the stream. It
// tries to read the stream, because an engine may accept the setting even though it has no streams.
func (s *Session) EnableStream(ctx context.Context) (*stream.Reader, error) {
	if err := s.Table.EnableStream(ctx); err != nil {
		return nil, err
	}
	reader, errReadable := stream.New(s.options), errors.New("the stream can be read")
	_, err := reader.Poll(ctx, func(context.Context, string, []change.StreamRecord) error { return errReadable })
	if errors.Is(err, errReadable) {
		err = nil // not a failure: the next Poll delivers the records again
	}
	return reader, err
}

// MarkNoStream replaces the clients with clients that know that the table has no stream.
func (s *Session) MarkNoStream() {
	o := s.options
	o.NoStream = true
	s.setClients(o)
}

// localRegion is the AWS region for requests to local engines, which check neither the region nor
// the credentials.
const localRegion = "eu-central-1"

// configureCredentials sets the region, the credentials, the HTTP transport and the function that
// returns the operator's name.
func (s *Session) configureCredentials(ctx context.Context, t *terminal.Terminal, o *table.Options) error {
	o.Operator = func(context.Context) string { return localOperator() }
	static := credentials.NewStaticCredentialsProvider("local", "local", "")
	if s.Data != "" {
		o.Region, o.Credentials, o.Transport = localRegion, static, diskTransport{localdb.Transport(s.Engine.Socket), s.Data}
		return nil
	}
	var options []func(*config.LoadOptions) error
	if !s.IsAWS() {
		options = append(options, config.WithDefaultRegion(localRegion))
		if !hasCredentials() {
			options = append(options, config.WithCredentialsProvider(static))
		}
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return fmt.Errorf("read AWS's configuration: %w", err)
	}
	o.Region, o.Credentials = c.Region, c.Credentials
	if s.IsAWS() {
		o.Operator = newOperatorName(c, t).get
	}
	if o.Region == "" {
		return errors.New("no AWS region: set AWS_REGION, or a region in your AWS profile")
	}
	o.Endpoint = cmp.Or(o.Endpoint, s.Endpoint, aws.ToString(c.BaseEndpoint))
	// Keep the transport of the SDK's configuration, because it trusts the certificates in
	// AWS_CA_BUNDLE.
	if client, ok := c.HTTPClient.(*awshttp.BuildableClient); ok {
		transport := client.GetTransport()
		transport.MaxIdleConnsPerHost = 64
		o.Transport = http.RoundTripper(transport)
	}
	return nil
}

func hasCredentials() bool {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// prepareTable creates the table, unless it is in an AWS account. In an account, it returns an
// error if the table does not exist.
func (s *Session) prepareTable(ctx context.Context) error {
	if !s.IsAWS() {
		return s.Table.Create(ctx)
	}
	_, err := company.NewStore(s.Table).Get(ctx, "co_0") // no company has this id, so the error ErrNotFound means that the table exists
	var api smithy.APIError
	switch {
	case err == nil, errors.Is(err, fault.ErrNotFound):
		return nil
	case errors.As(err, &api) && api.ErrorCode() == "ResourceNotFoundException":
		return fmt.Errorf("no table %s in %s: deploy the stack, which creates it, or name another with --table", s.TableName, s.region)
	}
	return fmt.Errorf("cannot read table %s in %s: check the AWS credentials and region: %w", s.TableName, s.region, err)
}

// Context returns a context that is canceled when ctx is done, when stop is called, or when the
// engine stops.
func (s *Session) Context(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = context.WithCancel(ctx)
	if s.Engine != nil {
		go func() {
			select {
			case <-s.Engine.Done():
				stop()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, stop
}

// EngineError returns the reason why the engine has stopped, or nil if it is running. It explains
// why calls to the table fail.
func (s *Session) EngineError() error {
	if s.Engine == nil {
		return nil
	}
	return s.Engine.Err()
}

// Close stops the engine if this process started it. Closing twice is safe.
func (s *Session) Close() error {
	if s.Engine == nil {
		return nil
	}
	return s.Engine.Close()
}

// EngineName returns a name for the engine that also says who can reach it.
func (s *Session) EngineName() string {
	if s.Engine == nil {
		return "DynamoDB in " + s.region
	}
	name := s.Engine.Name
	if access := s.Engine.AccessText(); access != "" {
		name += ", " + access
	}
	if s.Engine.Shared && s.Data != "" {
		name += ", shared with another process"
	}
	return name
}

// Keys returns the store of keys.
func (s *Session) Keys() *keys.Store { return keys.NewStore(s.Table, s.Table.Clock()) }

// Company returns a company. It returns an error that names the id if the company does not exist.
func (s *Session) Company(ctx context.Context, companyID string) (company.Company, error) {
	c, err := company.Company{}, error(fault.ErrNotFound)
	if id.Valid(id.CompanyPrefix, companyID) { // an invalid id must not become part of a table key
		c, err = company.NewStore(s.Table).Get(ctx, companyID)
	}
	if errors.Is(err, fault.ErrNotFound) {
		return c, fmt.Errorf("no company %q in %s: `%s` shows the companies", companyID, s.Target, s.listCommand)
	}
	return c, err
}

// DemoKeyFile returns the path of the demo company's key file. If the table is in a data folder, so
// is the file. If the table is at an endpoint or in an AWS account, the file is in the user's data
// folder, and its name contains a hash of the endpoint, the region and the table.
func (s *Session) DemoKeyFile() (string, error) {
	if s.Data != "" {
		return filepath.Join(s.Data, DemoKeyName), nil
	}
	dir, err := defaultData()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(s.Endpoint + "\n" + s.region + "\n" + s.TableName))
	return filepath.Join(dir, "demo-key-"+hex.EncodeToString(sum[:6])+".json"), nil
}
