package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"growthworkspace/shared/client"
)

const (
	roadmap = "brd_1"
	id      = "itm_1"
)

// Print the boards of the key's company.
func Example() {
	serveExamples()

	ctx := context.Background()
	c, err := client.New(os.Getenv("WORKSPACE_URL"), os.Getenv("WORKSPACE_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	for board, err := range c.AllPlanBoards(ctx, client.ListPlanBoardsInput{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(board.ID, board.Name, board.PublishedVersion)
	}
	// Output:
	// brd_1 Roadmap 7
	// brd_2 Ideas null
}

// Read one record. A field that may be null has the methods Or and Get. Printing it shows its value
// or null.
func ExampleClient_GetPlanItem() {
	ctx, c := serveExamples()

	item, err := c.GetPlanItem(ctx, client.GetPlanItemInput{ItemID: id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(item.Title, item.Status, item.Summary)
	fmt.Println(item.Summary.Or("no summary"))
	if created, ok := item.CreatedAt.Get(); ok {
		fmt.Println(created.Format(time.DateOnly))
	}
	// Output:
	// Offline mode published null
	// no summary
	// 2026-08-11
}

// Read every record of a list, page after page.
func ExampleClient_AllPlanItems() {
	ctx, c := serveExamples()

	for item, err := range c.AllPlanItems(ctx, client.ListPlanItemsInput{
		BoardID: roadmap,
		Status:  client.Value(client.PlanStatusPublished),
	}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(item.Slug, item.SortOrder)
	}
	// Output:
	// offline-mode 1
	// shared-notebooks 2
	// tags null
}

// Read a list one page at a time.
func ExampleClient_ListPlanItems() {
	ctx, c := serveExamples()

	in := client.ListPlanItemsInput{BoardID: roadmap, Limit: client.Value(2)}
	for {
		page, err := c.ListPlanItems(ctx, in)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Items))
		if page.Next == "" {
			break
		}
		in.Cursor = client.Value(page.Next)
	}
	// Output:
	// 2
	// 1
}

// Create a record once, even if the program runs again.
func ExampleClient_CreatePlanItem() {
	ctx, c := serveExamples()

	for range 2 {
		item, err := c.CreatePlanItem(ctx, client.CreatePlanItemInput{
			BoardID:     roadmap,
			Title:       "Dark mode",
			Status:      client.Value(client.PlanStatusPublished),
			SortOrder:   client.Value(3),
			CategoryIDs: client.Value([]string{"design"}),
		}, client.IdempotencyKey("roadmap-row-17"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(item.ID, item.Title, item.CategoryIDs)
	}
	// Output:
	// itm_4 Dark mode [design]
	// itm_4 Dark mode [design]
}

// Update a record unless somebody else has changed it since it was read.
func ExampleClient_UpdatePlanItem() {
	ctx, c := serveExamples()

	var seen client.Response
	item, err := c.GetPlanItem(ctx, client.GetPlanItemInput{ItemID: id}, client.Into(&seen))
	if err != nil {
		log.Fatal(err)
	}
	item, err = c.UpdatePlanItem(ctx, client.UpdatePlanItemInput{
		ItemID: id,
		Title:  client.Value(item.Title + " for everyone"),
	}, client.IfMatch(seen.ETag()))
	fmt.Println(item.Title, err)

	// The entity tag identifies the record as it was before the update, so a second update is
	// refused.
	_, err = c.UpdatePlanItem(ctx, client.UpdatePlanItemInput{ItemID: id, Title: client.Value("Offline")}, client.IfMatch(seen.ETag()))
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code)
	}
	// Output:
	// Offline mode for everyone <nil>
	// precondition_failed
}

// Clear a field.
func ExampleNull() {
	ctx, c := serveExamples()

	item, err := c.UpdatePlanItem(ctx, client.UpdatePlanItemInput{
		ItemID:    id,
		Summary:   client.Null[string](),
		SortOrder: client.Null[int](),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(item.Title, item.SortOrder, item.SortOrder.IsNull())
	// Output:
	// Offline mode null true
}

// Push points of a metric.
func ExampleClient_PushMetricPoints() {
	ctx, c := serveExamples()
	yesterday := time.Date(2026, 8, 10, 23, 0, 0, 0, time.UTC)

	result, err := c.PushMetricPoints(ctx, client.PushMetricPointsInput{Points: []client.PushMetricPointsPoint{
		{MetricKey: "growth.signups", TS: client.Day(yesterday), Value: 42},
		{MetricKey: "growth.signups", TS: "2026-08-11", Value: 17, Dims: client.Value(client.Dims{"country": "DE"})},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", result)
	// Output:
	// {Accepted:2 CreatedKeys:[custom.growth.signups]}
}

// Delete ten years of points. Each call deletes some of them; repeat it until none remain.
func ExampleClient_DeleteMetricPoints() {
	ctx, c := serveExamples()

	for more := true; more; {
		var response client.Response
		deleted, err := c.DeleteMetricPoints(ctx, client.DeleteMetricPointsInput{
			MetricKey: "growth.signups", From: "2016-01-01", To: "2025-12-31",
		}, client.Into(&response))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(deleted.DeletedCount)
		more = response.HasMore()
	}
	// Output:
	// 1000
	// 300
}

// Branch on the code of an error.
func ExampleError() {
	ctx, c := serveExamples()

	for _, in := range []client.UpdatePlanItemInput{
		{ItemID: "itm_9", Title: client.Value("Tags")},
		{ItemID: id, Title: client.Value("")},
	} {
		_, err := c.UpdatePlanItem(ctx, in)
		var refused *client.Error
		switch {
		case err == nil:
		case errors.As(err, &refused) && refused.Code == client.CodeNotFound:
			fmt.Println("there is no such item")
		case errors.As(err, &refused) && refused.Code == client.CodeBadRequest:
			for _, problem := range refused.Messages {
				fmt.Println(problem)
			}
		default:
			log.Fatal(err)
		}
	}
	// Output:
	// there is no such item
	// body.title: must have at least 1 character
}

// After a 429, a call waits as long as the response says, and then retries on its own. WithSleep is
// used here only to print the wait.
func ExampleWithSleep() {
	serveExamples()

	c, err := client.New(os.Getenv("WORKSPACE_URL"), os.Getenv("WORKSPACE_KEY"), client.WithSleep(func(ctx context.Context, d time.Duration) error {
		fmt.Println("waiting", d.Round(time.Second))
		return ctx.Err()
	}))
	if err != nil {
		log.Fatal(err)
	}
	page, err := c.ListMetricDefinitions(context.Background(), client.ListMetricDefinitionsInput{})
	fmt.Println(len(page.Items), err)
	// Output:
	// waiting 2s
	// 1 <nil>
}
