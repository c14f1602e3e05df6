package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/table"
)

// Ensure that a board without an entry in the record of live versions is treated as never
// published, and that a malformed entry is an error.
func TestLiveState(t *testing.T) {
	itemWithVersion := func(texts ...string) table.Item {
		return table.Encode(struct {
			VersionAndTime []string `store:"brd_1"`
		}{texts})
	}
	const at = "2026-08-11T00:00:00.000Z"
	for _, test := range []struct {
		versions table.Item
		version  int64
		err      string
	}{
		{nil, 0, ""},
		{itemWithVersion("3", at), 3, ""},
		{itemWithVersion("3"), 0, "not a version and a time"},
		{itemWithVersion("three", at), 0, `"three"`},
		{table.Item{"brd_1": table.String("3")}, 0, "brd_1"},
	} {
		got, err := liveVersions(test.versions).ofBoard("brd_1")
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%v: %v, want %q", test.versions, err, test.err)
		}
		var want *int64
		if test.version != 0 {
			want = &test.version
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: version (-want +got):\n%s", test.versions, diff)
		}
	}
}
