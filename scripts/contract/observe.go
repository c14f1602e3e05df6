package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"growthworkspace/shared/fault"
)

// The rules that every response must follow.
const (
	ruleEnvelope  = "envelope"
	ruleVersion   = "version"
	ruleJSON      = "json"
	ruleRetry     = "retry-after"
	ruleRequestID = "request-id"
	ruleCache     = "no-store"
	ruleChallenge = "challenge"
)

// checkResponse checks a response against the rules for every response. It records the problems
// that it finds, which the rules from observedRule report later.
func (k *runner) checkResponse(r response) {
	check := func(rule string, good bool, format string, args ...any) {
		k.observedCounts[rule]++
		if !good && len(k.observedProblems[rule]) < problemsMax {
			k.observedProblems[rule] = append(k.observedProblems[rule], fmt.Sprintf("%s (%d): ", r.request, r.status)+fmt.Sprintf(format, args...))
		}
	}
	date, id, cache := r.header.Get("Service-Version"), r.header.Get("Service-Request-Id"), r.header.Get("Cache-Control")
	if k.version == "" {
		k.version = date
	}
	check(ruleVersion, isDayText(date) && date == k.version, "Service-Version is %q, on the first response %q", date, k.version)
	check(ruleRequestID, id != "" && !k.requestIDs[id], "Service-Request-Id is %q: empty, or the same as before", id)
	k.requestIDs[id] = true
	check(ruleCache, cache == "no-store", "Cache-Control is %q", cache)
	if len(r.body) > 0 {
		kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
		check(ruleJSON, err == nil && kind == "application/json" && json.Valid(r.body),
			"Content-Type is %q, and the body is JSON: %v", r.header.Get("Content-Type"), json.Valid(r.body))
	}
	switch r.status {
	case http.StatusUnauthorized:
		check(ruleChallenge, r.header.Get("WWW-Authenticate") != "", "WWW-Authenticate is missing")
	case http.StatusTooManyRequests:
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		check(ruleRetry, err == nil && wait >= 1, "Retry-After is %q", r.header.Get("Retry-After"))
	}
	if r.status < http.StatusBadRequest || r.head {
		return
	}
	code, _, err := r.envelope()
	check(ruleEnvelope, err == nil, "%v", err)
	if err == nil {
		check(ruleEnvelope, codeHasStatus(code, r.status), "the code %q belongs to another status", code)
	}
}

// codeHasStatus reports whether a response with this status may have this error code. An unknown
// code is allowed only with a status that no known code has.
func codeHasStatus(code string, status int) bool {
	codeStatus, known := fault.Codes()[fault.Code(code)]
	if known {
		return codeStatus == status
	}
	return !slices.Contains(slices.Collect(maps.Values(fault.Codes())), status)
}

func isDayText(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// observedRule returns a rule that sends no requests. The rule reports the problems that
// checkResponse has found so far. It is skipped if it applied to no response.
func observedRule(name string) func(*runner) {
	return func(k *runner) {
		for _, problem := range k.observedProblems[name] {
			k.fail("%s", problem)
		}
		k.checkCount = k.observedCounts[name]
		k.skip("the run had no such response")
		k.mayCheckNothing = name == ruleRetry // no response is a 429 if the run stays below its quota
	}
}
