package user

import (
	"strings"
	"testing"

	"growthworkspace/functions/overview"
	"growthworkspace/shared/client"
)

// Ensure status names every kind of what needs a person, prints at most nine lines for them, shows
// no control characters of a title, and names the missing scopes.
func TestStatusText(t *testing.T) {
	t.Parallel()
	out := client.CompanyOverview{Missing: []client.Scope{"company:read", "keys:read"}}
	for _, kind := range overview.Kind("").Values() {
		if _, known := attentionNouns[client.OverviewKind(kind)]; !known {
			t.Errorf("%s has no noun", kind)
		}
		out.Attention = append(out.Attention, client.Attention{Kind: client.OverviewKind(kind), Count: 1, Items: []client.AttentionItem{{Title: "A\x1b[2J title"}}})
	}
	text := statusText(out, 0)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != statusLinesMax+1 || strings.Contains(text, "\x1b") || !strings.HasPrefix(lines[8], "and 1 drafted post to read, 1 channel") ||
		lines[9] != "not checked, because the key lacks the scopes: keys:read" {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	nine := client.CompanyOverview{Attention: out.Attention[:9]}
	if lines := strings.Split(strings.TrimSuffix(statusText(nine, 0), "\n"), "\n"); len(lines) != 9 || !strings.Contains(lines[8], "first: ") {
		t.Errorf("nine kinds: %q", lines)
	}
	more := client.Attention{Kind: "a_later_kind", Count: 1000, More: true}
	if got := countText(more); got != "1000+ a later kind" {
		t.Errorf("got %q", got)
	}
}
