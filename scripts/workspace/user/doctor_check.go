package user

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/timestamp"
)

// Thresholds of the checks.
const (
	clockWarn        = 30 * time.Second
	clockFail        = 5 * time.Minute
	certificateWarn  = 14 * 24 * time.Hour
	keyExpiryWarn    = 14 * 24 * time.Hour
	quotaWarnDivisor = 10 // warn if less than one tenth of the quota is left
	probeTimeout     = 15 * time.Second
	probeBytesMax    = 4 << 20
)

// verdict is the result of a check.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn" // it works now, but needs attention
	verdictFail verdict = "fail"
	verdictSkip verdict = "skip" // the check was not run, because it depends on one that failed
)

// finding is the result of one check in the report.
type finding struct {
	Name   string  `json:"name"`
	Result verdict `json:"result"`
	Detail string  `json:"detail"`
	Advice string  `json:"advice"` // how to fix the problem; may be empty
}

// doctor collects findings.
type doctor struct {
	*userCommands

	flags    serviceFlags
	key      credential
	findings []finding
}

// addFinding adds a finding to the report, without the advice if the check passed.
func (d *doctor) addFinding(name string, result verdict, advice, format string, args ...any) {
	if result == verdictOK {
		advice = ""
	}
	d.findings = append(d.findings, finding{name, result, fmt.Sprintf(format, args...), advice})
}

func (d *doctor) skipChecks(reason string, names ...string) {
	for _, name := range names {
		d.addFinding(name, verdictSkip, "", "%s", reason)
	}
}

func warnIf(bad bool) verdict {
	if bad {
		return verdictWarn
	}
	return verdictOK
}

// checkService requests /openapi.json, which needs no key, and reports whether the server is the
// API.
func (d *doctor) checkService(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.key.BaseURL+"/openapi.json", http.NoBody)
	begin, response := time.Now(), (*http.Response)(nil)
	if err == nil {
		h := &http.Client{Timeout: probeTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err = h.Do(request)
	}
	if err != nil {
		p, ok := d.networkProblemOf(err, d.key.BaseURL)
		if !ok {
			p = networkProblem{err.Error(), "check the address"}
		}
		d.addFinding("service", verdictFail, p.advice, "%s", p.text)
		d.skipChecks("needs the service to respond", "encryption", "clock", "version")
		return false
	}
	defer response.Body.Close()
	// Read the body so that the connection can be reused. Ignore the error, because the check does
	// not need the body.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, probeBytesMax))
	took := time.Since(begin).Round(time.Millisecond)
	serviceVersion := response.Header.Get("Service-Version")
	switch {
	case serviceVersion == "":
		d.addFinding("service", verdictFail, "check the address: the server there is not this API", "responds with %d and no Service-Version", response.StatusCode)
	case response.StatusCode != http.StatusOK:
		d.addFinding("service", verdictWarn, "tell its operator the request id "+response.Header.Get("Service-Request-Id"), "responds to /openapi.json with %d", response.StatusCode)
	default:
		d.addFinding("service", verdictOK, "", "responds in %v", took)
	}
	d.checkTLS(response)
	d.checkClock(response)
	d.checkVersion(serviceVersion)
	return serviceVersion != ""
}

func (d *doctor) checkTLS(response *http.Response) {
	switch {
	case response.TLS == nil && client.Loopback(d.key.BaseURL):
		d.addFinding("encryption", verdictOK, "", "none; not needed on this machine")
	case response.TLS == nil:
		d.addFinding("encryption", verdictWarn, "use https: anyone on the network can read the key", "none")
	default:
		end := response.TLS.PeerCertificates[0].NotAfter
		d.addFinding("encryption", warnIf(end.Sub(d.Now()) < certificateWarn), "tell its operator to renew the certificate",
			"the certificate is valid until %s", timestamp.Format(end))
	}
}

func (d *doctor) checkClock(response *http.Response) {
	serviceTime, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		d.addFinding("clock", verdictSkip, "", "the response has no Date")
		return
	}
	skew := d.Now().Sub(serviceTime).Round(time.Second)
	text := "agrees with the service's clock"
	if skew.Abs() > time.Second {
		text = fmt.Sprintf("differs from the service's clock by %v", skew)
	}
	result := warnIf(skew.Abs() > clockWarn)
	if skew.Abs() > clockFail {
		result = verdictFail
	}
	d.addFinding("clock", result, "set this machine's clock: times that you send and expiry times of keys are off by that much", "%s", text)
}

func (d *doctor) checkVersion(serviceVersion string) {
	switch {
	case serviceVersion == fault.Version:
		d.addFinding("version", verdictOK, "", "%s, the version of this program", serviceVersion)
	case serviceVersion == "":
		d.addFinding("version", verdictFail, "check the address: the server there is not this API", "the response has no Service-Version")
	case serviceVersion > fault.Version:
		d.addFinding("version", verdictWarn, "update this program; until then it uses version "+fault.Version, "%s, newer than %s of this program", serviceVersion, fault.Version)
	default:
		d.addFinding("version", verdictWarn, "some operations of this program may be missing in the service", "%s, older than %s of this program", serviceVersion, fault.Version)
	}
}

// checkKeyForm checks the format of the key without sending it, and reports whether checkKeyUse may
// send it.
func (d *doctor) checkKeyForm(keyErr error) bool {
	const name = "key's form"
	_, err := auth.Parse(d.key.Key)
	switch {
	case keyErr != nil:
		d.addFinding(name, verdictFail, fmt.Sprintf("run `%s`, then `%s` with a new key", d.Command("logout"), d.Command("login --base-url URL")), "%v", keyErr)
		return false
	case d.key.Key == "":
		d.addFinding(name, verdictFail, "set "+keyVariable+", or run `"+d.Command("login")+"`", "there is no key for this service")
		return false
	case errors.Is(err, auth.ErrPublishable):
		d.addFinding(name, verdictFail, "use a secret key, which begins with "+auth.SecretPrefix, "%s is publishable and gives no access to this API", d.key.source)
		return false
	case err != nil:
		d.addFinding(name, verdictWarn, "copy the complete key again", "%s does not have the form of this service's keys: it has a typo or is for another implementation", d.key.source)
		return true
	}
	d.addFinding(name, verdictOK, "", "%s is complete", d.key.source)
	return true
}

// checkKeyUse calls the service with the key.
func (d *doctor) checkKeyUse(ctx context.Context) {
	r, err := d.connectWith(d.key, d.flags.company, client.WithAttempts(1))
	if err != nil {
		d.addFinding("key", verdictFail, "copy the complete key again", "%v", err)
		d.skipChecks("needs a key that works", "scopes", "quota")
		return
	}
	var response client.Response
	key, err := r.client.GetCurrentKey(ctx, client.Into(&response))
	var refused *client.Error
	switch {
	case err == nil:
		d.checkKeyExpiry(key)
		d.checkScopes(key)
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		if _, err = r.client.ListCompanies(ctx, client.Into(&response)); err != nil {
			d.addFinding("key", verdictFail, "check --company, or the scope company:read", "%v", err)
			d.skipChecks("needs a key that works", "scopes", "quota")
			return
		}
		d.addFinding("key", verdictOK, "", "works")
		d.skipChecks("the service does not report the key's scopes", "scopes")
	default:
		d.addFinding("key", verdictFail, d.keyAdvice(refused), "%v", err)
		d.skipChecks("needs a key that works", "scopes")
		if refused == nil || refused.Status != http.StatusTooManyRequests {
			d.skipChecks("needs a key that works", "quota")
			return
		}
	}
	d.checkQuota(response)
}

func (d *doctor) keyAdvice(refused *client.Error) string {
	switch {
	case refused == nil:
		return "the service responded a moment ago: try again"
	case refused.Status == http.StatusUnauthorized:
		return "the key is unknown, revoked or expired: issue another, or check whether it is for another service"
	case refused.Status == http.StatusForbidden:
		return "the operator has suspended the company: contact the operator"
	case refused.Status == http.StatusTooManyRequests:
		return fmt.Sprintf("wait %d s, or ask the operator for a larger quota", int(refused.RetryAfter.Seconds()))
	}
	return "tell the operator the request id " + refused.RequestID
}

func (d *doctor) checkKeyExpiry(key client.Key) {
	until, soon := "without an expiry time", false
	if end, ok := key.ExpiresAt.Get(); ok {
		until, soon = "until "+timestamp.Format(end), end.Sub(d.Now()) < keyExpiryWarn
	}
	d.addFinding("key", warnIf(soon), "rotate it in time: "+d.Command("api rotate_key %s", key.ID), "%s (%s) is valid for %s %s", terminal.EscapeControls(key.Name.Or("-")), key.ID, key.CompanyID, until)
}

func (d *doctor) checkScopes(key client.Key) {
	scopes := key.Scopes.Or(nil)
	var granted []auth.Scope
	for _, s := range scopes {
		granted = append(granted, auth.Scope(s))
	}
	var lacking []string
	for _, s := range auth.Scopes() {
		if !s.IsGrantedBy(granted) {
			lacking = append(lacking, string(s))
		}
	}
	switch {
	case len(scopes) == 0:
		d.addFinding("scopes", verdictFail, "issue a key with scopes", "none")
	case len(lacking) == 0:
		d.addFinding("scopes", verdictOK, "", "all %d", len(scopes))
	default:
		d.addFinding("scopes", verdictOK, "", "%s; not %s", strings.Join(scopes, ", "), strings.Join(lacking, ", "))
	}
}

func (d *doctor) checkQuota(r client.Response) {
	quota, known := r.RateLimit()
	if !known {
		d.addFinding("quota", verdictSkip, "", "the service does not report it")
		return
	}
	d.addFinding("quota", warnIf(quota.Remaining*quotaWarnDivisor < quota.Limit), "send fewer requests, or ask the operator for a larger quota",
		"%d of %d reads are left, full again in %d s", quota.Remaining, quota.Limit, int(quota.Reset.Seconds()))
}
