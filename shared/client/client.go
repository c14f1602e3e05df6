package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client calls the API with one key. It is safe for concurrent use. Reuse it, because it keeps
// connections open.
type Client struct {
	base              string // without a trailing slash
	key               string
	http              *http.Client
	version           string
	userAgent         string
	attempts          int
	waitMax           time.Duration
	backoff           func(attempt int) time.Duration
	sleep             func(ctx context.Context, d time.Duration) error
	random            func() float64 // returns a number in [0, 1), from which the random time added to Retry-After is computed
	pacer             quotaPacer
	newIdempotencyKey func() string

	mu      sync.Mutex
	company string // empty until it is known
}

// attemptTimeout is longer than the gateway's timeout of 29 s.
const attemptTimeout = 35 * time.Second

// New returns a client that calls the service at baseURL, such as https://api.example.com, with a
// secret key. It sends no request. It returns an error, which never contains the key, if an
// argument is invalid.
func New(baseURL, key string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("client: the base URL must be like https://api.example.com, not %q", withoutUser(baseURL))
	case u.User != nil:
		return nil, errors.New("client: the base URL must not contain a user name or a password")
	case strings.HasPrefix(key, "pk_"):
		return nil, errors.New("client: the API does not accept publishable keys; use a secret key")
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("client: the key is empty or contains invalid characters")
	}
	c := &Client{
		base: strings.TrimRight(baseURL, "/"), key: key, version: Version, userAgent: "growthworkspace-go/" + Version,
		company: companyOf(key), attempts: attemptsDefault, waitMax: waitMaxDefault, backoff: jitteredBackoff(rand.Float64), random: rand.Float64, sleep: sleep, newIdempotencyKey: randomKey,
		http: &http.Client{
			Timeout: attemptTimeout,
			// The API never redirects. If a proxy does, the target of the redirect must not receive
			// the key.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for _, o := range options {
		o(c)
	}
	return c, nil
}

// Loopback reports whether a base URL refers to this machine. A key sent to such a URL does not
// cross a network.
func Loopback(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// withoutUser removes everything before the host, because it may contain a password.
func withoutUser(address string) string {
	if i := strings.LastIndex(address, "@"); i >= 0 {
		return address[i+1:]
	}
	return address
}

// String returns a description of the client without its key.
func (c *Client) String() string { return "client of " + c.base }

// GoString returns the same as String, so that %#v does not print the key either.
func (c *Client) GoString() string { return c.String() }

// CompanyID returns the id of the key's company. A complete key contains the id, so no request is
// needed. If the key is not complete and WithCompany is not set, the client requests the id once,
// with GET /v1/companies.
func (c *Client) CompanyID(ctx context.Context) (string, error) {
	c.mu.Lock()
	known := c.company
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	response, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "/v1/companies", Repeatable: true})
	if err != nil {
		return "", fmt.Errorf("client: get the key's company: %w", err)
	}
	var companies struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := response.decode(&companies); err != nil {
		return "", err
	}
	if len(companies.Items) != 1 || companies.Items[0].ID == "" {
		return "", fmt.Errorf("client: a key belongs to exactly one company, but the response lists %d", len(companies.Items))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.company = companies.Items[0].ID
	return c.company, nil
}
