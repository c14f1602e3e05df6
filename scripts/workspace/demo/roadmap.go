package demo

import (
	"context"
	"fmt"

	"growthworkspace/functions/plan"
)

// The indexes of the boards, in the order in which they are created.
const (
	boardPublic = iota
	boardInternal
)

type roadmapItem struct {
	slug, title, summary, column, status, target string
	categories                                   []string
}

// roadmapItems lists the items of each board. publishBoard edits the first and sixth items of the
// public board.
var roadmapItems = [][]roadmapItem{
	boardPublic: {
		{"offline-maps", "Maps that work without a signal", "Download the sheet you need before you leave; notes stick to places.", "now", "published", "This quarter", []string{"offline", "maps"}},
		{"glove-mode", "Glove mode", "Larger targets and a pen that ignores rain.", "now", "published", "This quarter", []string{"writing"}},
		{"shared-notebooks", "Shared notebooks with roles", "Who may read, who may write, who may invite.", "next", "published", "Next quarter", []string{"teams"}},
		{"voice-notes", "Voice notes that become text", "On the phone, so nothing leaves it.", "next", "published", "Next quarter", []string{"writing", "offline"}},
		{"photo-scale", "A scale on photographs", "Put a ruler beside what you photograph, and measure later.", "later", "published", "Later", []string{"photos"}},
		{"wear-widget", "Notes from the wrist", "Two taps to a dictated note.", "later", "in_review", "", []string{"writing"}},
		{"calendar-link", "Days on a calendar", "See what you wrote on a day where you plan your days.", "later", "draft", "", nil},
		{"pdf-export", "Export to PDF", "A notebook as one file, pictures included.", "done", "published", "Shipped", []string{"export"}},
		{"dark-theme", "Dark theme", "For tents, and for night shifts.", "done", "archived", "Shipped", []string{"reading"}},
	},
	boardInternal: {
		{"billing-retries", "Retry failed payments", "Three times over ten days, then a letter.", "now", "in_review", "Sprint 18", []string{"billing"}},
		{"sync-protocol-3", "Sync protocol 3", "Half the bytes, and it survives a change of clocks.", "now", "draft", "Sprint 19", []string{"sync"}},
		{"crash-report-consent", "Ask before crash reports", "", "next", "draft", "", []string{"privacy"}},
		{"import-legacy", "Import from paper", "Photograph a page, get a note.", "next", "draft", "", []string{"import"}},
		{"drop-old-tablets", "End support for old tablets", "With a year's notice.", "later", "archived", "", []string{"platform"}},
	},
}

func (g *generator) addRoadmap() {
	g.add("board", withTimes(Record{
		"name": "Public roadmap", "publicKey": "pk_demo_public_roadmap", "allowedOrigins": []string{websiteURL}, "active": true,
	}, g.timeAgo(320), g.timeAgo(320)))
	g.add("board", withTimes(Record{
		"name": "Team board", "publicKey": "pk_demo_team_board", "allowedOrigins": []string{}, "active": true,
	}, g.timeAgo(250), g.timeAgo(250)))
	for b, list := range roadmapItems {
		for n, item := range list {
			record := Record{
				"roadmapId": idOf("board", b), "slug": item.slug, "title": item.title, "columnId": item.column, "status": item.status,
				"sortOrder": (n + 1) * 10,
			}
			if item.summary != "" {
				record["summary"] = item.summary
			}
			if item.target != "" {
				record["targetLabel"] = item.target
			}
			if item.categories != nil {
				record["categoryIds"] = item.categories
			}
			age := float64(240 - 14*n - 3*b)
			g.add("item", withTimes(record, g.timeAgo(age), g.timeAgo(age/2)))
		}
	}
}

// publishBoard publishes the public board and then edits two items, so that a preview has changes
// to show.
func publishBoard(ctx context.Context, s plan.Store) error {
	acceptAll := func(string) error { return nil }
	if _, err := s.Publish(ctx, CompanyID, idOf("board", boardPublic), acceptAll); err != nil {
		return fmt.Errorf("publish the board: %w", err)
	}
	_, err := s.Items.Modify(ctx, CompanyID, idOf("item", 0), func(i *plan.Item) error {
		i.Title = "Offline maps, with your notes on them"
		return nil
	})
	if err == nil {
		_, err = s.Items.Modify(ctx, CompanyID, idOf("item", 5), func(i *plan.Item) error {
			status := plan.StatusPublished
			i.Status = &status
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("edit the published board: %w", err)
	}
	return nil
}
