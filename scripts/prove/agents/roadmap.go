package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	publicBoard = "Public roadmap"
	teamBoard   = "Team board"
)

func publishOneTask() task {
	return task{
		name: "move an item of the roadmap and publish only that",
		seed: func(g *generator) scenario {
			g.addBoard(teamBoard, 15)
			board, live, others := g.addBoard(publicBoard, 40)
			target := live[0]
			target["columnId"] = "next"
			g.publish(board, live)
			for i, edited := range live[1:3] {
				edited["title"] = edited.text("title") + pick(g, " for teams", " on tablets")
				if i == 0 {
					edited["summary"] = g.prose(1)
				}
			}
			live[3]["status"] = "archived" // the next publish removes it from the live items
			for _, added := range others[:2] {
				added["status"] = "published"
			}
			g.words["board"], g.words["item"], g.words["column"] = publicBoard, target.text("title"), "now"
			boardID, version := board.text("id"), float64(board["publishedVersion"].(int))
			return scenario{check: func(o outcome) error {
				err := checkChanges(o.changes,
					"changed "+target.text("id")+" of "+itemsOfBoard(boardID)+": columnId",
					"changed "+target.text("id")+" of "+liveItems(boardID)+": columnId")
				if now := o.after["boards"][boardID].number("publishedVersion"); now != version+1 {
					err = errors.Join(err, fmt.Errorf("the board has the version %g instead of %g", now, version+1))
				}
				return err
			}}
		},
		agent: publishOne(publishSteps{revertOthers: true, restoreOthers: true, publish: true}),
		wrongRuns: []wrongRun{
			{mistake: "publishes the edits of others, too", agent: publishOne(publishSteps{publish: true})},
			{mistake: "loses the edits of others", agent: publishOne(publishSteps{revertOthers: true, publish: true})},
			{mistake: "does not publish", agent: publishOne(publishSteps{})},
		},
	}
}

// publishSteps selects the steps that an agent takes.
type publishSteps struct{ revertOthers, restoreOthers, publish bool }

// publishOne returns an agent that moves an item and publishes the board. The agent undoes the
// unpublished edits of others before it publishes, and restores these edits afterwards.
func publishOne(steps publishSteps) agent {
	return func(s *session, words map[string]string) answer {
		boardID := boardIDNamed(s, words["board"])
		items := s.list("list_plan_items", arguments{"boardId": boardID}, nil, "title", "columnId", "status")
		target := ""
		for _, item := range items {
			if item.text("title") == words["item"] {
				target = item.text("id")
			}
		}
		s.call("update_plan_item", arguments{"itemId": target, "columnId": words["column"]})
		preview := s.call("preview_plan_publish", arguments{"boardId": boardID})
		var restoreCalls []arguments
		if steps.revertOthers {
			restoreCalls = revertOtherChanges(s, boardID, target, preview.asRecord())
			if len(restoreCalls) > 0 {
				preview = s.call("preview_plan_publish", arguments{"boardId": boardID})
			}
		}
		if steps.publish {
			s.call("publish_plan_board", arguments{"boardId": boardID, "ifMatch": preview.etag()})
		}
		for _, edit := range restoreCalls {
			if steps.restoreOthers {
				s.call("update_plan_item", edit)
			}
		}
		return nil
	}
}

func boardIDNamed(s *session, name string) string {
	for _, board := range s.list("list_plan_boards", nil, nil, "name") {
		if board.text("name") == name {
			return board.text("id")
		}
	}
	return ""
}

// revertOtherChanges undoes every change that the preview lists, except a change to the item with
// the id exceptID. It returns the arguments of the calls that restore the changes.
func revertOtherChanges(s *session, boardID, exceptID string, preview record) (restoreCalls []arguments) {
	for _, item := range preview.objects("added") {
		s.call("update_plan_item", arguments{"itemId": item.text("id"), "status": "in_review"})
		restoreCalls = append(restoreCalls, arguments{"itemId": item.text("id"), "status": "published"})
	}
	for _, item := range preview.objects("removed") {
		original := s.read("get_plan_item", arguments{"itemId": item.text("id")}, "status").asRecord()
		s.call("update_plan_item", arguments{"itemId": item.text("id"), "status": "published"})
		restoreCalls = append(restoreCalls, arguments{"itemId": item.text("id"), "status": original.text("status")})
	}
	var live []record
	for _, item := range preview.objects("updated") {
		if item.text("id") == exceptID {
			continue
		}
		if live == nil {
			live = s.list("list_plan_live_items", arguments{"boardId": boardID}, nil, "title", "summary")
		}
		for _, liveItem := range live {
			if liveItem.text("id") == item.text("id") {
				edited := s.read("get_plan_item", arguments{"itemId": item.text("id")}, "title", "summary").asRecord()
				s.call("update_plan_item", arguments{"itemId": item.text("id"), "title": liveItem["title"], "summary": liveItem["summary"]})
				restoreCalls = append(restoreCalls, arguments{"itemId": item.text("id"), "title": edited["title"], "summary": edited["summary"]})
			}
		}
	}
	return restoreCalls
}

func launchPostTask() task {
	return task{
		name: "draft a launch post for the roadmap item that was done last", scopes: []string{"broadcast:draft", "plan:read", "context:read"},
		seed: func(g *generator) scenario {
			g.addBrand()
			g.addBoard(teamBoard, 15)
			_, live, others := g.addBoard(publicBoard, 40)
			g.words["board"] = publicBoard
			for i, item := range append(live[1:5:5], others[0]) {
				item["columnId"], item["updatedAt"] = "done", g.today.AddDate(0, 0, -3-i).Format("2006-01-02T15:04:05.000Z")
			}
			others[0]["updatedAt"] = g.today.AddDate(0, 0, -1).Format("2006-01-02T15:04:05.000Z") // done, but not visible to the public
			broken := sample(g, 4, platforms)
			g.addChannels(broken...)
			g.addIdeas(10, 40)
			title := live[1].text("title")
			return scenario{check: func(o outcome) error {
				if len(o.changes) != 1 || o.changes[0].kind != created || o.changes[0].list != "posts" {
					return fmt.Errorf("the changes are %v instead of one new post", o.changes)
				}
				post := o.changes[0].record
				switch {
				case post.text("status") != "draft":
					return fmt.Errorf("the post is %s, not a draft", post.text("status"))
				case !strings.Contains(post.text("body"), title):
					return fmt.Errorf("the post is not about %s: %q", title, post.text("body"))
				case slices.Contains(broken, post.text("platform")):
					return fmt.Errorf("the channel of %s does not work", post.text("platform"))
				}
				return nil
			}}
		},
		agent: launchPost(true, true, "draft"),
		wrongRuns: []wrongRun{
			{mistake: "announces what nobody can see yet", agent: launchPost(false, true, "draft")},
			{mistake: "uses a channel that does not work", agent: launchPost(true, false, "draft")},
			{mistake: "schedules the post", agent: launchPost(true, true, "scheduled"), decides: true},
		},
	}
}

// launchPost returns an agent that creates a post about the item that was done last. If onlyLive is
// set, the agent considers only items that visitors see. It chooses a platform whose channel works
// if wantWorking is set, and one whose channel does not work otherwise.
func launchPost(onlyLive, wantWorking bool, status string) agent {
	return func(s *session, words map[string]string) answer {
		var doneItem record
		for _, item := range s.list("list_plan_items", arguments{"boardId": boardIDNamed(s, words["board"])}, nil, "title", "summary", "columnId", "status", "updatedAt") {
			if item.text("columnId") == "done" && (!onlyLive || item.text("status") == "published") && item.text("updatedAt") > doneItem.text("updatedAt") {
				doneItem = item
			}
		}
		kit := s.read("get_context_brand_kit", nil, "voiceTone", "voiceGuidelines", "avoidWords").asRecord()
		s.list("list_context_content_types", nil, nil, "name", "guidance")
		platform := ""
		for _, channel := range s.list("list_broadcast_channels", nil, nil, "platform", "status", "credentialsValid", "active") {
			if works := channel.text("status") == "connected" && channel["active"] == true; works == wantWorking {
				platform = channel.text("platform")
			}
		}
		body := "It is done: " + doneItem.text("title") + ". " + doneItem.text("summary")
		for _, word := range kit.texts("avoidWords") {
			body = strings.ReplaceAll(body, word, "")
		}
		a := arguments{"platform": platform, "body": body, "status": status}
		if status == "scheduled" {
			a["scheduledFor"] = words["today"] + "T15:00:00Z"
		}
		s.call("create_broadcast_post", a)
		return nil
	}
}
