package gateway_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// knownDifference is a kind of exchange that aws-lambda-go-api-proxy and this package treat
// differently.
type knownDifference struct {
	name   string
	theirs string // what the adapter does
	ours   string // what this package does, as net/http's server would

	matches func(x exchange) bool // reports whether an exchange is of this kind
	aspects []aspect              // the aspects in which the adapter and this package may differ in such an exchange
	trigger func(x *exchange)     // turns an exchange into one of this kind
	check   responseCheck         // checks what this package does with an exchange from trigger
}

// knownDifferences lists every known difference. TestAdapter ensures that there are no others.
var knownDifferences = []knownDifference{
	// The request's URL, its method and the client's IP address.
	{
		name:    "AbsoluteURL",
		theirs:  "makes an absolute URL, as a client has one",
		ours:    "makes a relative URL, as a server has one",
		matches: func(exchange) bool { return true },
		aspects: []aspect{aspectOrigin},
		trigger: func(x *exchange) { x.event.Path, x.event.RequestContext.DomainName = "/", "d" },
		check:   func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.URL.String(), "/") },
	},
	{
		name:    "PercentInPath",
		theirs:  "reports an error when a path has a % that begins no escape",
		ours:    "escapes the %",
		matches: func(x exchange) bool { return strayPercentPattern.MatchString(x.event.Path) },
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.event.Path = "/100%" },
		check:   wantPath("/100%25"),
	},
	{
		name:    "ControlInPath",
		theirs:  "reports an error when a path has a control character",
		ours:    "escapes it",
		matches: func(x exchange) bool { return strings.ContainsFunc(x.event.Path, isControl) },
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.event.Path = "/a\nb" },
		check:   wantPath("/a%0Ab"),
	},
	{
		name:    "QuestionMarkInPath",
		theirs:  "takes what follows a ? in the path for the query",
		ours:    "escapes the ?",
		matches: func(x exchange) bool { return strings.Contains(x.event.Path, "?") },
		aspects: []aspect{aspectPath, aspectQuery, aspectQueryOrder},
		trigger: func(x *exchange) { x.event.Path = "/a?b=1" },
		check:   wantPath("/a%3Fb=1"),
	},
	{
		name:    "HashInPath",
		theirs:  "cuts path and query at a # in the path",
		ours:    "escapes the #",
		matches: func(x exchange) bool { return strings.Contains(x.event.Path, "#") },
		aspects: []aspect{aspectPath, aspectQuery, aspectQueryOrder},
		trigger: func(x *exchange) { x.event.Path = "/a#b" },
		check:   wantPath("/a%23b"),
	},
	{
		name:   "EscapeBesideUnescaped",
		theirs: "escapes a path anew when it has an unescaped character, so that %2F becomes a separator",
		ours:   "escapes only that character",
		matches: func(x exchange) bool {
			return strings.ContainsAny(x.event.Path, "%!'()*[]") && strings.ContainsFunc(x.event.Path, mustBeEscaped)
		},
		aspects: []aspect{aspectPath},
		trigger: func(x *exchange) { x.event.Path = "/a%2Fb c" },
		check:   wantPath("/a%2Fb%20c"),
	},
	{
		name:    "AsteriskForPath",
		theirs:  "makes the path /* of the * of OPTIONS *",
		ours:    "keeps *",
		matches: func(x exchange) bool { return x.event.Path == "*" },
		aspects: []aspect{aspectPath},
		trigger: func(x *exchange) { x.event.Path = "*" },
		check:   wantPath("*"),
	},
	{
		name:    "OrderOfQuery",
		theirs:  "writes the names of the query in random order",
		ours:    "sorts them, so that equal events are equal requests",
		matches: func(x exchange) bool { return len(eventQuery(x.event)) > 1 },
		aspects: []aspect{aspectQueryOrder},
		trigger: func(x *exchange) {
			x.event.MultiValueQueryStringParameters = map[string][]string{}
			for i := range 26 {
				x.event.MultiValueQueryStringParameters[string(rune('a'+i))] = []string{"1"}
			}
		},
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			return expect(slices.IsSorted(strings.Split(r.URL.RawQuery, "&")), true)
		},
	},
	{
		name:   "QueryWithoutValues",
		theirs: "adds a ? when no name in the query has a value",
		ours:   "adds none",
		matches: func(x exchange) bool {
			multi := x.event.MultiValueQueryStringParameters
			return len(multi) > 0 && len(eventQuery(x.event)) == 0
		},
		aspects: []aspect{aspectQueryOrder},
		trigger: func(x *exchange) {
			x.event.MultiValueQueryStringParameters = map[string][]string{"a": nil}
		},
		check: wantPath("/v1"),
	},
	{
		name:    "BadMethod",
		theirs:  "reports an error when the method is not a token",
		ours:    "passes it on, so that the handler rejects it",
		matches: func(x exchange) bool { return x.event.HTTPMethod != "" && !isToken(x.event.HTTPMethod) },
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.event.HTTPMethod = "G T" },
		check:   wantMethod("G T"),
	},
	{
		name:    "MethodUpperCased",
		theirs:  "makes a method upper case",
		ours:    "keeps it, because methods are case-sensitive",
		matches: func(x exchange) bool { return strings.ToUpper(x.event.HTTPMethod) != x.event.HTTPMethod },
		aspects: []aspect{aspectMethod},
		trigger: func(x *exchange) { x.event.HTTPMethod = "get" },
		check:   wantMethod("get"),
	},
	{
		name:    "NoMethodIsGET",
		theirs:  "makes a GET of an event without a method",
		ours:    "keeps it empty, so that the handler rejects it",
		matches: func(x exchange) bool { return x.event.HTTPMethod == "" },
		aspects: []aspect{aspectMethod},
		trigger: func(x *exchange) { x.event.HTTPMethod = "" },
		check:   wantMethod(""),
	},
	{
		name:    "BadDomain",
		theirs:  "reports an error when the domain name is no host, or takes a part of it for the path",
		ours:    "does not parse the domain name",
		matches: func(x exchange) bool { return !domainPattern.MatchString(x.event.RequestContext.DomainName) },
		aspects: []aspect{aspectOutcome, aspectHost, aspectPath, aspectQuery, aspectQueryOrder},
		trigger: func(x *exchange) { x.event.RequestContext.DomainName = "a b" },
		check:   wantPath("/v1"),
	},
	{
		name:    "HostFromHeader",
		theirs:  "takes the host from the domain name, and leaves Host in the headers",
		ours:    "takes the host from the Host header, which it removes",
		matches: func(x exchange) bool { return len(eventHeader(x.event)["Host"]) > 0 },
		aspects: []aspect{aspectHost, aspectHeader},
		trigger: func(x *exchange) { x.setHeader("Host", "h") },
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			return expect(r.Host+" "+r.Header.Get("Host"), "h ")
		},
	},
	{
		name:    "RemoteAddrWithoutPort",
		theirs:  "makes a RemoteAddr without a port, which net.SplitHostPort refuses",
		ours:    "adds port 0",
		matches: func(x exchange) bool { return x.event.RequestContext.Identity.SourceIP != "" },
		aspects: []aspect{aspectRemoteAddr},
		trigger: func(x *exchange) { x.event.RequestContext.Identity.SourceIP = "192.0.2.1" },
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			_, _, err := net.SplitHostPort(r.RemoteAddr)
			return err
		},
	},
	{
		name:   "Protocol",
		theirs: "makes every request one of HTTP/1.1",
		ours:   "takes the version from the event",
		matches: func(x exchange) bool {
			p := x.event.RequestContext.Protocol
			_, _, ok := http.ParseHTTPVersion(p)
			return ok && p != "HTTP/1.1"
		},
		aspects: []aspect{aspectProtocol},
		trigger: func(x *exchange) { x.event.RequestContext.Protocol = "HTTP/1.0" },
		check:   func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.Proto, "HTTP/1.0") },
	},

	// The headers and the body of the request.
	{
		name:   "EmptyMultiValueHeaders",
		theirs: "ignores the single-value map when there is a multi-value map, even an empty one",
		ours:   "takes from it the names that the other does not have",
		matches: func(x exchange) bool {
			for name := range x.event.Headers {
				if x.event.MultiValueHeaders != nil && multiHeader(x.event).Values(name) == nil {
					return true
				}
			}
			return false
		},
		aspects: []aspect{aspectHeader, aspectHost},
		trigger: func(x *exchange) {
			x.event.MultiValueHeaders, x.event.Headers = map[string][]string{}, map[string]string{"A": "b"}
		},
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.Header.Get("A"), "b") },
	},
	{
		name:   "TwoSpellings",
		theirs: "adds the values of two spellings of one name in random order",
		ours:   "adds them in the order of the spellings, and of two single values takes the first",
		matches: func(x exchange) bool {
			return len(multiHeader(x.event)) < len(x.event.MultiValueHeaders) || len(singleHeader(x.event)) < len(x.event.Headers)
		},
		aspects: []aspect{aspectHeader, aspectHost},
		trigger: func(x *exchange) {
			x.event.MultiValueHeaders, x.event.Headers = nil, map[string]string{"X-A": "1", "x-a": "2"}
		},
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			return expect(fmt.Sprint(r.Header["X-A"]), "[1]")
		},
	},
	{
		name:   "HeaderWithoutValues",
		theirs: "drops a header whose list of values is empty",
		ours:   "keeps the name, without values",
		matches: func(x exchange) bool {
			for _, values := range x.event.MultiValueHeaders {
				if len(values) == 0 {
					return true
				}
			}
			return false
		},
		aspects: []aspect{aspectHeader, aspectHost},
		trigger: func(x *exchange) { x.event.MultiValueHeaders = map[string][]string{"A": nil} },
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			_, ok := r.Header["A"]
			return expect(ok, true)
		},
	},
	{
		name:   "LengthOfRequest",
		theirs: "keeps a Content-Length that is not the length of the decoded body, and Transfer-Encoding",
		ours:   "corrects Content-Length and removes Transfer-Encoding",
		matches: func(x exchange) bool {
			h := eventHeader(x.event)
			length := h["Content-Length"]
			return len(h["Transfer-Encoding"]) > 0 ||
				len(length) > 0 && !slices.Equal(length, []string{strconv.Itoa(len(requestBody(x.event)))})
		},
		aspects: []aspect{aspectHeader},
		trigger: func(x *exchange) { x.event.Body = "body"; x.setHeader("Content-Length", "7") },
		check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
			return expect(r.Header.Get("Content-Length"), "4")
		},
	},
	{
		name:   "BadBase64",
		theirs: "reports an error when a body is not base64",
		ours:   "passes it on as it is, so that the handler rejects it",
		matches: func(x exchange) bool {
			_, err := base64.StdEncoding.DecodeString(x.event.Body)
			return x.event.IsBase64Encoded && err != nil
		},
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.event.Body, x.event.IsBase64Encoded = "{", true },
		check:   wantMethod("GET"),
	},

	// The handler's actions.
	{
		name:    "SilentHandler",
		theirs:  "reports an error, and sends a 504, when a handler sets no status and writes nothing",
		ours:    "sends a 200",
		matches: func(x exchange) bool { return x.script.firstIndex("status", "write") < 0 },
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.script = nil },
		check:   wantStatus(200),
	},
	{
		name:    "Panic",
		theirs:  "does not recover a panic, so the function ends",
		ours:    "logs it and sends a 500",
		matches: func(x exchange) bool { return x.script.firstIndex("panic") >= 0 },
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "panic"}} },
		check:   wantStatus(500),
	},
	{
		name:   "PanicAtHEAD",
		theirs: "does not recover a panic, so the function ends",
		ours:   "sends a 500 without a body",
		matches: func(x exchange) bool {
			return x.event.HTTPMethod == http.MethodHead && x.script.firstIndex("panic") >= 0
		},
		aspects: []aspect{aspectOutcome},
		trigger: func(x *exchange) { x.event.HTTPMethod, x.script = http.MethodHead, handlerScript{{kind: "panic"}} },
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(fmt.Sprint(resp.StatusCode, resp.Body), "500")
		},
	},
	{
		name:   "StatusZero",
		theirs: "sends any number for a status, which makes a 502 of the gateway",
		ours:   "logs an invalid one and sends a 500",
		matches: func(x exchange) bool {
			return slices.ContainsFunc(x.script, func(s scriptStep) bool {
				return s.kind == "status" && (s.status < 100 || s.status == http.StatusSwitchingProtocols || s.status > 599)
			})
		},
		aspects: []aspect{aspectOutcome, aspectStatus, aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "status", status: 0}} },
		check:   wantStatus(500),
	},
	{
		name:   "LastStatusWins",
		theirs: "sends the status that was set last, even after the body",
		ours:   "sends the first one",
		matches: func(x exchange) bool {
			end := x.script.headerEnd()
			return end >= 0 && x.script[end+1:].firstIndex("status") >= 0
		},
		aspects: []aspect{aspectStatus, aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "status", status: 404}, {kind: "status", status: 200}}
		},
		check: wantStatus(404),
	},
	{
		name:   "FlushSetsStatus",
		theirs: "ignores a flush",
		ours:   "sends a 200 with the headers that are set at the flush",
		matches: func(x exchange) bool {
			end := x.script.headerEnd()
			return end >= 0 && x.script[end].kind == "flush"
		},
		aspects: []aspect{aspectOutcome, aspectStatus, aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "flush"}, {kind: "status", status: 404}} },
		check:   wantStatus(200),
	},
	{
		name:   "InformationalStatus",
		theirs: "sends a 1xx status as the last one",
		ours:   "drops it",
		matches: func(x exchange) bool {
			return slices.ContainsFunc(x.script, func(s scriptStep) bool { return s.kind == "status" && 100 <= s.status && s.status < 200 })
		},
		aspects: []aspect{aspectOutcome, aspectStatus, aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "status", status: 103}} },
		check:   wantStatus(200),
	},
	{
		name:   "LateHeader",
		theirs: "sends a header that is set after the status",
		ours:   "does not",
		matches: func(x exchange) bool {
			end := x.script.headerEnd()
			return end >= 0 && x.script[end+1:].firstIndex("header") >= 0
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "status", status: 200}, {kind: "header", name: "Late", values: []string{"1"}}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders["Late"]), 0)
		},
	},
	{
		name:   "NullHeader",
		theirs: "sends null for a header without values, which makes a 502 of the gateway",
		ours:   "leaves it out",
		matches: func(x exchange) bool {
			return slices.ContainsFunc(x.script, func(s scriptStep) bool { return s.kind == "header" && len(s.values) == 0 })
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "header", name: "Null"}, {kind: "status", status: 200}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders), 0)
		},
	},
	{
		name:   "UnfitHeader",
		theirs: "sends a header with an invalid name, or with a line break in a value, which makes a 502 of the gateway",
		ours:   "leaves out the name, and replaces the line break",
		matches: func(x exchange) bool {
			return slices.ContainsFunc(x.script, func(s scriptStep) bool {
				return s.kind == "header" && (!isToken(s.name) || slices.ContainsFunc(s.values, isInvalidHeaderValue))
			})
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "header", name: "A b", values: []string{"1"}}, {kind: "status", status: 200}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders), 0)
		},
	},
	{
		name:   "TypeOfFirstWrite",
		theirs: "guesses the Content-Type from the first write, even an empty one",
		ours:   "guesses it from the body",
		matches: func(x exchange) bool {
			first := x.script.firstIndex("write")
			return first >= 0 && x.script[first].text != x.script.body() || first >= 0 && x.script.body() == ""
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "write"}, {kind: "write", text: "<html>"}} },
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(resp.MultiValueHeaders["Content-Type"][0], "text/html; charset=utf-8")
		},
	},
	{
		name:   "TypeOfEncodedBody",
		theirs: "guesses the Content-Type of a compressed body, and of one that the handler wants without a type",
		ours:   "adds no Content-Type",
		matches: func(x exchange) bool {
			_, hasContentType := x.script.header()["Content-Type"]
			return x.script.firstIndex("write") >= 0 && x.script.header().Get("Content-Type") == "" &&
				(hasContentType || x.script.header().Get("Content-Encoding") != "")
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "header", name: "Content-Encoding", values: []string{"gzip"}}, {kind: "write", text: "\x1f\x8b"}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders["Content-Type"]), 0)
		},
	},
	{
		name:   "LengthOfResponse",
		theirs: "sends a Content-Length that is not the length of the body",
		ours:   "removes it",
		matches: func(x exchange) bool {
			length := x.script.header()["Content-Length"]
			return length != nil && !slices.Equal(length, []string{strconv.Itoa(len(x.script.body()))})
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "header", name: "Content-Length", values: []string{"7"}}, {kind: "write", text: "x"}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders["Content-Length"]), 0)
		},
	},
	{
		name:    "HeadBody",
		theirs:  "sends the body that a handler writes for a HEAD",
		ours:    "sends its length only",
		matches: func(x exchange) bool { return x.event.HTTPMethod == http.MethodHead && x.script.body() != "" },
		aspects: []aspect{aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) {
			x.event.HTTPMethod, x.script = http.MethodHead, handlerScript{{kind: "write", text: "x"}}
		},
		check: wantNoBody,
	},
	{
		name:   "NotModifiedBody",
		theirs: "sends the body that a handler writes after a 204 or 304",
		ours:   "refuses the write",
		matches: func(x exchange) bool {
			return x.script.firstIndex("write") >= 0 && slices.ContainsFunc(x.script, func(s scriptStep) bool {
				return s.kind == "status" && (s.status == http.StatusNoContent || s.status == http.StatusNotModified)
			})
		},
		aspects: []aspect{aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "status", status: 304}, {kind: "write", text: "x"}} },
		check:   wantNoBody,
	},
	{
		name:   "LengthWithoutBody",
		theirs: "sends the Content-Length of a 204",
		ours:   "removes it",
		matches: func(x exchange) bool {
			return x.script.header()["Content-Length"] != nil && slices.ContainsFunc(x.script, func(s scriptStep) bool {
				return s.kind == "status" && s.status == http.StatusNoContent
			})
		},
		aspects: []aspect{aspectResponseHeader},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "header", name: "Content-Length", values: []string{"0"}}, {kind: "status", status: 204}}
		},
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(len(resp.MultiValueHeaders), 0)
		},
	},
	{
		name:    "LargeText",
		theirs:  "sends a text of more than 1 MB as text, which JSON can multiply beyond Lambda's limit",
		ours:    "sends it in base64",
		matches: func(x exchange) bool { return len(x.script.body()) > 1_000_000 && utf8.ValidString(x.script.body()) },
		aspects: []aspect{aspectEncoding},
		trigger: func(x *exchange) { x.script = handlerScript{{kind: "write", text: strings.Repeat("x", 1_000_001)}} },
		check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
			return expect(resp.IsBase64Encoded, true)
		},
	},
	{
		name:   "TooLarge",
		theirs: "returns a response beyond Lambda's 6 MB, which ends as a 502 of the gateway",
		ours:   "sends a 500 that says not to retry",
		matches: func(x exchange) bool {
			return base64.StdEncoding.EncodedLen(len(x.script.body())) > responseBytesMax
		},
		aspects: []aspect{aspectStatus, aspectResponseHeader, aspectResponseBody, aspectEncoding},
		trigger: func(x *exchange) {
			x.script = handlerScript{{kind: "write", text: strings.Repeat("\xff", responseBytesMax)}}
		},
		check: wantStatus(500),
	},
}

var (
	strayPercentPattern = regexp.MustCompile(`%([^0-9a-fA-F]|$|[0-9a-fA-F]([^0-9a-fA-F]|$))`)
	domainPattern       = regexp.MustCompile(`^[A-Za-z0-9.-]*(:[0-9]+)?$`)
)

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func mustBeEscaped(c rune) bool { return c >= 0x7f || strings.ContainsRune(" \"<>\\^`{|}", c) }

// isToken reports whether s is a token as defined in RFC 9110.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// isInvalidHeaderValue reports whether this package changes a header value before it sends the
// value.
func isInvalidHeaderValue(value string) bool {
	return strings.ContainsAny(value, "\r\n\x00") || strings.TrimSpace(value) != value || !utf8.ValidString(value)
}

// Ensure that in each known difference, this package does what net/http's server would do and the
// adapter does something else. If both do the same, the entry is stale.
func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	for _, e := range knownDifferences {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			x := exchange{event: exampleGetEvent, script: handlerScript{{kind: "status", status: 200}}}
			e.trigger(&x)
			if !e.matches(x) {
				t.Fatal("the exchange from trigger does not match this known difference")
			}
			found := differingAspects(t, x)
			if !slices.ContainsFunc(e.aspects, func(a aspect) bool { return slices.Contains(found, a) }) {
				t.Errorf("the adapter differs in %v and no longer in %v: delete the known difference", found, e.aspects)
			}
			requireSameBehavior(t, x)
			seen, resp := x.runOwnProxy(t)
			if err := e.check(seen, resp); err != nil {
				t.Error(err)
			}
		})
	}
}

type responseCheck = func(*http.Request, events.APIGatewayProxyResponse) error

func wantPath(want string) responseCheck {
	return func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.RequestURI, want) }
}

func wantMethod(want string) responseCheck {
	return func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.Method, want) }
}

func wantStatus(want int) responseCheck {
	return func(_ *http.Request, resp events.APIGatewayProxyResponse) error { return expect(resp.StatusCode, want) }
}

func wantNoBody(_ *http.Request, resp events.APIGatewayProxyResponse) error {
	return expect(resp.Body, "")
}

func expect[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
