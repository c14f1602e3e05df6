package studio

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
	"growthworkspace/shared/client/catalogue"
)

// activityData is the data for the activity template.
type activityData struct {
	Periods []activityChoice
	Types   []activityChoice
	Days    []activityDay
	Period  string // the period in words
	NoFeed  bool   // the service has no feed of changes
	Failure *failure
	Newer   bool // there are changes newer than those that the page reads
	Omitted int  // the number of changes that the page leaves out
	NoNames bool // the key cannot read the names of keys
}

// activityChoice is a link that changes what the page shows.
type activityChoice struct {
	Label, Path string
	Current     bool
}

// activityDay contains the changes of one day, newest first.
type activityDay struct {
	Day  time.Time
	Rows []activityRow
}

// activityRow is a description of one change, or of several similar ones.
type activityRow struct {
	At    time.Time
	What  string
	Path  string // the page of the record; empty if there is none
	By    actor
	Count int

	change client.Change // the newest
}

// actor describes who made a change.
type actor struct {
	Key  string // the name of a key
	Text string // who made the change if Key is empty, such as "the operator"; empty if unknown
}

// actors holds the names of the company's keys.
type actors struct {
	names map[string]string
	own   string // the id of the studio's key
	all   bool   // whether the map names contains every key
}

// actorOf returns the actor that made a change.
func (a actors) actorOf(c client.Change) actor {
	id, known := c.KeyID.Get()
	switch {
	case known && id == a.own:
		return actor{Text: "this studio"}
	case known:
		return actor{Key: cmp.Or(a.names[id], id)}
	case a.all && c.Action != client.ChangeActionDeleted && c.Action != client.ChangeActionUnknown:
		return actor{Text: "the operator"}
	}
	return actor{}
}

// listKeyNames starts the call that reads the names of the company's keys.
func (pr *pageRequest) listKeyNames() *result[client.Page[client.Key]] {
	return startCall(pr, "keys:read", "The names of the keys",
		bound(pr.api.ListKeys, client.ListKeysInput{Limit: client.Value(200)}))
}

// actorsOf returns the names of the listed keys, or none if the call that lists them failed.
func (pr *pageRequest) actorsOf(keys *result[client.Page[client.Key]]) actors {
	a := actors{names: map[string]string{}, all: keys.Failure == nil}
	for _, k := range keys.Value.Items {
		a.names[k.ID] = k.Name.Or("")
	}
	if pr.key != nil {
		a.own = pr.key.ID
	}
	return a
}

// changesPageMax is the maximum number of changes that one call returns.
const changesPageMax = 200

// listChanges starts the calls that list the changes since the given time, oldest first. types is
// sent as the types parameter; if it is empty, changes of all types are listed. The list has at
// most pages * changesPageMax changes.
func (pr *pageRequest) listChanges(since time.Time, types string, pages int) *result[client.Page[client.Change]] {
	return startCall(pr, anyScope, "What changed", func(ctx context.Context, options ...client.CallOption) (out client.Page[client.Change], err error) {
		in := client.ListChangesInput{Since: client.Value(since.UTC().Format(time.RFC3339)), Types: optional(types), Limit: client.Value(changesPageMax)}
		for range pages {
			page, err := pr.api.ListChanges(ctx, in, options...)
			if err != nil {
				return out, err
			}
			out.Items, out.HasMore = append(out.Items, page.Items...), page.HasMore
			if !page.HasMore {
				break
			}
			in.After, in.Since = client.Value(page.After), client.Optional[string]{}
		}
		return out, nil
	})
}

// hasNoFeed reports whether a call failed because the service has no feed of changes.
func hasNoFeed(f *failure) bool {
	return f != nil && (f.Status == http.StatusNotImplemented || f.Status == http.StatusNotFound)
}

// activityPeriods are the periods that the page offers.
var activityPeriods = []struct {
	id, label, words string
	span             time.Duration
}{
	{"hour", "1 hour", "the last hour", time.Hour},
	{"day", "24 hours", "the last 24 hours", 24 * time.Hour},
	{"week", "7 days", "the last 7 days", 7 * 24 * time.Hour},
	{"month", "30 days", "the last 30 days", 30 * 24 * time.Hour},
}

// activityTypes are the groups of types that the page offers.
var activityTypes = []struct{ id, label, types string }{
	{"", "Everything", ""},
	{"reviews", "Reviews", "feedback"},
	{"posts", "Posts", "plan,idea,post,channel"},
	{"roadmap", "Roadmap", "board,item,publish"},
	{"metrics", "Metrics", "metric_definition,metric_points"},
	{"sites", "Sites", "site,site_goal,audit"},
	{"brand", "Brand", "brand_kit,content_type,brand_goal"},
	{"company", "Company", "company"},
}

const (
	activityPagesMax = 5
	activityRowsMax  = 150
)

// activity returns the page that shows what changed and who changed it.
func (s *Studio) activity(v *pageRequest) *view {
	q := v.r.URL.Query()
	period, group := activityPeriods[1], activityTypes[0]
	for _, p := range activityPeriods {
		if p.id == q.Get("since") {
			period = p
		}
	}
	for _, t := range activityTypes {
		if t.id == q.Get("type") {
			group = t
		}
	}
	d := &activityData{Period: period.words}
	for _, p := range activityPeriods {
		d.Periods = append(d.Periods, activityChoice{p.label, "/activity?since=" + p.id + "&type=" + group.id, p.id == period.id})
	}
	for _, t := range activityTypes {
		d.Types = append(d.Types, activityChoice{t.label, "/activity?since=" + period.id + "&type=" + t.id, t.id == group.id})
	}
	listed, keys := v.listChanges(v.Now().Add(-period.span), group.types, activityPagesMax), v.listKeyNames()
	v.wait()
	out := &view{page: "activity", place: "Activity", title: "Activity", data: d}
	if d.NoFeed = hasNoFeed(listed.Failure); d.NoFeed {
		return out
	}
	if d.Failure = listed.Failure; d.Failure != nil {
		out.status = d.Failure.status()
		return out
	}
	d.NoNames, d.Newer = keys.Failure != nil, listed.Value.HasMore
	rows := activityRows(listed.Value.Items, v.actorsOf(keys))
	d.Omitted = max(0, len(rows)-activityRowsMax)
	zone := v.clock().Location
	for _, r := range rows[:min(len(rows), activityRowsMax)] {
		day := r.At.In(zone).Format(time.DateOnly)
		if n := len(d.Days); n == 0 || d.Days[n-1].Day.In(zone).Format(time.DateOnly) != day {
			d.Days = append(d.Days, activityDay{Day: r.At})
		}
		last := &d.Days[len(d.Days)-1]
		last.Rows = append(last.Rows, r)
	}
	return out
}

// activityRows describes changes, newest first. Consecutive changes that differ only in the record
// or the time share one row.
func activityRows(changes []client.Change, a actors) (rows []activityRow) {
	for _, c := range slices.Backward(changes) {
		what := changeWords(c, statusBefore(changes, c))
		by := a.actorOf(c)
		if n := len(rows); n > 0 && rows[n-1].What == what && rows[n-1].By == by && rows[n-1].change.Type == c.Type {
			rows[n-1].Count++
			if rows[n-1].change.RecordID != c.RecordID {
				rows[n-1].Path = changePath(client.Change{Type: c.Type})
			}
			continue
		}
		rows = append(rows, activityRow{At: c.OccurredAt, What: what, Path: changePath(c), By: by, Count: 1, change: c})
	}
	return rows
}

// statusBefore returns the status of c's record before the change c. This is the status in the
// latest earlier change to that record. It is absent if changes contains no such change.
func statusBefore(changes []client.Change, c client.Change) (status client.Optional[string]) {
	for _, other := range changes {
		if other.ID == c.ID {
			break
		}
		if other.Type == c.Type && other.RecordID == c.RecordID {
			status = client.Value(other.Status.Or(""))
		}
	}
	return status
}

// changeNouns are the nouns for types whose names are unclear on their own.
var changeNouns = map[client.ChangeType]string{
	client.ChangeTypeFeedback: "review", client.ChangeTypeItem: "roadmap item", client.ChangeTypeBoard: "roadmap board", client.ChangeTypeMetricDefinition: "metric",
	client.ChangeTypeMetricPoints: "values of a metric", client.ChangeTypeSiteGoal: "goal of a site", client.ChangeTypePlan: "content plan", client.ChangeTypeChannel: "account",
}

// statusVerbs maps the type of a record and its new status to words for the change.
var statusVerbs = map[client.ChangeType]map[string]string{
	client.ChangeTypeFeedback: {"draft": "reply drafted", "needs_review": "reply handed over", "approved": "reply approved", "posting": "reply is being posted", "posted": "reply posted", "failed": "reply failed", "skipped": "skipped", "none": "reply removed"},
	client.ChangeTypePost:     {"draft": "back to draft", "scheduled": "scheduled", "publishing": "is being sent", "published": "sent", "failed": "failed"},
	client.ChangeTypeItem:     {"draft": "back to draft", "in_review": "handed over", "published": "marked as published", "archived": "archived"},
	client.ChangeTypeIdea:     {"accepted": "accepted", "rejected": "rejected", "suggested": "suggested again", "used": "used"},
	client.ChangeTypeAudit:    {"complete": "finished", "failed": "failed", "running": "started"},
}

// changeVerb returns a verb for what a change did to its record. before is the record's earlier
// status, if it is known.
func changeVerb(c client.Change, before client.Optional[string]) string {
	status := c.Status.Or("")
	old, known := before.Get()
	switch {
	case c.Action == client.ChangeActionDeleted:
		return "deleted"
	case c.Action == client.ChangeActionUnknown:
		return "changed in an unknown way"
	case c.Action == client.ChangeActionCreated && c.Type == client.ChangeTypeAudit && status != "":
		return cmp.Or(statusVerbs[c.Type][status], "created")
	case c.Action == client.ChangeActionCreated:
		return "created"
	case known && old != status && statusVerbs[c.Type][status] != "":
		return statusVerbs[c.Type][status]
	}
	return "changed"
}

func changeWords(c client.Change, before client.Optional[string]) string {
	noun := cmp.Or(changeNouns[c.Type], strings.ReplaceAll(string(c.Type), "_", " "))
	switch {
	case c.Action == client.ChangeActionUnknown && c.RecordID == c.CompanyID:
		return "Changes of type " + phrase.Words(string(c.Type)) + " were lost before this"
	case c.Type == client.ChangeTypePublish:
		return "Roadmap published" + versionWords(c.Status.Or(""))
	case c.Type == client.ChangeTypeMetricPoints && c.Action != client.ChangeActionDeleted:
		return "Values of a metric stored"
	}
	return upperFirst(noun) + " " + changeVerb(c, before)
}

func versionWords(version string) string {
	if version == "" {
		return ""
	}
	return ": version " + version
}

// changePages maps a kind of record to its pages: the page of all records and, if each record has a
// page, the beginning of its path, to which the id is appended.
var changePages = map[string]struct{ all, one string }{
	"feedback": {"/reviews?show=all", "/reviews?show=all&id="}, "post": {"/posts/list", "/posts/"},
	"item": {"/roadmap", "/roadmap/items/"}, "board": {all: "/roadmap"}, "audit": {"/sites", "/audits/"},
	"site": {all: "/sites"}, "site-goal": {all: "/sites"}, "metric-definition": {all: "/metrics"},
	"content-plan": {all: "/ideas"}, "content-idea": {all: "/ideas"}, "channel": {all: accountsPath},
	"brand-kit": {all: "/brand"}, "content-type": {all: "/brand"}, "brand-goal": {all: "/brand"},
	"key": {all: "/keys"}, "company": {all: "/company"},
}

// changePath returns the path of the page for the changed record. If the change has no record or
// deleted it, the path is that of the page for all records of the kind. The path is empty if the
// studio has no such page.
func changePath(c client.Change) string {
	kind, _ := catalogue.OfChange(c.Type)
	page := changePages[kind.Name]
	if page.one == "" || c.RecordID == "" || c.RecordID == c.CompanyID || c.Action == client.ChangeActionDeleted {
		return page.all
	}
	return page.one + c.RecordID
}

// lastChange describes the last change to a record and who made it.
type lastChange struct {
	Verb string // such as "reply approved"
	By   actor
	At   time.Time
}

// lastChangePeriod is how far before a record's last change the page looks for the previous one.
// The previous change shows whether the last one set the status.
const lastChangePeriod = 24 * time.Hour

// changeTolerance is how far the time of a change may be before its record's updatedAt. The times
// in the table's stream are whole seconds, and the clocks of two machines differ.
const changeTolerance = 5 * time.Second

// startLastChange starts the calls that find out who changed a record last. get returns nil if that
// is unknown, for example because the service has no feed of changes. get must be called after
// wait.
//
// The feed does not contain imports, and a new change takes seconds to appear in it. So get returns
// the newest change in the feed only if it is as new as the record and does not contradict the
// record's status.
func (pr *pageRequest) startLastChange(record changedRecord) (get func() *lastChange) {
	at, known := record.updatedAt.Get()
	if !known || record.id == "" {
		return func() *lastChange { return nil }
	}
	listed, keys := pr.listChanges(at.Add(-lastChangePeriod), string(record.kind), 2), pr.listKeyNames()
	return func() *lastChange {
		recordChanges := slices.DeleteFunc(slices.Clone(listed.Value.Items), func(c client.Change) bool { return c.RecordID != record.id || c.Type != record.kind })
		if listed.Failure != nil || listed.Value.HasMore || len(recordChanges) == 0 {
			return nil
		}
		c := recordChanges[len(recordChanges)-1]
		if c.OccurredAt.Before(at.Add(-changeTolerance)) || c.Status.Or(record.status) != record.status {
			return nil
		}
		return &lastChange{changeVerb(c, statusBefore(recordChanges, c)), pr.actorsOf(keys).actorOf(c), c.OccurredAt}
	}
}

// overviewActivity is the part of the overview that shows what changed.
type overviewActivity struct {
	Rows    []activityRow
	Failure *failure
	Many    bool // whether there are too many changes to find the newest ones
}

// Limits on the changes that the overview reads and shows.
const (
	overviewPagesMax = 2
	overviewRowsMax  = 5
)

// readActivity starts the calls that read the changes of the last 24 hours. The returned function
// must be called after wait.
func (pr *pageRequest) readActivity() func() *overviewActivity {
	listed, keys := pr.listChanges(pr.Now().Add(-24*time.Hour), "", overviewPagesMax), pr.listKeyNames()
	return func() *overviewActivity {
		if hasNoFeed(listed.Failure) {
			return nil
		}
		a := &overviewActivity{Failure: listed.Failure, Many: listed.Value.HasMore}
		if a.Failure == nil && !a.Many {
			rows := activityRows(listed.Value.Items, pr.actorsOf(keys))
			a.Rows = rows[:min(len(rows), overviewRowsMax)]
		}
		return a
	}
}
