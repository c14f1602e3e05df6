package version_test

import (
	"errors"
	"strings"
	"testing"

	"growthworkspace/shared/version"
)

func replace(from, to string) func(string, []byte) ([]byte, error) {
	return func(operation string, text []byte) ([]byte, error) {
		if operation == "broken" {
			return nil, errors.New("planted")
		}
		return []byte(strings.ReplaceAll(string(text), from, to)), nil
	}
}

var history = version.History{
	{Date: "2028-01-01"},
	{Date: "2027-01-01", Arguments: replace("b", "c"), Answer: replace("c", "b")},
	{Date: "2026-01-01", Arguments: replace("a", "b"), Answer: replace("b", "a")},
	{Date: "2025-01-01"},
}

// Ensure a message goes through every step between two versions, in their order.
func TestTranslations(t *testing.T) {
	for date, want := range map[string]string{"2028-01-01": "a", "2027-01-01": "a", "2026-01-01": "c", "2025-01-01": "c", "": "a"} {
		if got, err := history.Forwards(date, "op", []byte("a")); err != nil || string(got) != want {
			t.Errorf("forwards from %s: %s, %v", date, got, err)
		}
	}
	for date, want := range map[string]string{"2028-01-01": "c", "2027-01-01": "b", "2026-01-01": "a", "2025-01-01": "a", "": "c"} {
		if got, err := history.Back(date, "op", []byte("c")); err != nil || string(got) != want {
			t.Errorf("back to %s: %s, %v", date, got, err)
		}
	}
	if _, err := history.Forwards("2026-01-01", "broken", nil); err == nil {
		t.Error("a translation failed in silence")
	}
	if _, err := history.Back("2026-01-01", "broken", nil); err == nil {
		t.Error("a translation failed in silence")
	}
}

// Ensure that what is not served is refused with the dates that are (decisions.md §10).
func TestRequested(t *testing.T) {
	for _, good := range [][]string{{"2026-01-01"}, {" 2028-01-01 "}} {
		if date, err := history.Requested(good); err != nil || date != strings.TrimSpace(good[0]) {
			t.Errorf("%q: %q, %v", good, date, err)
		}
	}
	if date, err := history.Requested(nil); date != "" || err != nil {
		t.Errorf("%q, %v", date, err)
	}
	for _, bad := range [][]string{{""}, {"2024-01-01"}, {"latest"}, {"2026-01-01", "2026-01-01"}, {"2026-01-01,2027-01-01"}} {
		if _, err := history.Requested(bad); err == nil || !strings.Contains(err.Error(), "2028-01-01, 2027-01-01, 2026-01-01, 2025-01-01") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if date, err := history.Of(""); date != "2028-01-01" || err != nil {
		t.Errorf("%q, %v", date, err)
	}
	if _, err := history.Of("2024-01-01"); err == nil || !strings.Contains(err.Error(), "2024-01-01 is not served any more") {
		t.Error(err)
	}
}
