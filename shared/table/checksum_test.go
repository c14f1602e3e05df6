package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"testing"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// byteCorruptingProxy returns a proxy that gives each response its checksum, as DynamoDB does, and
// then changes one byte of each of the first n responses. at is the position of that byte, counted
// from the end. If at is 0, the proxy replaces the checksum with sum instead.
func byteCorruptingProxy(n int, at int, sum string) *faultProxy {
	return &faultProxy{respond: func(_ string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		out, err := pass()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(out.Body)
		if err := errors.Join(err, out.Body.Close()); err != nil {
			return nil, err
		}
		out.Header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
		if n--; n >= 0 && at > 0 {
			body[max(0, len(body)-at)] ^= 1
		} else if n >= 0 {
			out.Header.Set("X-Amz-Crc32", sum)
		}
		out.Body = io.NopCloser(bytes.NewReader(body))
		return out, nil
	}}
}

// Ensure a response with a flipped byte is never used: the call is retried, and fails if every
// response is wrong. This must hold for records, lists, writes and failed conditions.
func TestChecksums(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	calls := map[string]func(ctx context.Context, c *table.Client, n note) error{
		"read": func(ctx context.Context, c *table.Client, n note) error {
			got, err := table.Get[note](ctx, c, noteKey(n.Company, n.ID))
			if err == nil && *got.Text != *n.Text {
				return fmt.Errorf("read %q", *got.Text)
			}
			return err
		},
		"list": func(ctx context.Context, c *table.Client, n note) error {
			texts, _, err := listJSON[listedNote](ctx, c, table.Query{Partitions: []string{noteKey(n.Company, n.ID).PK}, Limit: 5})
			if err == nil && (len(texts) != 1 || !bytes.Contains(texts[0], []byte(*n.Text))) {
				return fmt.Errorf("listed %s", texts)
			}
			return err
		},
		"write": func(ctx context.Context, c *table.Client, n note) error {
			n.ID = c.NewID("itm")
			return c.Insert(ctx, keysOf(n), n)
		},
		"failed condition": func(ctx context.Context, c *table.Client, n note) error {
			if err := c.Insert(ctx, keysOf(n), n); !errors.Is(err, table.ErrExists) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		},
	}
	for name, call := range calls {
		for _, at := range []int{0, 1, 20, 1 << 20} {
			t.Run(fmt.Sprintf("%s, byte %d", name, at), func(t *testing.T) {
				t.Parallel()
				c, _ := newTestClient(t, nil)
				n := newNote(c)
				n.Text = ptr("a text that tells")
				insert(t, c, n)
				if err := call(t.Context(), newClientWithTransport(t, byteCorruptingProxy(2, at, "1")), n); err != nil {
					t.Errorf("flipped twice: %v", err)
				}
				p := byteCorruptingProxy(1<<30, at, "x")
				if err := call(t.Context(), newClientWithTransport(t, p), n); name != "failed condition" && (err == nil || p.count("") != 3) {
					t.Errorf("flipped always: %v after %d calls", err, p.count(""))
				}
			})
		}
	}
}

// newClientWithTransport returns a client of the test's table that sends its calls through p.
func newClientWithTransport(t *testing.T, p *faultProxy) *table.Client {
	t.Helper()
	c, _ := newTestClient(t, p)
	return c
}
