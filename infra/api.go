package infra

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

const (
	APIID            = "Api"
	gatewayLogsID    = "GatewayLogs"
	gatewayAccountID = "GatewayAccount"
	AccountRoleID    = "GatewayLogsRoleOfAccount"

	// StageName is the first segment of a path on the gateway's own domain:
	// https://<id>.execute-api.<region>.amazonaws.com/prod/v1/… Paths on a custom domain that is
	// mapped without a base path have no such segment. Links are correct in both cases
	// (gateway.BaseURL).
	StageName = "prod"
	// CompressionBytesMin is the minimum size of a response that is compressed for clients that
	// accept compression.
	CompressionBytesMin = gateway.CompressionBytesMin
	// BinaryTypes makes the gateway pass on every body unchanged. Otherwise it would replace
	// invalid UTF-8, which the service must reject.
	BinaryTypes = "*/*"
)

// AccessLog returns the line that the gateway logs for each request. It contains the path without
// the query, and no headers.
func AccessLog() string {
	line := Object{
		// The function's log line has the same ids (gateway.RequestIDs).
		{"requestId", "$context.requestId"}, {"extendedRequestId", "$context.extendedRequestId"},
		{"lambdaRequestId", "$context.integration.requestId"}, {"xrayTraceId", "$context.xrayTraceId"},
		{"time", "$context.requestTime"}, {"ip", "$context.identity.sourceIp"},
		{"method", "$context.httpMethod"}, {"path", "$context.path"}, {"status", "$context.status"},
		{"bytes", "$context.responseLength"}, {"latency", "$context.responseLatency"},
		{"integrationStatus", "$context.integrationStatus"}, {"integrationLatency", "$context.integrationLatency"},
		{"tlsVersion", "$context.tlsVersion"}, {"cipherSuite", "$context.cipherSuite"},
		{"refusal", "$context.error.responseType"}, {"error", "$context.integrationErrorMessage"},
	}
	text := "{"
	for i, f := range line {
		if i > 0 {
			text += ","
		}
		text += strconv.Quote(f.Name) + ":" + strconv.Quote(f.Value.(string))
	}
	return text + "}"
}

// GatewayResponse is an error response from the gateway itself, with the service's envelope and
// headers.
//
// A REST API renames one header in the responses of functions: WWW-Authenticate arrives as
// X-Amzn-Remapped-Www-Authenticate. A proxy integration cannot prevent that. An authoriser could,
// because its error responses come from the gateway, but every request would then call a second
// function, and revoked keys would be cached. Clients can use the status and the code instead.
type GatewayResponse struct {
	Type    string // API Gateway's name for the error
	Code    fault.Code
	Message string
}

// throttleRetryAfterSeconds is the Retry-After of a response to a request that the gateway
// throttled. It is short because the gateway's token bucket refills every second. The gateway's 5xx
// responses also have the header: most of the errors that a retry can fix are caused by a lack of
// free function instances.
const throttleRetryAfterSeconds = fault.RetryAfterSeconds

// gatewayResponses returns a response for every type of error that API Gateway itself can return,
// so that clients never get AWS's own messages.
func gatewayResponses() []GatewayResponse {
	const failed = "internal error; safe to retry"
	return []GatewayResponse{
		{"DEFAULT_4XX", fault.BadRequest, "the request was rejected before it reached the service"},
		{"DEFAULT_5XX", fault.Internal, failed},
		{"ACCESS_DENIED", fault.Forbidden, "the request may not reach the service"},
		{"API_CONFIGURATION_ERROR", fault.Internal, failed},
		{"AUTHORIZER_CONFIGURATION_ERROR", fault.Internal, failed},
		{"AUTHORIZER_FAILURE", fault.Internal, failed},
		{"BAD_REQUEST_BODY", fault.BadRequest, "body: could not be read"},
		{"BAD_REQUEST_PARAMETERS", fault.BadRequest, "query: could not be read"},
		{"EXPIRED_TOKEN", fault.Unauthorised, "the key is missing or not valid"},
		{"INTEGRATION_FAILURE", fault.Internal, failed},
		{"INTEGRATION_TIMEOUT", fault.Internal, failed},
		{"INVALID_API_KEY", fault.Unauthorised, "the key is missing or not valid"},
		{"INVALID_SIGNATURE", fault.Unauthorised, "the key is missing or not valid"},
		{"MISSING_AUTHENTICATION_TOKEN", fault.NotFound, "no such path"}, // the gateway has no such route
		{"QUOTA_EXCEEDED", fault.RateLimited, "too many requests from all callers together"},
		{"REQUEST_TOO_LARGE", fault.PayloadTooLarge, "body: is larger than any that the service accepts"},
		{"RESOURCE_NOT_FOUND", fault.NotFound, "no such path"},
		{"THROTTLED", fault.RateLimited, "too many requests from all callers together"},
		{"UNAUTHORIZED", fault.Unauthorised, "the key is missing or not valid"},
		{"UNSUPPORTED_MEDIA_TYPE", fault.BadRequest, "body: must be application/json, plain or compressed with gzip"},
		{wafFiltered, fault.RateLimited, "too many requests from this address"},
	}
}

// ID returns the logical id of the response's resource.
func (r GatewayResponse) ID() string {
	out, upper := "Refusal", true
	for _, c := range r.Type {
		switch {
		case c == '_':
			upper = true
		case upper || c < 'A':
			out, upper = out+string(c), false
		default:
			out += string(c - 'A' + 'a')
		}
	}
	return out
}

// Status returns the HTTP status of the code, as a string.
func (r GatewayResponse) Status() string { return strconv.Itoa(r.Code.Status()) }

// Body returns the error envelope (scripts/docs/reference/errors.md).
func (r GatewayResponse) Body() string {
	return string(fault.Envelope(fault.New(r.Code, "%s", r.Message)))
}

// Headers returns the headers in the gateway's notation: a value in single quotes is literal.
func (r GatewayResponse) Headers() map[string]string {
	out := map[string]string{
		"Cache-Control": "'no-store'", "Content-Type": "'application/json'",
		"Service-Request-Id": "context.extendedRequestId", "Service-Version": "'" + fault.Version + "'",
	}
	switch {
	case r.Type == wafFiltered:
		out["Retry-After"] = "'" + strconv.Itoa(addressWindowSeconds) + "'"
	case r.Code == fault.RateLimited || r.Code.Status() >= http.StatusInternalServerError:
		out["Retry-After"] = "'" + strconv.Itoa(throttleRetryAfterSeconds) + "'"
	}
	if r.Code == fault.Unauthorised {
		out["WWW-Authenticate"] = "'Bearer'"
	}
	return out
}

func (r GatewayResponse) headers() Object {
	var out Object
	all := r.Headers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Field{name, all[name]})
	}
	return out
}

// BaseURL is the URL of the service, as an argument for Sub.
const BaseURL = "https://${" + APIID + "}.execute-api.${AWS::Region}.${AWS::URLSuffix}/" + StageName
