package roundtrip

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/parallel"
)

// reader reads a company's records over HTTP.
type reader struct {
	*client.Client
	base, companyID string
}

func newReader(base, companyID, key string) (*reader, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = readConcurrency
	api, err := client.New(base, key, client.WithHTTPClient(&http.Client{Transport: transport, Timeout: time.Minute}), client.WithAttempts(1))
	return &reader{api, base, companyID}, err
}

// readConcurrency is the number of lists that are read concurrently.
const readConcurrency = 4

// readCounts counts what a check has read.
type readCounts struct{ lists, pages, records int }

// check reads a list in each of its windows. In the first window, it reads the list with every
// combination of filters. In every other window, it uses no filters. It compares each result with
// the expected records.
func (c *reader) check(ctx context.Context, l expectedList) (total readCounts, err error) {
	if len(l.windows) == 0 {
		l.windows = []window{{}}
	}
	combinations := l.combinations()
	var mu sync.Mutex
	err = parallel.Do(len(combinations)*len(l.windows), readConcurrency, func(n int) error {
		chosen, w := combinations[n/len(l.windows)], l.windows[n%len(l.windows)]
		if len(chosen) > 0 && w != l.windows[0] {
			return nil
		}
		got, pages, err := c.read(ctx, l, chosen, w)
		if err == nil {
			err = l.compare(got, l.expectedRecords(chosen, w), len(chosen) == 0 && w == window{})
		}
		if err != nil {
			return fmt.Errorf("%s %v %v: %w", l.path, chosen, w, err)
		}
		mu.Lock()
		defer mu.Unlock()
		total.lists, total.pages, total.records = total.lists+1, total.pages+pages, total.records+len(got)
		return nil
	})
	return total, err
}

// read reads all pages of a list.
func (c *reader) read(ctx context.Context, l expectedList, chosen map[string]string, w window) (records []record, pages int, err error) {
	query := url.Values{}
	for name, values := range l.fixedParameters {
		query[name] = values
	}
	for name, value := range chosen {
		query.Set(name, value)
	}
	days := [2]string{cmp.Or(l.dayParameters[0], "from"), cmp.Or(l.dayParameters[1], "to")}
	for name, value := range map[string]string{days[0]: w.from, days[1]: w.to, "order": w.order} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if l.limit > 0 {
		query.Set("limit", fmt.Sprint(l.limit))
	}
	next := "/v1/companies/" + c.companyID + l.path + "?" + query.Encode()
	for next != "" {
		var page struct{ Items []record }
		header, err := c.get(ctx, next, &page)
		if err != nil {
			return nil, pages, err
		}
		pages++
		more := header.Get("Service-Has-More")
		if next, err = c.nextPath(header); err != nil {
			return nil, pages, err
		}
		if (more == "true") != (next != "") || (next != "" && len(page.Items) != l.limit) || (l.limit > 0 && len(page.Items) > l.limit) {
			return nil, pages, newDifference("page %d has %d records, Service-Has-More %q and next %q", pages, len(page.Items), more, next)
		}
		if l.newestFirst {
			records = append(page.Items, records...)
		} else {
			records = append(records, page.Items...)
		}
	}
	return records, pages, nil
}

// nextPath returns the URL in the header `Link: <…>; rel="next"`, without the base URL. It returns
// "" if the response has no Link header.
func (c *reader) nextPath(h http.Header) (string, error) {
	link := h.Get("Link")
	if link == "" {
		return "", nil
	}
	target, ok := strings.CutSuffix(link, `>; rel="next"`)
	target, begins := strings.CutPrefix(target, "<"+c.base)
	if !ok || !begins {
		return "", fmt.Errorf("the header Link is %q", link)
	}
	return target, nil
}

// retryTimeout is how long a request is retried while the server is busy. On a small machine, the
// server handles one large response at a time, and refuses a request that has waited for a second.
const retryTimeout = 5 * time.Minute

func (c *reader) get(ctx context.Context, path string, into any) (http.Header, error) {
	for begin := time.Now(); ; {
		response, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: path})
		var refused *client.Error
		if errors.As(err, &refused) && refused.Code == client.CodeUnavailable && time.Since(begin) < retryTimeout {
			select {
			case <-time.After(refused.RetryAfter):
			case <-ctx.Done():
			}
			continue // ignore the error: if the context was canceled, the next request fails
		}
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		return response.Header, json.Unmarshal(response.Body, into)
	}
}

// compare returns an error that describes the first difference, or nil if got and want contain the
// same records in the same order. If whole is set, the contents of the records must also be equal.
func (l expectedList) compare(got, want []record, whole bool) error {
	if l.newestFirst { // points are sorted by ts and seriesId, which the generator does not know, so check their order in the response itself
		if !sort.SliceIsSorted(got, func(i, j int) bool {
			return got[i].text("ts")+got[i].text("seriesId") < got[j].text("ts")+got[j].text("seriesId")
		}) {
			return newDifference("the points are not in order")
		}
		got, want = sortedByIdentity(got, l.kind), sortedByIdentity(want, l.kind)
	}
	for n := range max(len(got), len(want)) {
		switch {
		case n >= len(got):
			return newDifference("%d records instead of %d; %s is missing", len(got), len(want), want[n].identity(l.kind))
		case n >= len(want):
			return newDifference("%d records instead of %d; %s is too many", len(got), len(want), got[n].identity(l.kind))
		case got[n].identity(l.kind) != want[n].identity(l.kind):
			return newDifference("record %d is %s instead of %s, by the order that functions/testdata has", n+1, got[n].identity(l.kind), want[n].identity(l.kind))
		case whole && got[n].canonicalJSON(l.kind) != want[n].canonicalJSON(l.kind, l.ignoredFields...):
			return newDifference("record %d is\n  %s instead of\n  %s", n+1, got[n].canonicalJSON(l.kind), want[n].canonicalJSON(l.kind, l.ignoredFields...))
		}
	}
	return nil
}

func sortedByIdentity(records []record, kind string) []record {
	out := slices.Clone(records)
	slices.SortStableFunc(out, func(a, b record) int { return strings.Compare(a.identity(kind), b.identity(kind)) })
	return out
}

// checkGets compares the records that no list returns, or that lists return incompletely: the
// company, its brand kit, and the audits with their findings. It returns the number of records that
// it compared.
func (c *reader) checkGets(ctx context.Context, expected *generatedCompany) (n int, err error) {
	company := "/v1/companies/" + c.companyID
	var companies struct{ Items []record }
	if _, err := c.get(ctx, "/v1/companies", &companies); err != nil {
		return n, err
	}
	if len(companies.Items) != 1 || companies.Items[0].text("id") != c.companyID {
		return n, newDifference("the list of companies is %v instead of %s", companies.Items, c.companyID)
	}
	checkGet := func(kind, path string, want record) error {
		var got record
		if _, err := c.get(ctx, path, &got); err != nil {
			return err
		}
		if got.canonicalJSON(kind) != want.canonicalJSON(kind) {
			return newDifference("%s differs from what was imported:\n  %.2000s\n  %.2000s", path, got.canonicalJSON(kind), want.canonicalJSON(kind))
		}
		n++
		return nil
	}
	if err := checkGet("company", company, expected.records["company"][0]); err != nil {
		return n, err
	}
	if err := checkGet("brand-kit", company+"/context/brand-kit", expected.records["brand-kit"][0]); err != nil {
		return n, err
	}
	for _, want := range expected.records["audit"] {
		if err := checkGet("audit", company+"/optimise/audits/"+want.text("id"), want); err != nil {
			return n, err
		}
	}
	return n, nil
}
