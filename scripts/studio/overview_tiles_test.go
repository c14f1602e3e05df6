package studio

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Ensure a goal's bar shows the value needed per day. A goal for a total applies to the month in
// which it is due, and a goal that is reached from above is a limit. The value includes today, but
// the pace does not.
func TestGoalBar(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 8, 11, 15, 0, 0, 0, time.UTC)
	const sum, last, avg = client.MetricsAggregationSum, client.MetricsAggregationLast, client.MetricsAggregationAvg
	var daily, none []client.Point
	for day := 1; day <= 11; day++ {
		daily = append(daily, pointOn(day, 20))
	}
	day := func(text string) client.Optional[time.Time] {
		if text == "" {
			return client.Optional[time.Time]{}
		}
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return client.Value(at.Add(12 * time.Hour))
	}
	for _, c := range []struct {
		aggregation client.MetricsAggregation
		points      []client.Point
		baseline    float64
		target      float64
		due         string
		want        string
	}{
		{sum, daily, 100, 640, "", "goal 640 this month: 20 a day needed, 20 so far good 0.34"},
		{sum, daily, 100, 1000, "2026-08-31", "goal 1,000 this month: 38 a day needed, 20 so far bad 0.22"},
		{sum, daily, 100, 400, "2026-08-15", "goal 400 this month: 36 a day needed, 20 so far bad 0.55"},
		{sum, daily, 100, 220, "2026-08-31", "goal 220 this month: reached good 1.00"},
		{sum, daily, 100, 900, "2026-09-30", "goal 900 in September: 30 a day then, 20 now even 0.67"},
		{sum, daily, 100, 900, "2026-08-10", "goal 900 was due Aug 10 bad 0.24"},
		{sum, daily, 900, 450, "2026-08-31", "goal 450 this month: at most 10 a day, 20 so far bad 0.49"},
		{sum, daily, 900, 200, "2026-08-31", "goal 200 this month: exceeded bad 1.10"},
		{sum, none, 100, 900, "", "goal 900 even 0.00"},
		{last, daily, 10, 44, "2026-08-22", "goal 44 by Aug 22: +2 a day needed even 0.29"},
		{last, daily, 40, 8, "2026-08-22", "goal 8 by Aug 22: −1 a day needed even 0.62"},
		{last, daily, 10, 20, "2026-08-22", "goal 20: reached good 1.00"},
		{avg, daily, 10, 25, "2026-08-22", "goal 25 by Aug 22: 5 to go even 0.67"},
		{avg, daily, 10, 25, "", "goal 25: 5 to go even 0.67"},
		{avg, daily, 40, 30, "", "goal 30: reached good 2.00"},
	} {
		m := metric{Metric: series.Metric{Aggregation: c.aggregation, UnitName: units.Count, Goals: []client.Goal{{
			BaselineValue: client.Value(c.baseline), TargetValue: client.Value(c.target), DueAt: day(c.due), Status: client.Value(client.ContextGoalStatusActive),
		}}}}
		got := m.goalBar(c.points, units.Unit{Name: units.Count}, today)
		if text := fmt.Sprintf("%s %s %.2f", got.Text, got.Class, got.Share); text != c.want {
			t.Errorf("%s of %v until %q: %s, want %s", c.aggregation, c.target, c.due, text, c.want)
		}
	}
	if got := (metric{}).goalBar(daily, units.Unit{}, today); got != nil {
		t.Errorf("a metric without a goal has the bar %+v", got)
	}
}

// Ensure the reviews tile counts the reviews of the last seven days. It must compare them with the
// seven days before only if all reviews of those days were read.
func TestReviewTile(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 15, 0, 0, 0, time.UTC)
	var reviews []client.Feedback
	add := func(daysAgo float64, stars int, status client.FeedbackReplyStatus) {
		f := client.Feedback{PostedAt: client.Value(now.Add(-time.Duration(daysAgo * 24 * float64(time.Hour)))), ReplyStatus: client.Value(status)}
		if stars > 0 {
			f.Rating = client.Value(stars)
		}
		reviews = append(reviews, f)
	}
	add(0.1, 5, client.FeedbackReplyStatusNone)
	add(1, 0, client.FeedbackReplyStatusPosted)
	add(6.9, 2, client.FeedbackReplyStatusApproved)
	weekCount := len(reviews)
	add(7.1, 1, client.FeedbackReplyStatusPosted)
	add(13.9, 1, client.FeedbackReplyStatusNone)
	add(14.1, 1, client.FeedbackReplyStatusNone)
	for _, c := range []struct {
		reviews []client.Feedback
		next    string
		want    string
	}{
		{reviews, "", "3 2 3.5 1 answered, 1 reply approved"}, {reviews, "more", "3 2 3.5 1 answered, 1 reply approved"}, {reviews[:weekCount+1], "more", "3  3.5 1 answered, 1 reply approved"}, {reviews[:weekCount], "more", "3+  3.5 1 answered, 1 reply approved"}, {nil, "", "0 0  0 answered"},
	} {
		got := reviewTileOf(client.Page[client.Feedback]{Items: c.reviews, Next: c.next}, now)
		if text := fmt.Sprintf("%s %s %s %s", got.Count, got.Before, got.Average, got.Replies()); text != c.want {
			t.Errorf("%d reviews, next %q: %q, want %q", len(c.reviews), c.next, text, c.want)
		}
	}
}

// Ensure a value per day has no more digits than are useful to a person.
func TestRound(t *testing.T) {
	t.Parallel()
	var got []string
	for _, v := range []float64{0, 0.01234, 1.27, 43.47, 1234, -0.126} {
		got = append(got, fmt.Sprint(round(v)))
	}
	if text := strings.Join(got, " "); text != "0 0.012 1.3 43 1200 -0.13" {
		t.Error(text)
	}
}
