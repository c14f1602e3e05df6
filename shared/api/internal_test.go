package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

var (
	errSecret   = errors.New("dial tcp 10.0.0.7: AKIAPLANTED")
	unencodable = math.NaN()
)

type panickingMarshaler struct{}

func (panickingMarshaler) MarshalJSON() ([]byte, error) { panic("AKIAPLANTED in encoding") }

// Ensure the response to an internal error has the code `internal` and no details. The message and
// the stack of the error must be in one log line with the request id.
func TestInternalErrors(t *testing.T) {
	for name, breakService := range map[string]func(s *service){
		"error": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { return nil, errSecret }
		},
		"wrapped": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { return nil, errors.Join(errSecret) }
		},
		"internal with a text": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) {
				return nil, fault.New(fault.Internal, "AKIAPLANTED")
			}
		},
		"an unknown code": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { return nil, fault.New("nope", "AKIAPLANTED") }
		},
		"no message": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) {
				return nil, errors.Join(&fault.Error{Code: fault.Conflict}, errSecret)
			}
		},
		"panic": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { panic(errSecret) }
		},
		"panic of the runtime": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) {
				var n *struct{ AKIAPLANTED string }
				return n.AKIAPLANTED, nil
			}
		},
		"not JSON": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) {
				return map[string]any{"AKIAPLANTED": unencodable}, nil
			}
		},
		"encoding": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { return panickingMarshaler{}, nil }
		},
		"keys":          func(s *service) { s.keys.err = errSecret },
		"panic of keys": func(s *service) { s.keys.shouldPanic = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			breakService(s)
			a := s.requireError(s.request("GET", itemPath, ""), 500, "internal error; safe to retry")
			if after := a.Header().Get("Retry-After"); a.code != "internal" || len(a.messages) != 1 || after != "1" {
				t.Errorf("code %q, messages %q, Retry-After %q; want internal, one and 1", a.code, a.messages, after)
			}
			for name, values := range a.Header() {
				if strings.Contains(strings.Join(values, ""), "AKIA") {
					t.Errorf("in %s: %v", name, values)
				}
			}
			if strings.Contains(a.Body.String(), "AKIA") || strings.Contains(a.Body.String(), "goroutine") {
				t.Errorf("the body shows the error: %s", a.Body)
			}
			if !strings.HasPrefix(name, "keys") && !strings.HasPrefix(name, "panic of keys") && a.Header().Get("RateLimit-Limit") == "" {
				t.Error("an authenticated response without rate limit headers")
			}
			lines := strings.Split(strings.TrimSpace(s.logs.String()), "\n")
			var line map[string]any
			if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || len(lines) != 1 {
				t.Fatalf("%d lines: %s", len(lines), s.logs)
			}
			text, _ := line["error"].(string)
			checkLine(t, "log", line, map[string]any{"extendedRequestId": a.Header().Get("Service-Request-Id"), "level": "ERROR", "Operation": "get_item", "status": 500.0})
			if text == "" {
				t.Errorf("log without an error: %v", line)
			}
			if strings.HasPrefix(name, "panic") != strings.Contains(text, "goroutine") && name != "encoding" {
				t.Errorf("a stack: %s", text)
			}
			if strings.Contains(s.logs.String(), s.key) {
				t.Error("the key is in the log")
			}
		})
	}
}

// Ensure a client that disconnects is no error in the log. A failure of the service is one, even if
// the client has disconnected.
func TestClientDisconnects(t *testing.T) {
	for level, cause := range map[string]error{"INFO": context.Canceled, "ERROR": errors.New("down")} {
		s := start(t)
		ctx, disconnect := context.WithCancel(t.Context())
		s.get = func(context.Context, api.Caller, getInput) (any, error) {
			disconnect()
			return nil, fmt.Errorf("get item: %w", cause)
		}
		s.api.ServeHTTP(httptest.NewRecorder(), s.request("GET", itemPath, "").WithContext(ctx))
		var line map[string]any
		if err := json.Unmarshal(s.logs.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line["level"] != level || line["status"] != map[string]any{"INFO": 499.0, "ERROR": 500.0}[level] {
			t.Errorf("%v: the level is %v and the status %v, want %s", cause, line["level"], line["status"], level)
		}
	}
}

// Ensure that an overloaded service responds with 503 and Retry-After, and that only the log
// contains the reason. The response must not be stored under an Idempotency-Key.
func TestUnavailable(t *testing.T) {
	errOverloaded := fmt.Errorf("admit: %w: planted", fault.ErrUnavailable)
	for name, breakService := range map[string]func(s *service){
		"keys": func(s *service) { s.keys.err = errOverloaded },
		"function": func(s *service) {
			s.get = func(context.Context, api.Caller, getInput) (any, error) { return nil, errOverloaded }
		},
	} {
		s := start(t)
		breakService(s)
		a := s.requireError(s.request("GET", itemPath, ""), 503, fault.ErrUnavailable.Messages[0])
		if after := a.Header().Get("Retry-After"); a.code != "unavailable" || after != "1" {
			t.Errorf("%s: code %q, Retry-After %q; want unavailable and 1", name, a.code, after)
		}
		if strings.Contains(a.Body.String(), "planted") {
			t.Errorf("%s: the body shows the cause: %s", name, a.Body)
		}
		if !strings.Contains(s.logs.String(), "planted") {
			t.Errorf("%s: the log does not have the cause: %s", name, s.logs)
		}
	}
}

// Ensure the response to a panic outside of API.Call contains the error envelope, or no body if the
// method is HEAD.
func TestPanicOutsideOfACall(t *testing.T) {
	s := start(t)
	s.list = func(context.Context, api.Caller, listInput) (api.List[record], error) {
		return api.NewList(table.Page[record]{Records: []record{{}}, Next: "next"}), nil
	}
	s.baseURL = func(*http.Request) string { panic("AKIAPLANTED") }
	if a := s.requireError(s.request("GET", itemsPath, ""), 500, "internal error; safe to retry"); strings.Contains(a.Body.String(), "AKIA") || !strings.Contains(s.logs.String(), "AKIAPLANTED") {
		t.Errorf("body %s, log %s; want the panic in the log only", a.Body, s.logs)
	}
	if a := s.do(s.request("HEAD", itemsPath, "")); a.Code != 500 || a.Body.Len() != 0 {
		t.Errorf("HEAD: status %d, body %q; want 500 and none", a.Code, a.Body)
	}
}

// Ensure that an invalid request adds only a few kilobytes to the log, and that a key in the wrong
// place in a request is not logged.
func TestLogOfInvalidRequests(t *testing.T) {
	s := start(t)
	body := `{"title":"a",` + strings.Repeat(`"`+strings.Repeat("x", 100)+`":1,`, 2000) + `"z":1}`
	a := s.requireError(s.request("POST", itemsPath, body), 400, "")
	if a.Body.Len() > 1<<20 || s.logs.Len() > 4000 {
		t.Errorf("%d bytes of response, %d of log", a.Body.Len(), s.logs.Len())
	}
	s.requireError(s.request("GET", itemPath+"?key="+s.key+"&k;="+s.key+"&q=%zz"+s.key, ""), 400, "query: k;: is malformed")
	if strings.Contains(s.logs.String(), s.key) {
		t.Error("a key is in the log")
	}
}
