// Command tutorial adds records to an empty company, the same ones that the tutorial adds with
// commands: a roadmap, a content plan, a metric, reviews and a website with an audit. It needs only
// a key.
//
//	export WORKSPACE_URL=http://127.0.0.1:8080 WORKSPACE_KEY=…
//	go run ./scripts/docs/tutorial lighthouse.json
//
// Every create has an Idempotency-Key, so running it again on the same day creates nothing twice.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"growthworkspace/shared/client"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: tutorial LIGHTHOUSE_REPORT")
	}
	report, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.New(os.Getenv("WORKSPACE_URL"), os.Getenv("WORKSPACE_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	if err := fill(context.Background(), c, time.Now(), report, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// fill adds the records to the company of the client's key, and then prints what the company has.
func fill(ctx context.Context, c *client.Client, now time.Time, report []byte, out io.Writer) error {
	if _, err := c.UpdateCompany(ctx, client.UpdateCompanyInput{
		Stage: client.Value(client.CompanyStageGrowth), Summary: client.Value("Notes that work without a signal."),
	}); err != nil {
		return err
	}
	today := now.UTC().Truncate(24 * time.Hour) // a second run on the same day must send the same requests with the same Idempotency-Keys
	for _, step := range []func() error{
		func() error { return createRoadmap(ctx, c) },
		func() error { return createContent(ctx, c, today) },
		func() error { return pushMetrics(ctx, c, today) },
		func() error { return pushReviews(ctx, c) },
		func() error { return createAudit(ctx, c, report) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return printStatus(ctx, c, out)
}

// createRoadmap creates a board with items, previews a publish, and publishes exactly what the
// preview showed.
func createRoadmap(ctx context.Context, c *client.Client) error {
	board, err := c.CreatePlanBoard(ctx, client.CreatePlanBoardInput{Name: "Roadmap"}, client.IdempotencyKey("tutorial-board"))
	if err != nil {
		return err
	}
	for i, title := range []string{"Write without a signal", "Shared notebooks"} {
		if _, err := c.CreatePlanItem(ctx, client.CreatePlanItemInput{
			BoardID: board.ID, Title: title, ColumnID: client.Value("now"), SortOrder: client.Value(i + 1), Status: client.Value(client.PlanStatusPublished),
		}, client.IdempotencyKey("tutorial-item "+title)); err != nil {
			return err
		}
	}
	var response client.Response
	preview, err := c.PreviewPlanPublish(ctx, client.PreviewPlanPublishInput{BoardID: board.ID}, client.Into(&response))
	if err != nil || !preview.HasChanges {
		return err
	}
	_, err = c.PublishPlanBoard(ctx, client.PublishPlanBoardInput{BoardID: board.ID}, client.IfMatch(response.ETag()))
	return err
}

// createContent creates a plan, an accepted idea in it, and a scheduled post for the idea.
func createContent(ctx context.Context, c *client.Client, today time.Time) error {
	plan, err := c.CreateBroadcastPlan(ctx, client.CreateBroadcastPlanInput{
		Name: "Launch", Objective: client.Value("Everyone on a train knows that it works offline."), Status: client.Value(client.BroadcastPlanStatusActive),
	}, client.IdempotencyKey("tutorial-plan"))
	if err != nil {
		return err
	}
	idea, err := c.CreateBroadcastIdea(ctx, client.CreateBroadcastIdeaInput{
		Title: "A note from a tunnel", PlanID: client.Value(plan.ID), SourceKind: client.Value(client.BroadcastSourceKindRoadmap),
	}, client.IdempotencyKey("tutorial-idea"))
	if err != nil {
		return err
	}
	if _, err := c.UpdateBroadcastIdea(ctx, client.UpdateBroadcastIdeaInput{
		IdeaID: idea.ID, Status: client.Value(client.BroadcastIdeaStatusAccepted),
	}); err != nil {
		return err
	}
	tomorrow := today.AddDate(0, 0, 1)
	_, err = c.CreateBroadcastPost(ctx, client.CreateBroadcastPostInput{
		Platform: client.BroadcastPlatformX, Body: "Written in a tunnel, sent at the next station.", IdeaID: client.Value(idea.ID),
		Status: client.Value(client.BroadcastPostStatusScheduled), ScheduledFor: client.Value(tomorrow.Add(9 * time.Hour)),
	}, client.IdempotencyKey("tutorial-post"))
	return err
}

// pushMetrics defines a metric, pushes two weeks of points, and sets a goal for it.
func pushMetrics(ctx context.Context, c *client.Client, today time.Time) error {
	if _, err := c.CreateMetricDefinition(ctx, client.CreateMetricDefinitionInput{
		Key: "growth.signups", Name: client.Value("Sign-ups"), Unit: client.Value(client.MetricsUnitCount),
		Aggregation: client.Value(client.MetricsAggregationSum), Polarity: client.Value(client.MetricsPolarityUpIsGood),
	}, client.IdempotencyKey("tutorial-metric")); err != nil {
		return err
	}
	var points []client.PushMetricPointsPoint
	for ago := range 14 {
		points = append(points, client.PushMetricPointsPoint{
			MetricKey: "growth.signups", TS: client.Day(today.AddDate(0, 0, -ago)), Value: float64(40 - ago),
		})
	}
	if _, err := c.PushMetricPoints(ctx, client.PushMetricPointsInput{Points: points}); err != nil {
		return err
	}
	_, err := c.CreateContextGoal(ctx, client.CreateContextGoalInput{
		Name: "A thousand sign-ups in a month", MetricKey: client.Value("growth.signups"), TargetValue: client.Value(1000.0),
		DueAt: client.Value(today.AddDate(0, 3, 0)),
	}, client.IdempotencyKey("tutorial-goal"))
	return err
}

// pushReviews pushes two reviews and drafts a reply to the one with fewer stars. The reply still
// has to be approved by a person.
func pushReviews(ctx context.Context, c *client.Client) error {
	if _, err := c.PushFeedback(ctx, client.PushFeedbackInput{Records: []client.PushFeedbackRecord{
		{Source: client.FeedbackSourceAppStore, ExternalID: "1001", Title: client.Value("Lost a note"), Rating: client.Value(1)},
		{Source: client.FeedbackSourceAppStore, ExternalID: "1002", Title: client.Value("Calm"), Rating: client.Value(5)},
	}}); err != nil {
		return err
	}
	for review, err := range c.AllFeedback(ctx, client.ListFeedbackInput{}) {
		if err != nil {
			return err
		}
		if review.Rating.Or(5) > 2 {
			continue
		}
		if _, err := c.UpdateFeedbackReply(ctx, client.UpdateFeedbackReplyInput{
			FeedbackID: review.ID, ReplyBody: client.Value("We are sorry, and we are looking for it."),
			ReplyStatus: client.Value(client.FeedbackReplyStatusNeedsReview),
		}); err != nil {
			return err
		}
	}
	return nil
}

// createAudit creates a site with a goal, and stores a Lighthouse report as an audit.
func createAudit(ctx context.Context, c *client.Client, report []byte) error {
	site, err := c.CreateOptimiseSite(ctx, client.CreateOptimiseSiteInput{
		Name: "Website", Domains: client.Value([]string{"northwind.example"}),
	}, client.IdempotencyKey("tutorial-site"))
	if err != nil {
		return err
	}
	if _, err := c.CreateOptimiseGoal(ctx, client.CreateOptimiseGoalInput{
		SiteID: site.ID, Name: "Signed up", Kind: client.OptimiseGoalKindPath, MatchType: client.OptimiseGoalMatchPrefix, Pattern: "/welcome",
	}, client.IdempotencyKey("tutorial-site-goal")); err != nil {
		return err
	}
	audit, err := newAuditInput(report, site.ID)
	if err != nil {
		return err
	}
	_, err = c.CreateOptimiseAudit(ctx, audit, client.IdempotencyKey("tutorial-audit"))
	return err
}

// printStatus prints how many records of each kind the company has.
func printStatus(ctx context.Context, c *client.Client, out io.Writer) error {
	boards, err := c.ListPlanBoards(ctx, client.ListPlanBoardsInput{})
	if err != nil {
		return err
	}
	for _, board := range boards.Items {
		live, err := c.ListPlanLiveItems(ctx, client.ListPlanLiveItemsInput{BoardID: board.ID})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "board %v, version %v: %d items live\n", board.Name, board.PublishedVersion, len(live.Items))
	}
	for post, err := range c.AllBroadcastPosts(ctx, client.ListBroadcastPostsInput{}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "post on %v, %v: %v\n", post.Platform, post.Status, post.Body)
	}
	points, err := c.ListMetricPoints(ctx, client.ListMetricPointsInput{MetricKey: "growth.signups"})
	if err != nil {
		return err
	}
	total := 0.0
	for _, point := range points.Items {
		total += point.Value.Or(0)
	}
	fmt.Fprintf(out, "growth.signups: %d days, %v in all\n", len(points.Items), total)
	for review, err := range c.AllFeedback(ctx, client.ListFeedbackInput{ReplyStatus: client.Value(client.FeedbackReplyStatusNeedsReview)}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "reply to %v: %v\n", review.Title, review.ReplyBody)
	}
	for audit, err := range c.AllOptimiseAudits(ctx, client.ListOptimiseAuditsInput{}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "audit of %v, %v: %v of 100\n", audit.RootURL, audit.Status, audit.ScoreSEO)
	}
	return nil
}
