package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"growthworkspace/shared/id"
)

// RequestIDs are the ids that identify one request in the logs of a deployment. An id is empty if
// it is unknown, or if it is malformed, as it can be in a forged event.
type RequestIDs struct {
	// Extended is the gateway's extended request id, such as TWegAcC4EowCHnA=. A caller cannot
	// choose it ("An API caller can't provide or override this request ID",
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-access-logging.html).
	Extended string
	// Gateway is the gateway's request id. A caller can choose it: the gateway accepts any UUID in
	// the header X-Amzn-RequestId.
	Gateway string
	Lambda  string // the id of the invocation, which Lambda's own log lines also contain
	Trace   string // the X-Ray trace id. A caller can choose it.
}

// Public returns the id for the Service-Request-Id header. This is the extended id, or the
// invocation's id if the event has no extended id: the emulator of `sam local` sends none.
func (ids RequestIDs) Public() string { return cmp.Or(ids.Extended, ids.Lambda) }

// Attributes returns the known ids as attributes for a log line. The gateway's access log uses the
// same names (infra.AccessLog), so one query finds both.
func (ids RequestIDs) Attributes() []slog.Attr {
	out := make([]slog.Attr, 0, 4)
	for _, a := range [...]slog.Attr{
		slog.String("requestId", ids.Gateway), slog.String("extendedRequestId", ids.Extended), slog.String("lambdaRequestId", ids.Lambda),
		slog.String("xrayTraceId", ids.Trace),
	} {
		if a.Value.String() != "" {
			out = append(out, a)
		}
	}
	return out
}

// NewRequestIDs returns ids for a request that did not pass a gateway. They have the same format as
// API Gateway's. newID generates the id from which they are derived.
func NewRequestIDs(newID id.Generator) RequestIDs {
	const extendedBytes = 11 // as many as in the gateway's ids
	sum := sha256.Sum256([]byte(newID("req")))
	uuid := sum[:16]
	uuid[6], uuid[8] = uuid[6]&0x0f|0x40, uuid[8]&0x3f|0x80 // version 4 (RFC 9562, 5.4)
	text := hex.EncodeToString(uuid)
	return RequestIDs{
		Extended: base64.URLEncoding.EncodeToString(sum[16 : 16+extendedBytes]),
		Gateway:  text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:],
	}
}

// RequestIDsOf returns the ids of the request to which ctx belongs. If the request has no public
// id, RequestIDsOf creates its ids with newID. Inside Proxy, all calls for a request return the
// same ids.
func RequestIDsOf(ctx context.Context, newID id.Generator) RequestIDs {
	x := exchangeOf(ctx)
	if x == nil {
		return NewRequestIDs(newID)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ids.Public() == "" {
		x.ids.Extended = NewRequestIDs(newID).Extended
	}
	return x.ids
}

// requestIDs returns the ids in an event and in the context of its invocation.
func requestIDs(ctx context.Context, e *events.APIGatewayProxyRequest, header http.Header) RequestIDs {
	ids := RequestIDs{Extended: validID(e.RequestContext.ExtendedRequestID), Gateway: validID(e.RequestContext.RequestID)}
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		ids.Lambda = validID(invocation.AwsRequestID)
	}
	// Normally the event and the invocation's context contain the same trace id. The one in the
	// context is used if the event has none, for example because a person invoked the function.
	lambdaTrace, _ := ctx.Value("x-amzn-trace-id").(string) // package lambda's key for the value of _X_AMZN_TRACE_ID
	ids.Trace = cmp.Or(traceRoot(header.Get("X-Amzn-Trace-Id")), traceRoot(lambdaTrace))
	return ids
}

// traceRoot returns the trace id in a tracing header, such as
// Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1.
func traceRoot(header string) string {
	for field := range strings.SplitSeq(header, ";") {
		if root, ok := strings.CutPrefix(strings.TrimSpace(field), "Root="); ok {
			return validID(root)
		}
	}
	return ""
}

// idBytesMax is more than the length of any example id in AWS's documentation.
const idBytesMax = 128

// validID returns text if it consists only of the characters of UUIDs, trace ids and base64, which
// are harmless in a header and in a log. Otherwise it returns "".
func validID(text string) string {
	if len(text) > idBytesMax {
		return ""
	}
	for i := range len(text) {
		c := text[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_+/=", c) >= 0) {
			return ""
		}
	}
	return text
}
