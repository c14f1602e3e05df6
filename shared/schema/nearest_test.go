package schema_test

import (
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure the nearest name is the one that was meant, and that an unrelated name has none.
func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"boardId", "title", "limit", "replyStatus", "metricKey", "growth.signups", "growth.signup_rate"}
	for sent, want := range map[string]string{
		"limit": "limit", "LIMIT": "limit", "limti": "limit", "limits": "limit", "limt": "limit", "linit": "limit",
		"board_id": "boardId", "board-id": "boardId", "boardid": "boardId", "board": "boardId", "reply_stauts": "replyStatus",
		"metric": "metricKey", "growth.signup": "growth.signups", "growth.signuprates": "growth.signup_rate",
		"": "", "-": "", "status": "replyStatus", "key": "", "x": "", "page": "", "tidal": "", "titleandmore": "",
	} {
		if got := schema.Nearest(sent, names); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
	if got := schema.Nearest("ab", []string{"abc", "AB"}); got != "AB" {
		t.Errorf("the nearer one comes second: %q", got)
	}
	if got := schema.Nearest("abcdef", []string{"abcdex", "abcdey"}); got != "abcdex" {
		t.Errorf("equally near: %q", got)
	}
}
