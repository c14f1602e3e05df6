package main

import (
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

	"growthworkspace/functions/company"
	"growthworkspace/shared/engine"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Deadlines of one attempt of a table call. A request waits less long than an operator, who may send megabytes.
const (
	serveTimeout   = 5 * time.Second
	commandTimeout = 30 * time.Second
)

// session is an open table.
type session struct {
	target
	serving *table.Client  // for handlers, whose writes need the permit of a verified key
	table   *table.Client  // the operator's
	engine  *engine.Engine // nil in an account
	region  string
}

// open starts or joins the engine, and makes the table where it is ours to make.
func (a *app) open(ctx context.Context, timeout time.Duration) (*session, error) {
	where, err := a.place.resolve()
	if err != nil {
		return nil, err
	}
	s := &session{target: where}
	o := table.Options{Name: where.table, Timeout: timeout, Now: a.now, NewID: id.NewGenerator(a.now, rand.Reader)}
	if where.local() || !where.account() {
		s.engine, err = engine.Open(ctx, engine.Options{Endpoint: where.endpoint, Data: where.data, Install: true, Log: a.errOut})
		if err != nil {
			return nil, err
		}
		o.Endpoint = s.engine.Endpoint
	}
	if err := s.sign(ctx, &o); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.region, s.serving = o.Region, table.New(o)
	s.table = s.serving.Operator()
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// localRegion and the static credentials are what local engines are called with; they check neither.
const localRegion = "eu-central-1"

// sign says where an account is and with which credentials it is called.
func (s *session) sign(ctx context.Context, o *table.Options) error {
	static := credentials.NewStaticCredentialsProvider("local", "local", "")
	if s.local() {
		o.Region, o.Credentials = localRegion, static
		return nil
	}
	if !s.account() && !hasCredentials() {
		o.Region, o.Credentials = region(), static
		return nil
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("read AWS's configuration: %w", err)
	}
	o.Region, o.Credentials = c.Region, c.Credentials
	if o.Region == "" && !s.account() {
		o.Region = region()
	}
	if o.Region == "" {
		return errors.New("no AWS region: set AWS_REGION, or a region in your AWS profile")
	}
	if o.Endpoint == "" {
		o.Endpoint = s.endpoint
	}
	if o.Endpoint == "" {
		o.Endpoint = aws.ToString(c.BaseEndpoint)
	}
	// It knows the authorities that AWS_CA_BUNDLE names.
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

func region() string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if r := os.Getenv(name); r != "" {
			return r
		}
	}
	return localRegion
}

// prepare makes the table of a local engine; one in an account has to be there.
func (s *session) prepare(ctx context.Context) error {
	if !s.account() {
		return s.table.Create(ctx)
	}
	_, err := company.NewStore(s.table).Get(ctx, "co_0") // nobody's id: the answer tells of the table
	var api smithy.APIError
	switch {
	case err == nil, errors.Is(err, fault.ErrNotFound):
		return nil
	case errors.As(err, &api) && api.ErrorCode() == "ResourceNotFoundException":
		return fmt.Errorf("no table %s in %s: deploy the stack, which makes it, or name another with --table", s.target.table, s.region)
	}
	return fmt.Errorf("table %s in %s does not answer: check AWS's credentials and region: %w", s.target.table, s.region, err)
}

// close ends the engine that this process started. A session may be closed more than once.
func (s *session) close() error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Close()
}

// name names the engine for people.
func (s *session) name() string {
	switch {
	case s.engine == nil:
		return "DynamoDB in " + s.region
	case s.engine.Shared && s.local():
		return s.engine.Name + ", shared with another process"
	}
	return s.engine.Name
}

func (s *session) keys() *keys.Store { return keys.NewStore(s.table, s.table.Clock()) }

// company requires that a company exists.
func (s *session) company(ctx context.Context, companyID string) (company.Company, error) {
	c, err := company.Company{}, error(fault.ErrNotFound)
	if id.Valid(id.Company, companyID) { // whatever else is typed must not become a key of the table
		c, err = company.NewStore(s.table).Get(ctx, companyID)
	}
	if errors.Is(err, fault.ErrNotFound) {
		return c, fmt.Errorf("no company %q in %s: `workspace company list` shows those there are", companyID, s.target)
	}
	return c, err
}

// demoKeyName is the demo key's file in a data folder.
const demoKeyName = "demo-key.json"

// demoFile is where the key of the demo company is kept. A table that is no folder has none in which to put it, so it
// is in the user's own data folder, under a name made from where the table is.
func (s *session) demoFile() (string, error) {
	if s.local() {
		return filepath.Join(s.data, demoKeyName), nil
	}
	dir, err := defaultData()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(s.endpoint + "\n" + s.region + "\n" + s.target.table))
	return filepath.Join(dir, "demo-key-"+hex.EncodeToString(sum[:6])+".json"), nil
}
