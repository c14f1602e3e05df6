package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// The errors that a deployed gateway sends before any function runs.
var (
	errTooLarge   = fault.New(fault.PayloadTooLarge, "body: is larger than any that the service accepts")
	errUnreadable = fault.Invalid("body", "could not be read")
)

// Local serves h as Lambda behind API Gateway would: every request becomes an event and passes
// through Proxy, and the response event is written to the client.
//
// A body over 10 MB gets a 413 with the code payload_too_large, and is not read to its end. A query
// with a malformed escape or a ";" reaches h unchanged, and h should respond with 400. A deployed
// gateway instead responds to a malformed escape with its own 400, and treats ";" as "&". newID
// generates the gateway's request ids.
func Local(h http.Handler, newID id.Generator) http.Handler {
	proxy := Proxy(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, ids := r.Context(), NewRequestIDs(newID)
		e, err := NewEvent(r, ids)
		if errors.Is(err, errBodyTooLarge) {
			fault.Write(w, r, ids.Public(), errTooLarge)
			return
		}
		if err != nil {
			slog.LogAttrs(ctx, slog.LevelWarn, "request body not read", append(ids.Attributes(), slog.Any("error", err))...)
			fault.Write(w, r, ids.Public(), errUnreadable)
			return
		}
		if isMalformedQuery(r.URL.RawQuery) {
			ctx = context.WithValue(ctx, malformedQueryKey{}, r.URL.RawQuery)
		}
		resp, _ := proxy(ctx, e) // never an error
		writeEvent(w, r, resp)
	})
}

// writeEvent writes a response from Proxy to w as API Gateway would. Content-Type defaults to JSON.
// The body is compressed as the gateway would compress it. AWS does not document that the gateway
// changes the ETag or adds Vary when it compresses, so this function does neither.
func writeEvent(w http.ResponseWriter, r *http.Request, resp events.APIGatewayProxyResponse) {
	body := []byte(resp.Body)
	if resp.IsBase64Encoded {
		body, _ = base64.StdEncoding.DecodeString(resp.Body) // valid, because Proxy encoded it
	}
	header := w.Header()
	for name, values := range resp.MultiValueHeaders {
		header[name] = values
	}
	if len(body) > 0 && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	if coding := gatewayCoding(r.Header); coding != "" && len(body) >= CompressionBytesMin && header.Get("Content-Encoding") == "" {
		body = compress(body, coding)
		header.Set("Content-Encoding", coding)
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(resp.StatusCode)
	if len(body) > 0 {
		_, _ = w.Write(body) // an error means that the caller disconnected
	}
}
