package broadcast

import (
	"context"
	"fmt"

	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// recordBytesMax bounds an imported record, as JSON: DynamoDB takes 400 KB in one item, with its keys and names.
const recordBytesMax = 350_000

// Transfers returns the area's types of import and export (design.md §7). An import says what a record is: a post keeps
// its state, its times and its thread as given, whatever the API would make of them.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Define("content-plan", id.Plan, checkPlan,
			writer(t, planKeys, func(p *Plan, companyID string) { p.CompanyID = companyID }), visitor[Plan](t, kindPlan)),
		transfer.Define("content-idea", id.Idea, checkIdea,
			writer(t, ideaKeys, func(i *Idea, companyID string) { i.CompanyID = companyID }), visitor[Idea](t, kindIdea)),
		transfer.Define("post", id.Post, checkPost,
			writer(t, postKeys, func(p *Post, companyID string) { p.CompanyID = companyID }), visitor[Post](t, kindPost)),
		transfer.Define("channel", id.Channel, checkChannel,
			writer(t, channelKeys, func(c *Channel, companyID string) { c.CompanyID = companyID }), visitor[Channel](t, kindChannel)),
	}
}

func checkPlan(p *Plan) []string { return checkSize(p) }

func checkChannel(c *Channel) []string { return checkSize(c) }

func checkIdea(i *Idea) []string {
	return append(checkReference("planId", id.Plan, i.PlanID), checkSize(i)...)
}

func checkPost(p *Post) []string {
	return append(checkReference("ideaId", id.Idea, p.IdeaID), checkSize(p)...)
}

// checkReference checks the id of another record that becomes part of a key. That record need not be there.
func checkReference(field, prefix string, value *string) []string {
	if value == nil || id.Valid(prefix, *value) {
		return nil
	}
	return []string{fmt.Sprintf("record.%s: must be %s_ and 1 to 40 characters of 0-9 and a-z", field, prefix)}
}

func checkSize(record any) []string { return transfer.CheckSize(record, recordBytesMax) }

// writer stores records, whatever is there under their ids; of several with one id the last is kept.
func writer[T any](t *table.Client, keysOf func(T) table.Keys, own func(record *T, companyID string)) func(context.Context, string, []T) error {
	return func(ctx context.Context, companyID string, records []T) error {
		items, at := make([]table.Item, 0, len(records)), make(map[table.Key]int, len(records))
		for _, record := range records {
			own(&record, companyID)
			keys := keysOf(record)
			item := t.NewItem(keys, record)
			if n, again := at[keys.Key]; again {
				items[n] = item
				continue
			}
			at[keys.Key] = len(items)
			items = append(items, item)
		}
		return t.Put(ctx, items)
	}
}

// visitor visits every record of a kind.
func visitor[T any](t *table.Client, kind string) func(context.Context, string, func(T) error) error {
	return func(ctx context.Context, companyID string, visit func(T) error) error {
		return table.Each(ctx, t, collection(companyID, kind), func(page []T) error {
			for _, record := range page {
				if err := visit(record); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
