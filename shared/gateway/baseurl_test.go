package gateway_test

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/gateway"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                      string
		path, calledPath, stage   string
		host, domain, proto, want string
	}{
		{name: "CustomDomain", path: "/v1/a", calledPath: "/v1/a", stage: "prod", host: "api.example.com", proto: "https", want: "https://api.example.com"},
		{name: "DefaultDomain", path: "/v1/a", calledPath: "/prod/v1/a", stage: "prod", host: "id.example.com", proto: "https", want: "https://id.example.com/prod"},
		{name: "StageLikePath", path: "/v1/a", calledPath: "/v1/v1/a", stage: "v1", host: "h", want: "https://h/v1"},
		{name: "StageLikePathCustomDomain", path: "/v1/a", calledPath: "/v1/a", stage: "v1", host: "h", want: "https://h"},
		{name: "BasePath", path: "/growth/v1/a", calledPath: "/growth/v1/a", stage: "prod", host: "h", want: "https://h"},
		{name: "Root", path: "/", calledPath: "/prod", stage: "prod", host: "h", want: "https://h/prod"},
		{name: "RootSlash", path: "/", calledPath: "/prod/", stage: "prod", host: "h", want: "https://h/prod"},
		{name: "CalledDecoded", path: "/v1/a%2Fb", calledPath: "/prod/v1/a/b", stage: "prod", host: "h", want: "https://h/prod"},
		{name: "ResourceTemplate", path: "/v1/a", calledPath: "/{proxy+}", stage: "Prod", host: "h", want: "https://h"},
		{name: "NotTheStage", path: "/a", calledPath: "/x/a", stage: "prod", host: "h", want: "https://h"},
		{name: "NoContext", path: "/a", host: "h", want: "https://h"},
		{name: "PlainHTTP", path: "/a", calledPath: "/a", host: "127.0.0.1:3000", proto: "http", want: "http://127.0.0.1:3000"},
		{name: "LastProtoCounts", path: "/a", calledPath: "/a", host: "h", proto: "http, https", want: "https://h"},
		{name: "BadProto", path: "/a", calledPath: "/a", host: "h", proto: "javascript", want: "https://h"},
		{name: "BadHost", path: "/a", calledPath: "/a", host: `h>; rel="x"`, domain: "api.example.com", want: "https://api.example.com"},
		{name: "EveryCharacterOfAHost", path: "/a", calledPath: "/a", host: "az-AZ_09.[::1]:443", want: "https://az-AZ_09.[::1]:443"},
		{name: "CharacterAfterZ", path: "/a", calledPath: "/a", host: "a^b", domain: "api.example.com", want: "https://api.example.com"},
		{name: "CharacterAfterSmallZ", path: "/a", calledPath: "/a", host: "a{b", domain: "api.example.com", want: "https://api.example.com"},
		{name: "CharacterBefore0", path: "/a", calledPath: "/a", host: "a/b", domain: "api.example.com", want: "https://api.example.com"},
		{name: "DomainOnly", path: "/a", calledPath: "/a", domain: "api.example.com", want: "https://api.example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := events.APIGatewayProxyRequest{
				HTTPMethod: "GET", Path: tt.path,
				MultiValueHeaders: map[string][]string{"X-Forwarded-Host": {"evil.example"}},
				RequestContext:    events.APIGatewayProxyRequestContext{Path: tt.calledPath, Stage: tt.stage, DomainName: tt.domain},
			}
			if tt.host != "" {
				e.MultiValueHeaders["Host"] = []string{tt.host}
			}
			if tt.proto != "" {
				e.MultiValueHeaders["X-Forwarded-Proto"] = []string{tt.proto}
			}
			r, _ := requestOf(t, t.Context(), e)
			if got := gateway.BaseURL(r); got != tt.want {
				t.Errorf("BaseURL = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBaseURLOutsideProxy(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/a", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	if got := gateway.BaseURL(r); got != "http://example.com" {
		t.Errorf("BaseURL = %q, want that of the connection", got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := gateway.BaseURL(r); got != "https://example.com" {
		t.Errorf("BaseURL with TLS = %q", got)
	}
}
