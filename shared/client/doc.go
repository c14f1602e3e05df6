// Package client calls the Company Growth Workspace API: one method for each operation, with typed
// inputs and records. It uses only the standard library. `workspace client go` writes it into your
// module.
//
// # A first program
//
// A key belongs to one company and contains its id, so a client needs only the address of the
// service and a key.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"growthworkspace/shared/client"
//	)
//
//	func main() {
//		ctx := context.Background()
//		c, err := client.New(os.Getenv("WORKSPACE_URL"), os.Getenv("WORKSPACE_KEY"))
//		if err != nil {
//			log.Fatal(err)
//		}
//		for board, err := range c.AllPlanBoards(ctx, client.ListPlanBoardsInput{}) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println(board.ID, board.Name, board.PublishedVersion)
//		}
//	}
//
// Each operation of the API is a method of [Client], with the operation's name in Go style:
// create_plan_item is [Client.CreatePlanItem], its input is [CreatePlanItemInput], and it returns
// an [Item]. An operation without an input, such as [Client.GetCompany], takes only the context.
// Options such as [IfMatch] come last.
//
// # Fields
//
// A required field of an input is a plain value. Every other field, and every field of a record
// that may be null, is an [Optional]: it has a value, is null, or is left out. Its methods Or and
// Get read it, and printing it shows its value or null.
//
//	item, err := c.GetPlanItem(ctx, client.GetPlanItemInput{ItemID: id})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(item.Title, item.Status, item.Summary)
//	fmt.Println(item.Summary.Or("no summary"))
//	if created, ok := item.CreatedAt.Get(); ok {
//		fmt.Println(created.Format(time.DateOnly))
//	}
//
// A timestamp is a time.Time. A day (from, to, the ts of a pushed point) is a string such as
// 2026-08-11, which [Day] returns for a time. The values of an enum are constants, such as
// [PlanStatusPublished]. Counts, versions and sort orders are int, and other numbers are float64;
// write a constant for a float64 as Value(1200.0). A field that can hold any JSON, such as the
// findings of an audit, is a json.RawMessage.
//
// # Lists
//
// A method whose name begins with All returns every record of a list. It reads one page after
// another as the loop proceeds.
//
//	for item, err := range c.AllPlanItems(ctx, client.ListPlanItemsInput{
//		BoardID: roadmap,
//		Status:  client.Value(client.PlanStatusPublished),
//	}) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(item.Slug, item.SortOrder)
//	}
//
// A method whose name begins with List returns one [Page]. The page's Next is the cursor of the
// following page, and is empty at the end of the list.
//
//	in := client.ListPlanItemsInput{BoardID: roadmap, Limit: client.Value(2)}
//	for {
//		page, err := c.ListPlanItems(ctx, in)
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(len(page.Items))
//		if page.Next == "" {
//			break
//		}
//		in.Cursor = client.Value(page.Next)
//	}
//
// # Create
//
// A call that creates something gets its own Idempotency-Key, which its retries share, so that
// nothing is created twice if a response is lost. If you supply the key, running the program again
// within 24 hours creates nothing twice either.
//
//	item, err := c.CreatePlanItem(ctx, client.CreatePlanItemInput{
//		BoardID:     roadmap,
//		Title:       "Dark mode",
//		Status:      client.Value(client.PlanStatusPublished),
//		SortOrder:   client.Value(3),
//		CategoryIDs: client.Value([]string{"design"}),
//	}, client.IdempotencyKey("roadmap-row-17"))
//
// # Update
//
// An update changes only the fields that it sends. [Into] stores the response. Its ETag makes the
// update conditional: the update is refused if the record has changed since it was read.
//
//	var seen client.Response
//	item, err := c.GetPlanItem(ctx, client.GetPlanItemInput{ItemID: id}, client.Into(&seen))
//	if err != nil {
//		log.Fatal(err)
//	}
//	item, err = c.UpdatePlanItem(ctx, client.UpdatePlanItemInput{
//		ItemID: id,
//		Title:  client.Value(item.Title + " for everyone"),
//	}, client.IfMatch(seen.ETag()))
//
// [Null] clears a field:
//
//	item, err := c.UpdatePlanItem(ctx, client.UpdatePlanItemInput{
//		ItemID:    id,
//		Summary:   client.Null[string](),
//		SortOrder: client.Null[int](),
//	})
//
// # Metrics
//
// One call pushes up to 500 points. A pushed point replaces the existing one with the same metric,
// bucket and dimensions.
//
//	result, err := c.PushMetricPoints(ctx, client.PushMetricPointsInput{Points: []client.PushMetricPointsPoint{
//		{MetricKey: "growth.signups", TS: client.Day(yesterday), Value: 42},
//		{MetricKey: "growth.signups", TS: "2026-08-11", Value: 17, Dims: client.Value(client.Dims{"country": "DE"})},
//	}})
//
// A delete of many points may return before all of them are deleted. Repeat the call until none
// remain:
//
//	for more := true; more; {
//		var response client.Response
//		deleted, err := c.DeleteMetricPoints(ctx, client.DeleteMetricPointsInput{
//			MetricKey: "growth.signups", From: "2016-01-01", To: "2025-12-31",
//		}, client.Into(&response))
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(deleted.DeletedCount)
//		more = response.HasMore()
//	}
//
// # Errors and retries
//
// An error response is an [Error]. Branch on its Code, for which there are constants. Its Messages,
// which begin with the field, are for people.
//
//	_, err := c.UpdatePlanItem(ctx, in)
//	var refused *client.Error
//	switch {
//	case err == nil:
//	case errors.As(err, &refused) && refused.Code == client.CodeNotFound:
//		fmt.Println("there is no such item")
//	case errors.As(err, &refused) && refused.Code == client.CodeBadRequest:
//		for _, problem := range refused.Messages {
//			fmt.Println(problem)
//		}
//	default:
//		log.Fatal(err)
//	}
//
// A call makes up to four attempts after a 5xx or a lost connection, when that is safe. After a 429
// it waits and retries until it is admitted, however many attempts that takes. All calls of a
// client that use the same quota wait together and are sent one after another as the quota refills,
// so a program may make calls from any number of goroutines. A call waits at most two minutes in
// total, then returns its error ([WithWaitMax]). It also stops waiting when the context is done.
//
// # Anything else
//
// [Client.Do] sends any request, for operations that this package does not have yet. The files
// whose names begin with operations_ and records_, codes.go and version.go are generated from the
// declarations; the others are written by hand.
package client
