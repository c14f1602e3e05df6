package table_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// TestMain runs more tests at a time than there are processors, because many of them wait for the
// pause before a retry. The flag -parallel has no effect on this package.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// faultProxy is a transport that counts calls by operation, such as PutItem. respond may replace
// the response of the engine, or lose it.
type faultProxy struct {
	// respond gets the operation's name and a function that passes the call on to the engine. If
	// respond is nil, every call is passed on.
	respond func(call string, pass func() (*http.Response, error), r *http.Request) (*http.Response, error)

	mu    sync.Mutex
	calls []string
}

func (p *faultProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	p.mu.Lock()
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	pass := func() (*http.Response, error) { return apitest.Transport.RoundTrip(r) }
	if p.respond == nil {
		return pass()
	}
	return p.respond(call, pass, r)
}

// count returns the number of calls of the named operation, or of all calls if the name is empty.
func (p *faultProxy) count(call string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if call == "" || c == call {
			n++
		}
	}
	return n
}

// responseLosingProxy returns a proxy that passes on every call, but loses the responses to the
// first n calls of the named operation.
func responseLosingProxy(name string, n int) *faultProxy { return responseLosingProxyFrom(name, 1, n) }

// responseLosingProxyFrom is like responseLosingProxy, but the n responses that it loses begin with
// that of the call numbered `first`, counted from 1.
func responseLosingProxyFrom(name string, first, n int) *faultProxy {
	var mu sync.Mutex
	calls := 0
	return &faultProxy{respond: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		mu.Lock()
		if call == name {
			calls++
		}
		lose := call == name && calls >= first && calls < first+n
		mu.Unlock()
		out, err := pass()
		if lose && err == nil {
			_, err = io.Copy(io.Discard, out.Body)
			return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
		}
		return out, err
	}}
}

// callRejectingProxy returns a proxy that responds to the first n calls of the named operation with
// an error of this code. An empty name means every operation.
func callRejectingProxy(name, code string, status, n int) *faultProxy {
	var mu sync.Mutex
	return &faultProxy{respond: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		mu.Lock()
		refuse := (name == "" || call == name) && n > 0
		if refuse {
			n--
		}
		mu.Unlock()
		if refuse {
			return jsonResponse(status, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "made up"}), nil
		}
		return pass()
	}}
}

func jsonResponse(status int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// newTestClient returns a client of the real engine, with a clock that stands still.
func newTestClient(t *testing.T, transport http.RoundTripper) (*table.Client, *apitest.Clock) {
	t.Helper()
	s := apitest.NewWithTransport(t, noOperations, transport)
	return s.Table, s.Clock
}

// options returns the options for a client of the real engine. The client is not an operator's
// client.
func options(t *testing.T, transport http.RoundTripper) table.Options {
	t.Helper()
	return apitest.Options(t, time.Now, transport)
}

func updateOf(n note) *dynamodb.UpdateItemInput {
	key := noteKey(n.Company, n.ID)
	return &dynamodb.UpdateItemInput{
		Key:              table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)},
		UpdateExpression: aws.String("SET x = :x"), ExpressionAttributeValues: table.Item{":x": table.Number(1)},
	}
}

// newOfflineClient returns a client without an engine, with the timeouts of a Lambda function.
func newOfflineClient(transport http.RoundTripper) *table.Client {
	n := 0
	return table.New(table.Options{
		Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: transport, Now: time.Now,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		NewID:       func(prefix string) string { n++; return prefix + "_" + strings.Repeat("0", n) },
	}).AsOperator()
}

// note is the record type of these tests. It has a field of every type that areas use, and its
// indexes are sorted by the field n.
type note struct {
	ID        string          `json:"id"`
	Company   string          `json:"companyId"`
	Status    noteStatus      `json:"status"`
	Text      *string         `json:"text"`
	N         *float64        `json:"n"`
	Count     int64           `json:"count"`
	Done      *bool           `json:"done"`
	Tags      []string        `json:"tags"`
	Any       json.RawMessage `json:"any"`
	Bytes     []byte          `json:"bytes"`
	UpdatedAt *string         `json:"updatedAt"`
}

// listedNote is a note without the field Bytes, which ListJSON does not support.
type listedNote struct {
	ID        string          `json:"id"`
	Company   string          `json:"companyId"`
	Status    noteStatus      `json:"status"`
	Text      *string         `json:"text"`
	N         *float64        `json:"n"`
	Count     int64           `json:"count"`
	Done      *bool           `json:"done"`
	Tags      []string        `json:"tags"`
	Any       json.RawMessage `json:"any"`
	UpdatedAt *string         `json:"updatedAt"`
}

type noteStatus string

func noteKey(company, id string) table.Key {
	return table.Key{PK: table.Partition(company, "notes"), SK: table.JoinKey("note", id)}
}

func noteSortKey(n note) string { return table.JoinKey(table.NumberKey(n.N), n.ID) }

func keysOf(n note) table.Keys {
	k := table.Keys{Key: noteKey(n.Company, n.ID)}
	k.GSI1 = table.Key{PK: table.Partition(n.Company, "notes", "all"), SK: noteSortKey(n)}
	if n.Status != "" {
		k.GSI2 = table.Key{PK: table.Partition(n.Company, "notes", string(n.Status)), SK: noteSortKey(n)}
	}
	return k
}

func insert(t *testing.T, c *table.Client, n note) note {
	t.Helper()
	if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
		t.Fatal(err)
	}
	return n
}

func newNote(c *table.Client) note {
	return note{ID: c.NewID("itm"), Company: c.NewID(id.CompanyPrefix), Text: ptr("a"), UpdatedAt: ptr(c.Now())}
}

func ptr[T any](v T) *T { return &v }

func noOperations(*table.Client) []api.Operation { return nil }

// stringValue returns the value of a string attribute. It returns an empty string for any other
// attribute.
func stringValue(a types.AttributeValue) string {
	if s, ok := a.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
