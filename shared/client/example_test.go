package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"growthworkspace/shared/client"
)

// Approve a reply to every review that needs one. Skip reviews that somebody else has changed in the meantime.
func Example() {
	ctx := context.Background()
	c, err := client.New("http://127.0.0.1:8080", os.Getenv("WORKSPACE_KEY"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for review, err := range c.AllFeedback(ctx, client.ListFeedbackInput{ReplyStatus: new(client.FeedbackReplyStatusNeedsReview)}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		var seen client.Response
		if _, err := c.GetFeedback(ctx, client.GetFeedbackInput{FeedbackID: review.ID}, client.Into(&seen)); err != nil {
			fmt.Println(err)
			return
		}
		_, err := c.UpdateFeedbackReply(ctx, client.UpdateFeedbackReplyInput{
			FeedbackID: review.ID, ReplyBody: client.Value("Thank you."), ReplyStatus: new(client.FeedbackReplyStatusApproved),
		}, client.IfMatch(seen.ETag()))
		var refused *client.Error
		if errors.As(err, &refused) && refused.Code == "precondition_failed" {
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
}
