package studio

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// reviewFilter contains the filters of a review list that the API itself can apply.
type reviewFilter struct {
	status    client.FeedbackReplyStatus // empty means any
	source    client.FeedbackSource      // empty means any
	sentiment client.FeedbackSentiment   // empty means any
	ratings   string                     // such as "1,2"; empty means any, and mentions
	flag      client.FeedbackFlag        // empty means any
	since     string                     // the oldest day to include; empty if there is no limit
	until     string                     // the latest day to include; empty if there is no limit
	cursor    string
}

func (pr *pageRequest) listReviews(label string, f reviewFilter, limit int) *result[client.Page[client.Feedback]] {
	in := client.ListFeedbackInput{
		Limit: client.Value(limit), ReplyStatus: optional(f.status), Source: optional(f.source), Sentiment: optional(f.sentiment),
		Rating: optional(f.ratings), Flags: optional(string(f.flag)), PostedFrom: optional(f.since), PostedTo: optional(f.until), Cursor: optional(f.cursor),
	}
	return startCall(pr, "feedback:read", label, bound(pr.api.ListFeedback, in))
}

// tab is one of the tabs above a list.
type tab struct {
	ID, Name string
	Statuses []client.FeedbackReplyStatus // empty means any
	Path     string
	Current  bool
}

// inboxTabs returns the tabs of the inbox, starting with the default one.
func inboxTabs() []tab {
	statusTab := func(s client.FeedbackReplyStatus, name string) tab {
		return tab{ID: string(s), Name: name, Statuses: []client.FeedbackReplyStatus{s}}
	}
	return []tab{
		{ID: "waiting", Name: "Waiting", Statuses: []client.FeedbackReplyStatus{
			client.FeedbackReplyStatusNeedsReview, client.FeedbackReplyStatusNone, // the badge counts these two statuses
		}},
		statusTab(client.FeedbackReplyStatusNeedsReview, "To approve"), statusTab(client.FeedbackReplyStatusDraft, "Drafts"),
		statusTab(client.FeedbackReplyStatusFailed, "Not sent"), statusTab(client.FeedbackReplyStatusApproved, "Approved"),
		statusTab(client.FeedbackReplyStatusPosted, "Posted"), statusTab(client.FeedbackReplyStatusSkipped, "Skipped"), {ID: "all", Name: "All"},
	}
}

// Limits of the inbox.
const (
	inboxMax      = 80     // the maximum number of reviews that the list shows at once
	inboxBytesMax = 45_000 // the maximum size of the list's text as HTML, in bytes; a reply in Japanese has three times the bytes of one in English
	pagesMax      = 5      // the maximum number of pages to load for each list, of waitingMax reviews each
	callsPerPage  = 3      // the maximum number of calls for each of these pages, because a page of the API may be short
	choicesMax    = 60     // the maximum number of options of a filter
)

// inbox is a list of reviews, filtered by the query parameters of its address.
type inbox struct {
	Query     url.Values // the query parameters of the address, without the id of the open review
	Tabs      []tab
	Tab       tab
	Source    client.FeedbackSource
	Sentiment client.FeedbackSentiment
	Since     string // the maximum age of the reviews in days, or a range of days such as 2026-11-16..2026-11-22; empty if there is no limit

	Stars string              // an option of the star filter; the API cannot apply "none", for mentions
	Flag  client.FeedbackFlag // one of reviewFlags

	// These are the page's own filters. The API cannot apply them, so the page loads as many reviews
	// as it can, and filters those.
	Search, Country, Version string
	Countries, Versions      []string // the options of these filters

	lists       []*result[client.Page[client.Feedback]]
	nextFilters []reviewFilter // for each list, the filter that reads its next page; the filter's cursor is empty if there is no next page
	pages       int
	offset      int

	Rows     []reviewRow
	Loaded   int    // the number of loaded reviews, before the page's own filters
	hasMore  bool   // whether reviews exist that are not loaded
	Matching int    // the number of loaded reviews that match the page's own filters
	Count    string // the number of loaded reviews, with a + if more exist
	Earlier  string // Earlier, Later and More are addresses of other pages, or empty
	Later    string
	More     string
	Failure  *failure
}

// reviewRow is a review in the list.
type reviewRow struct {
	client.Feedback

	Path    string
	Current bool
}

// StatusWords makes the function statusWords available to templates.
func (r reviewRow) StatusWords() string { return statusWords(r.Feedback) }

// Locked makes the function isLocked available to templates.
func (r reviewRow) Locked() bool { return isLocked(r.Feedback) }

// Start returns the first words of the review's text. It returns "" if the review has no title,
// because the list then shows the text in place of the title.
func (r reviewRow) Start() string {
	if r.Title.Or("") == "" {
		return ""
	}
	return phrase.Excerpt(r.Body.Or(""), 90)
}

// Draft returns the stored reply, so that people see what they approve. A long reply is truncated.
// Draft returns "" if there is no reply, if the reply was posted, or if the review was skipped.
func (r reviewRow) Draft() string {
	switch r.ReplyStatus.Or("") {
	case client.FeedbackReplyStatusPosting, client.FeedbackReplyStatusPosted, client.FeedbackReplyStatusSkipped:
		return ""
	}
	return phrase.Excerpt(r.ReplyBody.Or(""), draftShownMax) // show a reply even if the status is "none", because the list can approve it
}

// draftShownMax is the maximum number of characters of a reply in the list. It is the limit of
// Google Play. Users cannot approve a longer reply in the list, because the list does not show its
// end.
const draftShownMax = 350

// size returns the approximate size of the row's text as HTML, in bytes. The page contains the
// title several times.
func (r reviewRow) size() int {
	bytes := func(text string) int { return len(template.HTMLEscapeString(text)) }
	author := r.AuthorName.Or("")
	return bytes(r.Draft()) + bytes(r.Start()) + bytes(author) + bytes(phrase.Excerpt(author, 20)) +
		bytes(r.Territory.Or("")) + bytes(r.AppVersion.Or("")) + bytes(fmt.Sprint(r.Flags.Or(nil))) +
		5*bytes(phrase.Excerpt(cmp.Or(r.Title.Or(""), r.Body.Or("")), 70))/2
}

// SeenVersion returns the version of the review, which the form sends if the user ticks the
// review's box.
func (r reviewRow) SeenVersion() string { return version(r.Feedback.UpdatedAt) }

// Waiting returns the number of loaded reviews in words, such as "12 waiting".
func (box *inbox) Waiting() string {
	if box.Tab.ID == "all" {
		return box.Count + " loaded"
	}
	return box.Count + " " + strings.ToLower(box.Tab.Name)
}

// Filtered reports whether any of the page's own filters is set. These filters can hide loaded
// reviews.
func (box *inbox) Filtered() bool {
	return box.Search+box.Country+box.Version != "" || box.Stars == mentionsOnly
}

// Narrowed reports whether any filter under "More filters" is set. Only then does the page open
// that section.
func (box *inbox) Narrowed() bool {
	return box.Stars+box.Since+box.Country+box.Version+string(box.Flag)+string(box.Sentiment) != ""
}

// AnyFilter reports whether any filter is set.
func (box *inbox) AnyFilter() bool { return box.Filtered() || box.Narrowed() || box.Source != "" }

// IsPart reports whether reviews that are not loaded may match the page's own filters. The page then
// offers no action on all shown reviews, because they are an accidental part of those that match.
func (box *inbox) IsPart() bool { return box.Filtered() && box.hasMore }

// Pages returns the number of pages that are loaded from the API for each list.
func (box *inbox) Pages() int { return box.pages }

// Summary says how many reviews the list shows, out of how many, and in which order.
func (box *inbox) Summary() string {
	text := box.Waiting()
	if box.Filtered() {
		text = fmt.Sprintf("%d of %d loaded", box.Matching, box.Loaded)
	}
	if box.IsPart() {
		text += "; the others are not searched, so more may match"
	}
	if len(box.Rows) < box.Matching {
		text += fmt.Sprintf(", %d to %d here", box.offset+1, box.offset+len(box.Rows))
	}
	if len(box.Rows) > 1 {
		text += "; by priority, then stars, then date"
		if box.More != "" {
			text += fmt.Sprintf(", of %d loaded", box.Loaded)
		}
	}
	return text
}

// Checkboxes returns the number of reviews in the list that can be changed.
func (box *inbox) Checkboxes() (n int) {
	for _, r := range box.Rows {
		if !r.Locked() {
			n++
		}
	}
	return n
}

// starChoices are the options of the star filter, and the ratings that each stands for.
var starChoices = map[string]string{"1": "1", "2": "2", "3": "3", "4": "4", "5": "5", "1-2": "1,2", "1-3": "1,2,3", "4-5": "4,5"}

// mentionsOnly is the option of the star filter for feedback without a rating.
const mentionsOnly = "none"

// reviewFlags are the options of the filter by flag.
var reviewFlags = []client.FeedbackFlag{
	client.FeedbackFlagMoney, client.FeedbackFlagDefect, client.FeedbackFlagLegal, client.FeedbackFlagSafety, client.FeedbackFlagChurn,
}

// FlagChoices returns the options of the filter by flag, for the template.
func (box *inbox) FlagChoices() []client.FeedbackFlag { return reviewFlags }

// StarChoices returns the options of the star filter in the order in which the template shows them.
func (box *inbox) StarChoices() []string {
	return []string{"1-2", "1-3", "4-5", "1", "2", "3", "4", "5"}
}

// sinceChoices are the options of the date filter: the maximum age of a review in days.
var sinceChoices = []string{"7", "30", "90", "365"}

// SinceChoices returns the options of the date filter, for the template. A range of days is an
// option only while it is chosen.
func (box *inbox) SinceChoices() []string {
	if _, _, ranged := parseDayRange(box.Since); ranged {
		return append([]string{box.Since}, sinceChoices...)
	}
	return sinceChoices
}

// SinceWords returns the label of an option of the date filter.
func (box *inbox) SinceWords(since string) string {
	if first, last, ranged := parseDayRange(since); ranged {
		return first.Format("Jan 2") + " to " + last.Format("Jan 2, 2006")
	}
	return "last " + since + " days"
}

// daysPath returns the address of the list of reviews from one day to another, both in the
// company's time zone.
func daysPath(first, last string) string {
	return inboxOf(url.Values{"show": {"all"}, "since": {first + ".." + last}}).Path("")
}

// parseDayRange parses a range of days. ok is false if text is not a range.
func parseDayRange(text string) (first, last time.Time, ok bool) {
	from, to, _ := strings.Cut(text, "..")
	first, err := time.Parse(time.DateOnly, from)
	last, lastErr := time.Parse(time.DateOnly, to)
	return first, last, err == nil && lastErr == nil
}

// inboxFilters are the names of the parameters that filter the inbox.
var inboxFilters = []string{"show", "source", "sentiment", "since", "stars", "country", "version", "flag", "q"}

// inboxOf returns the inbox for the query parameters of an address. It uses the default for an
// unknown tab, date or number of stars.
func inboxOf(q url.Values) *inbox {
	b := &inbox{Query: url.Values{}, Tabs: inboxTabs()}
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	for _, name := range append(inboxFilters, "pages", "from") {
		if text := get(name); text != "" {
			b.Query.Set(name, text)
		}
	}
	b.Tab = b.Tabs[0]
	for i, t := range b.Tabs {
		if t.ID == get("show") {
			b.Tab = t
		}
		b.Tabs[i].Path = b.pathWith("show", t.ID, "pages", "", "from", "")
	}
	for i := range b.Tabs {
		b.Tabs[i].Current = b.Tabs[i].ID == b.Tab.ID
	}
	b.Source, b.Sentiment = client.FeedbackSource(get("source")), client.FeedbackSentiment(get("sentiment"))
	if _, _, ranged := parseDayRange(get("since")); ranged || slices.Contains(sinceChoices, get("since")) {
		b.Since = get("since")
	}
	if _, known := starChoices[get("stars")]; known || get("stars") == mentionsOnly {
		b.Stars = get("stars")
	}
	if flag := client.FeedbackFlag(get("flag")); slices.Contains(reviewFlags, flag) {
		b.Flag = flag
	}
	b.Search, b.Country, b.Version = get("q"), get("country"), get("version")
	getInt := func(name string) int { n, _ := strconv.Atoi(get(name)); return n } // an invalid number counts as 0 and thus means the default
	b.pages, b.offset = min(max(1, getInt("pages")), pagesMax), max(0, getInt("from"))
	if b.Filtered() {
		b.pages = pagesMax
	}
	return b
}

// pathWith returns the address with some parameters replaced. pairs alternates between names and
// values, and an empty value removes the parameter.
func (box *inbox) pathWith(pairs ...string) string {
	q := copyOf(box.Query)
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return "/reviews?" + q.Encode()
}

// Path returns the address of the list with an open review, or of the list alone if id is empty.
func (box *inbox) Path(id string) string { return box.pathWith("id", id) }

// read starts the calls that load the list. It reuses calls that the page makes anyway for the
// badge.
func (box *inbox) read(v *pageRequest) {
	statuses := box.Tab.Statuses
	if len(statuses) == 0 {
		statuses = []client.FeedbackReplyStatus{""}
	}
	since, until := "", ""
	if first, last, ranged := parseDayRange(box.Since); ranged { // the service filters by days in UTC, so read one more day at each end
		since, until = client.Day(first.AddDate(0, 0, -1)), client.Day(last.AddDate(0, 0, 1))
	} else if days, err := strconv.Atoi(box.Since); err == nil {
		since = client.Day(period.Day.Start(v.Now().UTC()).AddDate(0, 0, -days))
	}
	k := v.frameData()
	for _, status := range statuses {
		f := reviewFilter{status: status, source: box.Source, sentiment: box.Sentiment, ratings: starChoices[box.Stars], flag: box.Flag, since: since, until: until}
		box.nextFilters = append(box.nextFilters, f)
		switch sameAsBadge := (reviewFilter{status: status}) == f && len(statuses) > 1; {
		case sameAsBadge && k.needsReview == nil:
			v.readWaiting()
			fallthrough
		case sameAsBadge:
			box.lists = append(box.lists, map[client.FeedbackReplyStatus]*result[client.Page[client.Feedback]]{
				client.FeedbackReplyStatusNeedsReview: k.needsReview, client.FeedbackReplyStatusNone: k.noReply,
			}[status])
		default:
			box.lists = append(box.lists, v.listReviews("Reviews: "+strings.ToLower(box.Tab.Name), f, waitingMax))
		}
	}
}

// readMore reads on until each list has as many reviews as the address asks for, or no more exist. A
// page of the API may be short, so the calls are limited, too.
func (box *inbox) readMore(v *pageRequest) {
	last, loaded := slices.Clone(box.lists), make([]int, len(box.lists))
	for calls := 1; ; calls++ {
		reading := false
		for i, list := range last {
			if list == nil {
				continue
			}
			loaded[i] += len(list.Value.Items)
			box.nextFilters[i].cursor, last[i] = list.Value.Next, nil
			if list.Value.Next != "" && loaded[i] < box.pages*waitingMax && calls < box.pages*callsPerPage {
				last[i] = v.listReviews("More reviews: "+strings.ToLower(box.Tab.Name), box.nextFilters[i], waitingMax)
				box.lists, reading = append(box.lists, last[i]), true
			}
		}
		if !reading {
			return
		}
		v.wait()
	}
}

// buildRows builds the rows of the list from the loaded reviews.
func (box *inbox) buildRows(chosen string, clock civiltime.Clock) {
	var all [][]client.Feedback
	for _, list := range box.lists {
		if list.Failure != nil {
			box.Failure = list.Failure
			return
		}
		all = append(all, list.Value.Items)
	}
	loaded := attention.ByUrgency(all...)
	if first, last, ranged := parseDayRange(box.Since); ranged {
		loaded = slices.DeleteFunc(loaded, func(f client.Feedback) bool {
			day := civiltime.DateOf(f.PostedAt.Or(time.Time{}), clock.Location)
			return day.Before(first) || day.After(last)
		})
	}
	box.Loaded = len(loaded)
	box.hasMore = slices.ContainsFunc(box.nextFilters, func(f reviewFilter) bool { return f.cursor != "" })
	if box.Count = strconv.Itoa(box.Loaded); box.pages == 1 {
		box.Count = formatCount(box.Loaded, box.hasMore)
	} else if box.hasMore {
		box.Count += "+"
	}
	if box.hasMore && box.pages < pagesMax {
		box.More = box.pathWith("pages", strconv.Itoa(box.pages+1))
	}
	box.setChoices(loaded)
	matching := slices.DeleteFunc(loaded, func(f client.Feedback) bool { return !box.matches(f) })
	box.Matching = len(matching)
	if box.offset >= box.Matching {
		box.offset = 0
	}
	if box.offset > 0 {
		box.Earlier = box.pathWith("from", strconv.Itoa(max(0, box.offset-inboxMax)))
	}
	size := 0
	for _, f := range matching[box.offset:min(box.Matching, box.offset+inboxMax)] {
		r := reviewRow{f, box.Path(f.ID), f.ID == chosen}
		if size += r.size(); size > inboxBytesMax && len(box.Rows) > 0 {
			break
		}
		box.Rows = append(box.Rows, r)
	}
	if next := box.offset + len(box.Rows); next < box.Matching {
		box.Later = box.pathWith("from", strconv.Itoa(next))
	}
}

// setChoices sets the options of the filters to the countries and versions of the loaded reviews.
func (box *inbox) setChoices(loaded []client.Feedback) {
	countries, versions := map[string]int{}, map[string]int{}
	for _, f := range loaded {
		countries[f.Territory.Or("")]++
		versions[f.AppVersion.Or("")]++
	}
	box.Countries, box.Versions = mostFrequent(countries, box.Country), mostFrequent(versions, box.Version)
}

// mostFrequent returns the most frequent strings and the chosen one, in alphabetical order.
func mostFrequent(counts map[string]int, chosen string) (out []string) {
	counts[chosen]++
	for text := range counts {
		if text != "" {
			out = append(out, text)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	out = out[:min(len(out), choicesMax)]
	if chosen != "" && !slices.Contains(out, chosen) {
		out = append(out, chosen)
	}
	slices.Sort(out)
	return out
}

// matches reports whether a loaded review passes the page's own filters.
func (box *inbox) matches(f client.Feedback) bool {
	if box.Stars == mentionsOnly && !f.Rating.IsNull() ||
		box.Country != "" && f.Territory.Or("") != box.Country || box.Version != "" && f.AppVersion.Or("") != box.Version {
		return false
	}
	return containsWords(strings.Join([]string{
		f.Title.Or(""), f.Body.Or(""), f.AuthorName.Or(""), phrase.Words(string(f.Source.Or(""))), f.AppVersion.Or(""), f.Territory.Or(""), f.ReplyBody.Or(""),
	}, " "), box.Search)
}
