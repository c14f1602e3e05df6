package studio

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

// firstStep is an entry of the list of first steps on the overview.
type firstStep struct {
	ID, Title, Why string
	Path           string // the page with the form
	Done           bool
}

// startData is the list of first steps of a company.
type startData struct {
	Steps []firstStep
	Done  int    // the number of steps that are done
	Next  string // the ID of the first step that is not done

	Company string // the id of the company
}

// startSteps are the first steps, each with the scope that it needs.
var startSteps = []struct {
	scope string
	step  firstStep
}{
	{"company:write", firstStep{ID: "company", Title: "Name and time zone", Why: "Posts are scheduled in this zone, and all times are shown in it.", Path: "/company"}},
	{"context:write", firstStep{ID: "voice", Title: "How you sound", Why: "A few words about your voice. They are shown next to every reply.", Path: "/brand"}},
	{"plan:write", firstStep{ID: "board", Title: "A first roadmap", Why: "What you do now, next and later, one line each.", Path: "/start/board"}},
	{"plan:publish", firstStep{ID: "publish", Title: "Publish the roadmap", Why: "From then on, visitors see its items.", Path: "/roadmap"}},
	{"feedback:write", firstStep{ID: "reviews", Title: "Paste reviews", Why: "From a spreadsheet, the Play Console or the App Store. Then reply to one.", Path: "/reviews/paste"}},
	{"metrics:write", firstStep{ID: "number", Title: "Enter your first number", Why: "Sign-ups over the last few days, for example. They become a chart.", Path: "/start/number"}},
	{"broadcast:write", firstStep{ID: "post", Title: "Write a first post", Why: "A draft is enough. It is sent only once you have scheduled it.", Path: "/posts/new"}},
	{"keys:write", firstStep{ID: "ci", Title: "A key for CI", Why: "So that a build or a nightly job can push numbers.", Path: "/keys?preset=" + ciPreset + "#newkey"}},
	{"keys:write", firstStep{ID: "agent", Title: "A key for an agent that drafts", Why: "It reads, and drafts replies and posts. People decide about them.", Path: "/keys?preset=" + draftingPreset + "#newkey"}},
}

// addStartScreens adds the forms of the first steps that belong to no other page.
func (s *Studio) addStartScreens(page func(string, func(*pageRequest) *view)) {
	page("GET /start/board", s.firstBoard)
	page("POST /start/board", s.createFirstBoard)
	page("GET /start/number", s.firstNumber)
	page("POST /start/number", s.createFirstNumber)
	page("POST /start/hide", s.hideFirstSteps)
	page("GET /reviews/paste", s.pasteReviews)
	page("POST /reviews/paste", s.storeReviews)
}

// firstStepsState remembers what is known about the first steps, so that a page reads only what may
// have changed.
type firstStepsState struct {
	mu    sync.Mutex
	done  map[string]bool // keyed by the ID of a step; a step that is done stays done
	shown bool            // the list has been shown and is not complete
	over  bool            // the list is complete, or the company was already in use
}

func (s *firstStepsState) isDone(ids ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool { return !s.done[id] })
}

func (s *firstStepsState) mark(id string, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = map[string]bool{}
	}
	s.done[id] = s.done[id] || done
}

// isShown reports whether the overview shows the list.
func (s *firstStepsState) isShown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// isOver reports whether the overview need not read anything for the list.
func (s *firstStepsState) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// setShown stores whether the overview shows the list. over means that the overview will never show
// it again.
func (s *firstStepsState) setShown(shown, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown, s.over = shown, over
}

// firstStepsHiddenCookie is the name of the cookie whose value is the company for which a user has
// hidden the list.
const firstStepsHiddenCookie = "workspace_start_hidden"

func (pr *pageRequest) hasHiddenFirstSteps() bool {
	company := pr.frameData().company
	return slices.ContainsFunc(pr.r.CookiesNamed(firstStepsHiddenCookie), func(c *http.Cookie) bool { return company != nil && c.Value == company.Value.ID })
}

// setFirstStepsHidden hides the list of a company, or shows it again if id is empty.
func (pr *pageRequest) setFirstStepsHidden(id string) {
	c := &http.Cookie{Name: firstStepsHiddenCookie, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: pr.shared, MaxAge: int((365 * 24 * time.Hour).Seconds())}
	if id == "" {
		c.MaxAge = -1
	}
	http.SetCookie(pr.w, c)
}

// hideFirstSteps hides the list of first steps in this browser.
func (s *Studio) hideFirstSteps(v *pageRequest) *view {
	v.setFirstStepsHidden(v.r.PostForm.Get("company"))
	s.firstSteps.setShown(false, false)
	return v.redirectWithNotice("/", nil, notice{Text: "The first steps are hidden in this browser.", Undo: func(v *pageRequest) notice {
		v.setFirstStepsHidden("")
		return notice{Text: "The first steps are shown again."}
	}})
}

// startFirstSteps starts the calls that find out which first steps are done. Once the calls have
// ended, list returns the list, or nil if the overview does not show it. A company that already has
// metrics, a board, reviews and posts never sees it.
func (pr *pageRequest) startFirstSteps(d *overviewData, definitions *result[client.Page[client.Definition]]) (list func() *startData) {
	s, frame := &pr.Studio.firstSteps, pr.frameData()
	if s.isOver() || pr.hasHiddenFirstSteps() {
		return func() *startData { return nil }
	}
	unknown := map[string]bool{}
	mark := func(id string, done bool, failed *failure) {
		s.mark(id, done)
		unknown[id] = failed != nil
	}
	company := frame.company.Value
	waiting, _ := frame.waiting()
	mark("company", company.Name.Or("") != "" && company.Timezone.Or("") != "", frame.company.Failure)
	mark("board", len(d.Boards.Value.Items) > 0, d.Boards.Failure)
	mark("publish", d.Published() != nil, d.Boards.Failure)
	mark("number", len(definitions.Value.Items) > 0, definitions.Failure)
	mark("reviews", waiting > 0, frame.noReply.Failure)
	mark("post", len(d.Posts.Value.Items)+len(d.Overdue.Value.Items)+len(d.Failed.Value.Items) > 0, d.Posts.Failure)
	inUse := func() bool { return !s.isShown() && s.isDone("board", "number", "reviews", "post") }
	if inUse() {
		s.setShown(false, true)
		return func() *startData { return nil }
	}
	var reads []func()
	if !s.isDone("reviews") && !unknown["reviews"] {
		reviews := pr.listReviews("Whether there are reviews", reviewFilter{}, 1)
		reads = append(reads, func() { mark("reviews", len(reviews.Value.Items) > 0, reviews.Failure) })
	}
	if !s.isDone("post") && !unknown["post"] {
		posts := startCall(pr, "broadcast:read", "Whether there are posts",
			bound(pr.api.ListBroadcastPosts, client.ListBroadcastPostsInput{Limit: client.Value(1)}))
		reads = append(reads, func() { mark("post", len(posts.Value.Items) > 0, posts.Failure) })
	}
	if !s.isDone("voice") {
		kit := startCall(pr, "context:read", "The brand's voice", pr.api.GetContextBrandKit)
		reads = append(reads, func() {
			b, failed := kit.Value, kit.Failure
			if failed != nil && failed.Status == http.StatusNotFound {
				failed = nil
			}
			mark("voice", len(b.VoiceTone.Or(nil)) > 0 || b.VoiceGuidelines.Or("") != "" || len(b.VoiceExamples.Or(nil)) > 0, failed)
		})
	}
	if !s.isDone("ci", "agent") && pr.SaveSecret != nil && pr.callsLeft() > min(1, len(definitions.Value.Items)) { // leave one call for the first tile; keys that the studio itself creates are noted without this call
		keys := startCall(pr, "keys:read", "The keys",
			bound(pr.api.ListKeys, client.ListKeysInput{Limit: client.Value(200)}))
		reads = append(reads, func() {
			pr.markKeys(keys.Value.Items...)
			unknown["ci"], unknown["agent"] = keys.Failure != nil, keys.Failure != nil
		})
	}
	return func() *startData {
		for _, read := range reads {
			read()
		}
		if inUse() {
			s.setShown(false, true)
			return nil
		}
		return pr.listFirstSteps(unknown)
	}
}

// markKeys marks the steps that are done because these keys exist.
func (pr *pageRequest) markKeys(keys ...client.Key) {
	for step, scopes := range map[string][2]string{"ci": {"metrics:write", "keys:write"}, "agent": {"feedback:draft", "feedback:write"}} {
		pr.Studio.firstSteps.mark(step, slices.ContainsFunc(keys, func(k client.Key) bool { return pr.isOtherKeyWith(k, scopes[0], scopes[1]) }))
	}
}

// isOtherKeyWith reports whether k is in use, is not the studio's own key, and has the first of the
// given scopes but not the second.
func (pr *pageRequest) isOtherKeyWith(k client.Key, with, without string) bool {
	return stateOf(k, pr.Now()) == "in use" && (pr.key == nil || k.ID != pr.key.ID) && k.Allows(with) && !k.Allows(without)
}

// listFirstSteps returns the steps that the studio's key allows and whose state is known. It
// returns nil if all of them are done.
func (pr *pageRequest) listFirstSteps(unknown map[string]bool) *startData {
	out := &startData{Company: pr.frameData().company.Value.ID}
	for _, s := range startSteps {
		step := s.step
		if unknown[step.ID] || !pr.may(s.scope) || s.scope == "keys:write" && pr.SaveSecret == nil {
			continue
		}
		if step.Done = pr.Studio.firstSteps.isDone(step.ID); step.Done {
			out.Done++
		} else if out.Next == "" {
			out.Next = step.ID
		}
		out.Steps = append(out.Steps, step)
	}
	if out.Next == "" {
		pr.Studio.firstSteps.setShown(false, len(out.Steps) > 0)
		return nil
	}
	pr.Studio.firstSteps.setShown(true, false)
	return out
}
