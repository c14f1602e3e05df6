package apitest

import (
	"net/http"
	"strings"
	"testing"
)

// Scenario is one call and its expected response.
type Scenario struct {
	Name        string
	Key         string // if empty, a key with every scope is used
	Op          string
	Args        map[string]any
	Want        int            // the status; zero means 200
	WantCode    string         // the error code; not checked if empty
	WantMessage string         // substring of the error's messages
	WantFields  map[string]any // fields of the response, compared as JSON
	Check       func(t *testing.T, r Response)
}

// AllTransitions returns scenarios for records in which any status may follow any other. They
// update a record from each status to every status. The function args returns the arguments that
// set a property.
func AllTransitions(update string, args func(property string, value any) map[string]any, statuses []string) (out []Scenario) {
	for _, from := range statuses {
		for _, to := range statuses {
			out = append(out,
				Scenario{Name: "to " + from, Op: update, Args: args("status", from), WantFields: map[string]any{"status": from}},
				Scenario{Name: from + " to " + to, Op: update, Args: args("status", to), WantFields: map[string]any{"status": to}})
		}
	}
	return out
}

// Run runs scenarios one after the other, each as a subtest.
func (s *Service) Run(t *testing.T, scenarios []Scenario) {
	t.Helper()
	fullKey := s.IssueKey(t)
	for _, sc := range scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			key := sc.Key
			if key == "" {
				key = fullKey
			}
			want := sc.Want
			if want == 0 {
				want = http.StatusOK
			}
			r := s.Call(t, key, sc.Op, sc.Args)
			if r.Status != want {
				t.Fatalf("status %d, want %d: %s", r.Status, want, r.Body)
			}
			sc.check(t, r)
		})
	}
}

func (sc Scenario) check(t *testing.T, r Response) {
	t.Helper()
	if sc.WantCode != "" || sc.WantMessage != "" {
		code, messages := r.Messages(t)
		if sc.WantCode != "" && code != sc.WantCode {
			t.Errorf("code %s, want %s", code, sc.WantCode)
		}
		if !strings.Contains(strings.Join(messages, "\n"), sc.WantMessage) {
			t.Errorf("messages %q, want %q in them", messages, sc.WantMessage)
		}
	}
	if len(sc.WantFields) > 0 {
		body := r.JSON(t)
		for name, want := range sc.WantFields {
			if got := body[name]; !equalJSON(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	}
	if sc.Check != nil {
		sc.Check(t, r)
	}
}
