package report

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/phrase"
)

// Heading returns the report's first line, such as "Acme: Week 47, Nov 16 to Nov 22, 2026".
func (r Report) Heading() string {
	if r.Company == "" {
		return r.Title
	}
	return r.Company + ": " + r.Title
}

// Notes returns the sentences that say what the numbers mean and what is missing.
func (r Report) Notes() []string {
	out := []string{fmt.Sprintf("The week is one of the ISO calendar, Monday to Sunday, in %s", r.TimeZone)}
	if r.ZoneNote != "" {
		out[0] += ": " + r.ZoneNote
	}
	out[0] += ". Read " + r.ReadText + "."
	if len(r.Metrics) > 0 {
		switch {
		case r.Days == "the week":
			out = append(out, "Metrics are compared with the week before. Their weeks are the service's, computed from days as the program that pushes them names the days.")
		case r.Days == "":
			out = append(out, "The week has just begun: metrics are compared once its first day is over, in "+r.TimeZone+" and in UTC.")
		default:
			out = append(out, "The week is not over for metrics: the values are those of "+r.Days+", against the same days of the week before. A day is over once it is over in "+r.TimeZone+" and in UTC.")
		}
	}
	if r.MoreMetrics > 0 {
		out = append(out, phrase.Plural(r.MoreMetrics, "metric is", "metrics are")+" left out. Those with an active goal come first.")
	}
	if !r.Over && r.Reviews.Read {
		out = append(out, "Reviews of the week before are counted until the same weekday and time.")
	}
	if len(r.Goals) > 0 {
		out = append(out, "A goal is behind if its value, that of the last full month, is short of a straight line from its baseline to its target.")
	}
	for _, g := range r.NotRead {
		out = append(out, fmt.Sprintf("Not in this report: %s (%s).", g.Part, g.Reason))
	}
	return out
}

// NowHeading returns the heading for the values in Metric.Now.
func (r Report) NowHeading() string {
	if r.Days == "the week" || r.Days == "" {
		return "The week"
	}
	return r.Days
}

// BeforeHeading returns the heading for the values in Metric.Before.
func (r Report) BeforeHeading() string {
	if r.Days == "the week" {
		return "Week before"
	}
	return "Same days before"
}

// stateWords are the words for the states of a goal.
var stateWords = map[attention.GoalState]string{attention.GoalPast: "past its date", attention.GoalBehind: "behind", attention.GoalOnPace: "on pace"}

// StateText returns the words for the goal's state, or "".
func (g Goal) StateText() string { return stateWords[g.State] }

// CountText says how many reviews the week has.
func (r Reviews) CountText() string {
	total := countText(r.Count, r.More, "review or mention", "reviews and mentions")
	if r.HasBefore {
		total += fmt.Sprintf(", %d the week before", r.Before)
	}
	if r.Average != "" {
		total += ", " + r.Average + " stars on average"
	}
	if r.Mentions > 0 {
		total += fmt.Sprintf(", %d without stars", r.Mentions)
	}
	return total
}

// WaitingText says how many reviews wait for a person.
func (r Reviews) WaitingText() string {
	text := strings.Join(withoutEmpty(r.Approvals, r.NoReply, r.NotPosted), ", ")
	return "Now waiting: " + cmp.Or(text, "not known")
}

// StarCount is the number of reviews with a given number of stars.
type StarCount struct {
	Stars, Count int
	Share        float64 // the share of all reviews with stars
}

// ByStars returns the counts, most stars first.
func (r Reviews) ByStars() (out []StarCount) {
	sum := 0
	for _, n := range r.Stars {
		sum += n
	}
	for stars := 5; stars >= 1; stars-- {
		n := r.Stars[stars-1]
		out = append(out, StarCount{stars, n, float64(n) / float64(max(1, sum))})
	}
	return out
}

// barChars is the length of a bar that stands for all reviews.
const barChars = 30

// Text formats the report for a terminal. Its lines contain third-party text, so the caller must
// escape control characters.
func (r Report) Text() string {
	var out strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	p("%s", r.Heading())
	if len(r.Metrics) > 0 {
		p("\nMetrics")
		rows := []string{"\t" + r.NowHeading() + "\t" + r.BeforeHeading() + "\tChange\t"}
		for _, m := range r.Metrics {
			rows = append(rows, strings.Join([]string{m.Name, orDash(m.Now), orDash(m.Before), m.Change, m.Note}, "\t"))
		}
		out.WriteString(table(rows))
	}
	if len(r.Goals) > 0 {
		p("\nGoals")
		for _, g := range r.Goals {
			p("  %s", strings.Join(withoutEmpty(g.Name, g.StateText(), g.Text), ": "))
		}
	}
	if r.Reviews.Read {
		p("\nReviews")
		p("  %s", r.Reviews.CountText())
		for _, s := range r.Reviews.ByStars() {
			if r.Reviews.Average != "" {
				p("  %s", strings.TrimRight(fmt.Sprintf("%s %4d  %s", phrase.Stars(s.Stars), s.Count, strings.Repeat("█", int(s.Share*barChars+0.5))), " "))
			}
		}
		p("  %s", r.Reviews.WaitingText())
		for _, w := range r.Reviews.Waiting {
			p("    %s", w)
		}
	}
	if r.HasRoadmap() {
		p("\nRoadmap")
		for _, b := range r.Roadmap {
			p("  %s: %s", b.Name, b.Text)
			for _, line := range b.Lines() {
				p("    %s", line)
			}
		}
		if len(r.Roadmap) == 0 {
			p("  nothing was published")
		}
	}
	if r.Posts.Read {
		p("\nPosts")
		for _, g := range r.PostGroups() {
			p("  %s", g.Title)
			var rows []string
			for _, post := range g.Posts {
				rows = append(rows, "  "+strings.Join(withoutEmpty(post.When, post.Platform, post.Text, post.Reason), "\t"))
			}
			out.WriteString(table(rows))
		}
	}
	if r.HasAudits() {
		p("\nAudits")
		for _, a := range r.Audits {
			p("  %s: %s", a.Site, a.Text())
		}
		if len(r.Audits) == 0 {
			p("  none that week")
		}
	}
	p("")
	for _, note := range r.Notes() {
		p("%s", note)
	}
	return out.String()
}

// lacks reports whether a part could not be read at all because of the key's scopes or a failure.
func (r Report) lacks(part string) bool {
	for _, g := range r.NotRead {
		if g.Part == part && (g.Scope != "" || g.Failed) {
			return true
		}
	}
	return false
}

// HasRoadmap reports whether the roadmap was read.
func (r Report) HasRoadmap() bool { return len(r.Roadmap) > 0 || !r.lacks(partRoadmap) }

// HasAudits reports whether the audits were read.
func (r Report) HasAudits() bool { return len(r.Audits) > 0 || !r.lacks(partAudits) }

// PostGroup is a group of posts under a title.
type PostGroup struct {
	Title string
	Posts []Post
}

// PostGroups returns groups of the posts that were sent, that failed, and that come next.
func (r Report) PostGroups() (out []PostGroup) {
	add := func(title, emptyTitle string, posts []Post, limit int) {
		switch {
		case len(posts) == 0:
			title = emptyTitle
		case len(posts) > limit:
			title += fmt.Sprintf(", the first %d", limit)
			posts = posts[:limit]
		}
		if title != "" {
			out = append(out, PostGroup{title, posts})
		}
	}
	add(fmt.Sprintf("Sent: %d", len(r.Posts.Sent)), "Sent: none", r.Posts.Sent, sentMax)
	add(fmt.Sprintf("Failed: %d", len(r.Posts.Failed)), "", r.Posts.Failed, sentMax)
	add("", r.Posts.Overdue, nil, 0)
	if r.Posts.NextRead {
		add("Next", "Next: none is scheduled", r.Posts.Next, nextMax)
	}
	return out
}

// Lines returns the lines that say what was published on the board.
func (b Board) Lines() (out []string) {
	if len(b.Created) > 0 {
		out = append(out, "created this week: "+strings.Join(b.Created, "; "))
	}
	if len(b.Edited) > 0 {
		out = append(out, "edited this week: "+strings.Join(b.Edited, "; "))
	}
	if b.Live != "" {
		out = append(out, b.Live)
	}
	return out
}

// Text says what the audit found, such as "SEO 65 (−19), AEO 80".
func (a Audit) Text() string {
	if len(a.Scores) == 0 {
		return a.Problem
	}
	var parts []string
	for _, s := range a.Scores {
		switch {
		case s.Text == "":
		case s.Change == "":
			parts = append(parts, s.Name+" "+s.Text)
		default:
			parts = append(parts, s.Name+" "+s.Text+" ("+s.Change+")")
		}
	}
	return strings.Join(parts, ", ")
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func withoutEmpty(texts ...string) (out []string) {
	for _, text := range texts {
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// table aligns rows whose cells are separated by tabs, and indents them.
func table(rows []string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "  %s\n", row)
	}
	_ = w.Flush() // writing to a strings.Builder cannot fail
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// Markdown formats the report as Markdown. It removes the control characters in third-party text.
func (r Report) Markdown() string {
	var out strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	row := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = escapeMarkdown(cell)
		}
		p("| %s |", strings.Join(cells, " | "))
	}
	list := func(lines ...string) {
		for _, line := range lines {
			p("- %s", escapeMarkdown(line))
		}
	}
	p("# %s", escapeMarkdown(r.Heading()))
	if len(r.Metrics) > 0 {
		p("\n## Metrics\n\n| Metric | %s | %s | Change | |\n|---|---:|---:|---:|---|", r.NowHeading(), r.BeforeHeading())
		for _, m := range r.Metrics {
			row(m.Name, orDash(m.Now), orDash(m.Before), m.Change, m.Note)
		}
	}
	if len(r.Goals) > 0 {
		p("\n## Goals\n")
		for _, g := range r.Goals {
			list(strings.Join(withoutEmpty(g.Name, g.StateText(), g.Text), ": "))
		}
	}
	if r.Reviews.Read {
		p("\n## Reviews\n")
		list(r.Reviews.CountText(), r.Reviews.WaitingText())
		if r.Reviews.Average != "" {
			p("\n| Stars | Reviews |\n|---|---:|")
			for _, s := range r.Reviews.ByStars() {
				row(phrase.Stars(s.Stars), fmt.Sprint(s.Count))
			}
		}
		if len(r.Reviews.Waiting) > 0 {
			p("\nMost urgent:\n")
			list(r.Reviews.Waiting...)
		}
	}
	if r.HasRoadmap() {
		p("\n## Roadmap\n")
		for _, b := range r.Roadmap {
			list(b.Name + ": " + b.Text)
			for _, line := range b.Lines() {
				p("  - %s", escapeMarkdown(line))
			}
		}
		if len(r.Roadmap) == 0 {
			p("Nothing was published.")
		}
	}
	if r.Posts.Read {
		p("\n## Posts\n")
		for _, g := range r.PostGroups() {
			list(g.Title)
			for _, post := range g.Posts {
				p("  - %s", escapeMarkdown(strings.Join(withoutEmpty(post.When, post.Platform, post.Text, post.Reason), ", ")))
			}
		}
	}
	if r.HasAudits() {
		p("\n## Audits\n")
		for _, a := range r.Audits {
			list(a.Site + ": " + a.Text())
		}
		if len(r.Audits) == 0 {
			p("None that week.")
		}
	}
	p("")
	for _, note := range r.Notes() {
		p("%s\n", escapeMarkdown(note))
	}
	return withoutControls(strings.TrimRight(out.String(), "\n") + "\n")
}

// withoutControls removes the characters that control a terminal or change the direction of the
// text after them. It keeps line breaks.
func withoutControls(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Bidi_Control, c) {
			return -1
		}
		return c
	}, text)
}

// markdownEscaper escapes the characters that can start markup, a link with a label, or HTML. It
// leaves a plain URL unchanged, although some programs show it as a link.
var markdownEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "~", `\~`, "#", `\#`, "&", `\&`)

func escapeMarkdown(text string) string { return markdownEscaper.Replace(text) }
