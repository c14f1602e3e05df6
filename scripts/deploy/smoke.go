package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/openapi"
	"growthworkspace/infra"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/mcpserver"
)

// smoke checks a deployed stack from outside. Its requests change nothing and need no valid key.
type smoke struct {
	base     *url.URL // the URL of the gateway's stage
	client   *http.Client
	key      string // a well-formed key that belongs to no company
	document []byte // the OpenAPI document that the stack should serve; nil if it is not compared
}

// smokeCheck is one check of a deployed stack.
type smokeCheck struct {
	name        string
	description string
	run         func(context.Context, *smoke) error
}

// smokeChecks returns the checks that change nothing and need no valid key. Every deploy runs them.
func smokeChecks() []smokeCheck {
	return []smokeCheck{
		{"document", "the OpenAPI document is that of this build", checkDocument},
		{"functions", "each function answers, and reaches the table with its role: an unknown key gets 401", checkFunctions},
		{"refusals", "a missing key, an unknown path and a wrong method get 401, 404 and 405 in the envelope of the service", checkRefusals},
	}
}

// The maximum number of attempts of a check. API Gateway and Lambda take seconds to propagate a
// change, and the DNS name of a new API takes longer to resolve.
const (
	smokeAttempts   = 10
	connectAttempts = 60
	smokePause      = 2 * time.Second
)

// errUnreachable is the error of a check that got no response at all. It says nothing about the
// deployed version.
var errUnreachable = errors.New("the API cannot be reached from here")

// newSmoke returns the data that the checks need about the stack. It uses the gateway's own URL,
// because the DNS record of a custom domain may not exist yet.
func (d *deployer) newSmoke(ctx context.Context) (*smoke, error) {
	api, err := d.account.stackResource(ctx, d.stack, infra.APIID)
	if err != nil {
		return nil, err
	}
	s := &smoke{}
	newID := id.NewGenerator(time.Now, rand.Reader)
	if s.key, err = auth.Mint(newID("co"), newID("key"), rand.Reader); err != nil {
		return nil, err
	}
	s.base, s.client, err = gateway(api, d.account.config.Region)
	return s, err
}

// gateway returns the URL of an API's stage and an HTTP client for it. In an emulated account, the
// client connects to the emulator instead.
func gateway(api, region string) (*url.URL, *http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true} // a new connection for each check
	base := &url.URL{Scheme: "https", Host: api + ".execute-api." + region + ".amazonaws.com", Path: "/" + infra.StageName}
	if strings.HasPrefix(region, "cn-") {
		base.Host += ".cn"
	}
	if override := endpointOverride(); override != "" {
		emulator, err := url.Parse(override)
		if err != nil {
			return nil, nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
		}
		base.Scheme, base.Host, transport.Proxy = emulator.Scheme, api+".execute-api.localhost:"+emulator.Port(), nil
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, emulator.Host)
		}
	}
	return base, &http.Client{Transport: transport, Timeout: callTimeout}, nil
}

// smokeResponse is the response to a request that a check sends.
type smokeResponse struct {
	status int
	header http.Header
	body   []byte
}

// excerpt returns the beginning of the body as a single line.
func (r smokeResponse) excerpt() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%.200s", r.body)), " ")
}

// requireError returns an error unless the response is the given error in the envelope.
func (r smokeResponse) requireError(code fault.Code) error {
	if refusal, err := fault.Parse(r.body); err != nil || r.status != code.Status() || refusal.Code != code || len(refusal.Messages) != 1 || refusal.Messages[0] == "" {
		return fmt.Errorf("the response should be %d with the code %s, and is %d %s", code.Status(), code, r.status, r.excerpt())
	}
	return nil
}

// do sends a request with the given additional headers to a path below the stage. key may be empty,
// and body nil.
func (s *smoke) do(ctx context.Context, method, path, key string, body []byte, headers map[string]string) (smokeResponse, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return smokeResponse{}, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return smokeResponse{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return smokeResponse{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return smokeResponse{response.StatusCode, response.Header, text}, nil
}

// requireRefusal sends a request and returns an error unless the response is the given error with
// the service's headers.
func (s *smoke) requireRefusal(ctx context.Context, method, path, key string, code fault.Code) (http.Header, error) {
	got, err := s.do(ctx, method, path, key, nil, nil)
	if err == nil {
		err = got.requireError(code)
	}
	for _, name := range []string{"Service-Request-Id", "Service-Version", "Cache-Control"} {
		if err == nil && got.header.Get(name) == "" {
			err = errors.New("the response should have the header " + name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return got.header, nil
}

func checkDocument(ctx context.Context, s *smoke) error {
	got, err := s.do(ctx, http.MethodGet, openapi.DocumentPath, "", nil, nil)
	switch {
	case err != nil:
		return err
	case got.status != http.StatusOK || !json.Valid(got.body):
		return fmt.Errorf("GET %s: %d %s", openapi.DocumentPath, got.status, got.excerpt())
	case s.document != nil && !bytes.Equal(got.body, s.document):
		return fmt.Errorf("GET %s is not the expected document: %d bytes instead of %d", openapi.DocumentPath, len(got.body), len(s.document))
	}
	return nil
}

// checkFunctions sends a well-formed key that belongs to no company. The function looks up the key
// in the table, so the response shows that the function's role and its table name are correct.
func checkFunctions(ctx context.Context, s *smoke) error {
	for _, area := range functions.All() {
		path := ""
		for _, op := range area.Operations(nil) {
			if op.Method == http.MethodGet {
				path = op.Path
				break
			}
		}
		if _, err := s.requireRefusal(ctx, http.MethodGet, withoutParameters(path), s.key, fault.Unauthorised); err != nil {
			return fmt.Errorf("the function %s: %w", area.Name, err)
		}
	}
	_, err := s.requireRefusal(ctx, http.MethodPost, mcpserver.Path, s.key, fault.Unauthorised)
	return err
}

// withoutParameters replaces the parameters in a path with a value that no record has.
func withoutParameters(path string) string {
	segments := strings.Split(path, "/")
	for n, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[n] = "none"
		}
	}
	return strings.Join(segments, "/")
}

// checkRefusals sends requests that the gateway and the functions refuse without a key.
func checkRefusals(ctx context.Context, s *smoke) error {
	for _, c := range []struct {
		method, path string
		code         fault.Code
		allow        string
	}{
		{http.MethodGet, "/v1/companies", fault.Unauthorised, ""},
		{http.MethodGet, "/v1/nothing", fault.NotFound, ""},
		{http.MethodDelete, openapi.DocumentPath, fault.MethodNotAllowed, "GET, HEAD"},
		{http.MethodGet, mcpserver.Path, fault.MethodNotAllowed, "POST"},
	} {
		header, err := s.requireRefusal(ctx, c.method, c.path, "", c.code)
		if err != nil {
			return err
		}
		if got := header.Get("Allow"); got != c.allow {
			return fmt.Errorf("%s %s: Allow should be %q, and is %q", c.method, c.path, c.allow, got)
		}
		// The gateway renames WWW-Authenticate (infra.GatewayResponse).
		if c.code == fault.Unauthorised && header.Get("WWW-Authenticate")+header.Get("X-Amzn-Remapped-Www-Authenticate") == "" {
			return errors.New("the response 401 has no WWW-Authenticate, and no X-Amzn-Remapped-Www-Authenticate either")
		}
	}
	return nil
}

// runChecks runs the checks one after the other. It repeats each check until it succeeds or has
// reached the maximum number of attempts.
func (d *deployer) runChecks(ctx context.Context, s *smoke) error {
	for _, c := range smokeChecks() {
		for n := 1; ; n++ {
			err := c.run(ctx, s)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				break
			}
			attempts := smokeAttempts
			if errors.Is(err, errUnreachable) {
				attempts = connectAttempts
			}
			if n >= attempts {
				return fmt.Errorf("the check %q failed: %w", c.name, err)
			}
			if err := d.pause(ctx, smokePause); err != nil {
				return err
			}
		}
		fmt.Fprintf(d.out, "checked   %s\n", c.description)
	}
	return nil
}
