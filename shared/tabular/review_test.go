package tabular

import "testing"

// Ensure playReviewID finds the id in every form of the link.
func TestPlayReviewID(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"https://play.google.com/apps/publish?account=7#ReviewDetailsPlace:p=app&reviewid=gp:AOqp_-x": "gp:AOqp_-x",
		"https://play.google.com/console?reviewId=gp%3AAOqp-1&corpus=PUBLIC_REVIEWS":                  "gp:AOqp-1",
		"https://play.google.com/console?corpus=PUBLIC_REVIEWS&reviewId=gp:AOqp+1":                    "gp:AOqp+1",
		"http://play.google.com/console?reviewId=d2b07a18-68e9":                                       "d2b07a18-68e9",
		"https://play.google.com/console?reviewId=%zz":                                                "%zz",
		"https://play.google.com/console?myreviewId=1":                                                "",
		"": "",
	} {
		if got := playReviewID(link); got != want {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
}
