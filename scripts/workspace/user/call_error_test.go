package user

import (
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	"growthworkspace/scripts/workspace/terminal"
)

// Ensure the error for a refused connection names the command that starts a server, if serve could
// listen at that address.
func TestExplainNetwork(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("client: %w", &url.Error{Op: "Get", URL: "http://x", Err: syscall.ECONNREFUSED})
	timeout := &url.Error{Op: "Get", URL: "http://x", Err: errors.New("late")}
	for _, c := range []struct {
		base string
		err  error
		want string
	}{
		{defaultBaseURL, refused, defaultBaseURL + " does not respond: connection refused; start the service there with `run serve`"},
		{"http://localhost:9000", refused, "http://localhost:9000 does not respond: connection refused; start the service there with `run serve --addr localhost:9000`"},
		{"http://[::1]", refused, "http://[::1] does not respond: connection refused; start the service there with `run serve --addr [::1]:80`"},
		{"https://localhost:9000", refused, "https://localhost:9000 does not respond: " + refused.Error()},
		{"http://service.example", refused, "http://service.example does not respond: " + refused.Error()},
		{defaultBaseURL, timeout, defaultBaseURL + " does not respond: " + timeout.Error()},
		{defaultBaseURL, errors.New("no network"), "no network"},
	} {
		u := &userCommands{Terminal: &terminal.Terminal{Program: "run"}}
		if got := u.explainNetworkError(c.err, c.base).Error(); got != c.want {
			t.Errorf("%s: %s, want %s", c.base, got, c.want)
		}
	}
}
