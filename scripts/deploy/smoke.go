package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
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
	account   *account
	base      *url.URL // the URL of the gateway's stage
	client    *http.Client
	functions map[string]string // the names of the deployed functions; the keys are their names in the model
	key       string            // a well-formed key that belongs to no company

	// What the stack should serve. If a field is empty, nothing is compared with it.
	dist     string // the folder that contains the zip files of the build
	document []byte // the OpenAPI document
}

// smokeCheck is one check of a deployed stack.
type smokeCheck struct {
	name        string
	description string
	run         func(context.Context, *smoke) error
}

// readOnlyChecks returns the checks that change nothing and need no valid key.
func readOnlyChecks() []smokeCheck {
	return []smokeCheck{
		{"aliases", "the alias of each function names a version with the code of this build and the stack's configuration", checkAliases},
		{"document", "the OpenAPI document is that of this build", checkDocument},
		{"functions", "each function answers, and reaches the table with its role: an unknown key gets 401", checkFunctions},
		{"no key", "a request without a key gets 401", checkWithoutKey},
		{"unknown path", "an unknown path gets 404", checkUnknownPath},
		{"method", "a method that a path does not have gets 405 and Allow", checkMethod},
		{"mcp", "the tools refuse an unknown key, and methods other than POST", checkMCP},
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
	s := &smoke{account: d.account, functions: map[string]string{}}
	for _, f := range infra.New().Functions {
		if s.functions[f.Name], err = d.account.stackResource(ctx, d.stack, f.ID()); err != nil {
			return nil, err
		}
	}
	newID := id.NewGenerator(time.Now, rand.Reader)
	if s.key, err = auth.Mint(newID("co"), newID("key"), rand.Reader); err != nil {
		return nil, err
	}
	s.base, s.client, err = d.account.gateway(api)
	return s, err
}

// gateway returns the URL of an API's stage and an HTTP client for it. If AWS_ENDPOINT_URL is set,
// the client connects to that address instead, like all other requests.
func (a *account) gateway(api string) (*url.URL, *http.Client, error) {
	base, err := url.Parse(a.endpoint("execute-api"))
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true} // a new connection for each check
	dialHost := base.Host
	base.Host, base.Path = api+".execute-api."+a.config.Region+"."+a.domain(), "/"+infra.StageName
	if dialHost != "execute-api."+a.config.Region+"."+a.domain() {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, dialHost)
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

// request sends a request without a body to a path below the stage.
func (s *smoke) request(ctx context.Context, method, path, key string) (smokeResponse, error) {
	return s.do(ctx, method, path, key, nil, nil)
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
	text, err := io.ReadAll(io.LimitReader(response.Body, responseBytesMax))
	if err != nil {
		return smokeResponse{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return smokeResponse{response.StatusCode, response.Header, text}, nil
}

// requireError sends a request and returns an error unless the response is the given error with the
// service's envelope and headers.
func (s *smoke) requireError(ctx context.Context, method, path, key string, code fault.Code) (http.Header, error) {
	got, err := s.request(ctx, method, path, key)
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Errors []struct{ Code, Message string }
	}
	mismatch := func(what string) error {
		return fmt.Errorf("%s %s: %s: %d %s", method, path, what, got.status, got.excerpt())
	}
	switch {
	case got.status != code.Status():
		return nil, mismatch(fmt.Sprintf("the status should be %d", code.Status()))
	case json.Unmarshal(got.body, &envelope) != nil || len(envelope.Errors) != 1 || envelope.Errors[0].Code != string(code) || envelope.Errors[0].Message == "":
		return nil, mismatch("the body should be the envelope of one error " + string(code))
	}
	for _, name := range []string{"Service-Request-Id", "Service-Version"} {
		if got.header.Get(name) == "" {
			return nil, mismatch("the response should have the header " + name)
		}
	}
	if cache := got.header.Get("Cache-Control"); cache != "no-store" {
		return nil, mismatch("Cache-Control should be no-store, and is " + cache)
	}
	return got.header, nil
}

// checkAliases checks the version that each alias points to: it must have the code of the build,
// and the function's newest configuration.
func checkAliases(ctx context.Context, s *smoke) error {
	for _, f := range infra.New().Functions {
		live, err := s.account.functionConfiguration(ctx, s.functions[f.Name], infra.AliasName)
		if err != nil {
			return err
		}
		newest, err := s.account.functionConfiguration(ctx, s.functions[f.Name], "$LATEST")
		if err != nil {
			return err
		}
		if live.CodeSHA256 != newest.CodeSHA256 || !reflect.DeepEqual(live.functionSettings, newest.functionSettings) {
			return fmt.Errorf("the alias of %s names version %s, which has other code or settings than the function", f.Name, live.Version)
		}
		if s.dist == "" {
			continue
		}
		zip, err := os.ReadFile(filepath.Join(s.dist, f.Name+".zip"))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(zip); live.CodeSHA256 != base64.StdEncoding.EncodeToString(sum[:]) {
			return fmt.Errorf("the alias of %s names version %s, whose code is not that of this build", f.Name, live.Version)
		}
	}
	return nil
}

func checkDocument(ctx context.Context, s *smoke) error {
	got, err := s.request(ctx, http.MethodGet, openapi.DocumentPath, "")
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
		if _, err := s.requireError(ctx, http.MethodGet, withoutParameters(path), s.key, fault.Unauthorised); err != nil {
			return fmt.Errorf("the function %s: %w", area.Name, err)
		}
	}
	return nil
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

func checkWithoutKey(ctx context.Context, s *smoke) error {
	header, err := s.requireError(ctx, http.MethodGet, "/v1/companies", "", fault.Unauthorised)
	// The gateway renames the header (infra.GatewayResponse).
	if err == nil && header.Get("WWW-Authenticate") == "" && header.Get("X-Amzn-Remapped-Www-Authenticate") == "" {
		return errors.New("the response 401 has no WWW-Authenticate, and no X-Amzn-Remapped-Www-Authenticate either")
	}
	return err
}

func checkUnknownPath(ctx context.Context, s *smoke) error {
	_, err := s.requireError(ctx, http.MethodGet, "/v1/nothing", "", fault.NotFound)
	return err
}

func checkMethod(ctx context.Context, s *smoke) error {
	return s.requireAllow(ctx, http.MethodDelete, openapi.DocumentPath, "GET, HEAD")
}

func (s *smoke) requireAllow(ctx context.Context, method, path, want string) error {
	header, err := s.requireError(ctx, method, path, "", fault.MethodNotAllowed)
	if err == nil && header.Get("Allow") != want {
		return fmt.Errorf("%s %s: Allow should be %s, and is %s", method, path, want, header.Get("Allow"))
	}
	return err
}

func checkMCP(ctx context.Context, s *smoke) error {
	if _, err := s.requireError(ctx, http.MethodPost, mcpserver.Path, s.key, fault.Unauthorised); err != nil {
		return err
	}
	return s.requireAllow(ctx, http.MethodGet, mcpserver.Path, "POST")
}

// runChecks runs the checks one after the other. It repeats each check until it succeeds or has
// reached the maximum number of attempts.
func (d *deployer) runChecks(ctx context.Context, s *smoke, checks []smokeCheck) error {
	for _, c := range checks {
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

// functionState is the configuration of a version of a function.
type functionState struct {
	Version    string
	CodeSHA256 string `json:"CodeSha256"`
	functionSettings
}

// functionSettings are the settings in a function's version that the stack sets.
type functionSettings struct {
	Role, Handler, Runtime string
	Architectures          []string
	MemorySize, Timeout    int
	Environment            struct{ Variables map[string]string }
	LoggingConfig          map[string]string
}

// functionConfiguration requests the configuration of a version of a function. qualifier is an
// alias, a version number or $LATEST.
func (a *account) functionConfiguration(ctx context.Context, name, qualifier string) (out functionState, err error) {
	err = a.get(ctx, "lambda", "2015-03-31/functions/"+url.PathEscape(name)+"/configuration?Qualifier="+url.QueryEscape(qualifier), &out)
	if err != nil {
		return out, fmt.Errorf("read the configuration of the function %s, %s: %w", name, qualifier, err)
	}
	return out, nil
}
