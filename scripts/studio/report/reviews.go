package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// reviewPages are the reviews of a week and of the week before, newest first.
type reviewPages struct {
	reviews []client.Feedback
	cut     bool // there are older reviews that were not read
}

// startReviews starts the calls for the reviews of both weeks, one page after another.
func (build *builder) startReviews() *batch.Result[reviewPages] {
	in := client.ListFeedbackInput{
		PostedFrom: client.Value(client.Day(build.monday.AddDate(0, 0, -8))), PostedTo: client.Value(client.Day(build.monday.AddDate(0, 0, 7))), Limit: client.Value(200),
	}
	return batch.Start(build.Reader, partReviews, "feedback:read", func(ctx context.Context) (out reviewPages, err error) {
		for page := range reviewPagesMax {
			if page > 0 {
				build.CountCall()
			}
			list, err := build.API.ListFeedback(ctx, in)
			if err != nil {
				return out, err
			}
			out.reviews = append(out.reviews, list.Items...)
			if list.Next == "" {
				return out, nil
			}
			in.Cursor = client.Value(list.Next)
		}
		out.cut = true
		return out, nil
	})
}

func (build *builder) reviewsOfWeek() Reviews {
	out := Reviews{Waiting: []string{}}
	if build.reviews == nil || !build.reviews.Known {
		return out
	}
	out.Read = true
	oldest := build.now
	sum, rated := 0, 0
	for _, f := range build.reviews.Value.reviews {
		at := f.PostedAt.Or(time.Time{})
		oldest = at
		if !build.inWeek(at) {
			if build.inWeekBefore(at) {
				out.Before++
			}
			continue
		}
		out.Count++
		stars, hasStars := f.Rating.Get()
		if !hasStars || stars < 1 || stars > 5 {
			out.Mentions++
			continue
		}
		out.Stars[stars-1]++
		sum, rated = sum+stars, rated+1
		if out.Worst == nil || stars < out.Worst.Stars {
			out.Worst = newReview(f, stars)
		}
	}
	if rated > 0 {
		out.Average = units.Number(float64(sum)/float64(rated), 1, 1)
	}
	cut := build.reviews.Value.cut
	out.HasBefore = !cut || oldest.Before(build.dayStart(-7))
	if out.More = cut && !oldest.Before(build.start); cut && !out.HasBefore {
		build.AddGap(batch.Gap{Part: partReviews, Reason: fmt.Sprintf("only the %d latest of both weeks were read", len(build.reviews.Value.reviews))})
	}
	out.Approvals = waitingText(build.approvals, "reply to approve", "replies to approve")
	out.NoReply = waitingText(build.unanswered, "review without a reply", "reviews without a reply")
	if len(build.failedReplies.Value.Items) > 0 {
		out.NotPosted = waitingText(build.failedReplies, "reply that could not be posted", "replies that could not be posted")
	}
	urgent := slices.Clone(attention.ByUrgency(build.approvals.Value.Items, build.unanswered.Value.Items))
	for _, f := range urgent[:min(len(urgent), waitingMax)] {
		out.Waiting, out.WaitingIDs = append(out.Waiting, attention.ReviewName(f)), append(out.WaitingIDs, f.ID)
	}
	return out
}

// newReview returns the parts of a review that the page of the week shows.
func newReview(f client.Feedback, stars int) *Review {
	return &Review{
		ID: f.ID, Stars: stars, Title: phrase.Excerpt(cmp.Or(f.Title.Or(""), f.Body.Or(""), "(no text)"), 80), Text: phrase.Excerpt(f.Body.Or(""), 400),
		By: phrase.Excerpt(f.AuthorName.Or("somebody"), 40) + ", " + phrase.Words(string(f.Source.Or(""))),
	}
}

// waitingText formats the number of reviews in a list with its noun. It returns "" if the list
// could not be read.
func waitingText(list *batch.Result[client.Page[client.Feedback]], one, many string) string {
	if !list.Known {
		return ""
	}
	return countText(len(list.Value.Items), list.Value.Next != "", one, many)
}
