package studio

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/localauth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/scalar"
)

//go:embed templates static
var files embed.FS

// pages are the parsed templates and the static files.
type pages struct {
	templates           map[string]*template.Template
	static              http.Handler
	style, script, icon string // paths that contain a digest of the file
	reference           referenceFiles
}

// referenceFiles are the paths of the files that only the reference uses.
type referenceFiles struct{ ReferenceStyle, ReferenceScript, Scalar string }

// parseOnce returns the pages. All studios in a process share them.
var parseOnce = sync.OnceValues(parse)

func parse() (*pages, error) {
	p := &pages{templates: map[string]*template.Template{}}
	base, err := template.New("").Funcs(functions).ParseFS(files, "templates/frame.html")
	if err != nil {
		return nil, fmt.Errorf("parse the frame: %w", err)
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t := template.Must(base.Clone())
		if name != "templates/frame.html" {
			if t, err = t.ParseFS(files, name); err != nil {
				return nil, fmt.Errorf("parse a page: %w", err)
			}
		}
		p.templates[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return p, p.addStatic()
}

// scalarOnce decompresses the script when it is first requested.
var scalarOnce = sync.OnceValue(scalar.Script)

var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// addStatic serves each static file under a path that contains the file's digest, so that a browser
// may cache the file forever.
func (p *pages) addStatic() error {
	p.reference.Scalar = localauth.StaticPath + scalar.Digest + "/scalar.js"
	contentByPath := map[string][]byte{}
	for name, dst := range map[string]*string{
		"studio.css": &p.style, "studio.js": &p.script, "icon.svg": &p.icon,
		"reference.css": &p.reference.ReferenceStyle, "reference.js": &p.reference.ReferenceScript,
	} {
		text, err := fs.ReadFile(files, "static/"+name)
		if err != nil {
			return fmt.Errorf("read a static file: %w", err)
		}
		sum := sha256.Sum256(text)
		*dst = localauth.StaticPath + hex.EncodeToString(sum[:6]) + "/" + name
		contentByPath[*dst] = text
	}
	p.static = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := contentByPath[r.URL.Path]
		if r.URL.Path == p.reference.Scalar {
			text, known = scalarOnce(), true
		}
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentTypes[path.Ext(r.URL.Path)])
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		_, _ = w.Write(text) // ignore the error: the client disconnected
	})
	return nil
}

// view is a page to be written: the name of a template, and its data. A handler that has already
// written its response returns nil instead.
type view struct {
	page   string // the name of the template
	place  string // the name of the page's entry in the sidebar
	title  string
	status int // 0: 200
	data   any
}

// frame is the data for the template that surrounds every page.
type frame struct {
	referenceFiles

	Title, Place  string
	Style, Script string
	Icon          string
	Company       string
	Host          string
	Demo          bool
	Profile       string
	Form          string
	Places        []place
	Notice        *notice
	Earlier       bool // there are earlier changes that can be undone
	Calls         []*apiCall
	Clock         civiltime.Clock // formats all times, but not the days of metrics
	Failure       *failure        // why the company could not be read
	Data          any
}

// place is an entry of the sidebar.
type place struct {
	Name, Path string
	Badge      string // the number of reviews that wait for a reply; empty if there are none or the number is unknown
	Pending    bool   // the page was rendered without the badge, and the browser requests it later
	Current    bool
}

// redirect makes the browser request a page with GET.
func (pr *pageRequest) redirect(target string) *view {
	http.Redirect(pr.w, pr.r, target, http.StatusSeeOther)
	return nil
}

// frameData holds the records that the frame around every page needs. A page that needs the same
// records reuses them.
type frameData struct {
	company     *result[client.Company]
	needsReview *result[client.Page[client.Feedback]] // nil if readWaiting was not called
	noReply     *result[client.Page[client.Feedback]]
	writes      int // what badge.writeCount returned before the lists were read
}

type frameDataKey struct{}

// frameData returns the records that the frame needs. They are complete once wait has returned.
func (pr *pageRequest) frameData() *frameData { return pr.ctx.Value(frameDataKey{}).(*frameData) }

// show runs a screen and writes its page.
func (s *Studio) show(w http.ResponseWriter, r *http.Request, form string, screen func(*pageRequest) *view) {
	ctx, cancel := context.WithTimeout(r.Context(), s.Limits.Page)
	defer cancel()
	k := &frameData{}
	v := &pageRequest{Studio: s, w: w, r: r, ctx: context.WithValue(ctx, frameDataKey{}, k)}
	out := screen(v)
	v.wait()
	if out == nil {
		return
	}
	f := frame{
		referenceFiles: s.pages.reference, Title: out.title, Place: out.place, Style: s.pages.style, Script: s.pages.script, Icon: s.pages.icon, Host: s.host, Demo: s.Demo, Profile: s.Profile, Form: form,
		Notice: s.notices.get(cmp.Or(r.URL.Query().Get("done"), r.PostForm.Get("notice"))), Calls: v.calls, Clock: v.clock(), Data: out.data,
	}
	if f.Notice != nil && f.Notice.More == "" && f.Place != "Overview" && s.firstSteps.isShown() {
		f.Notice.More, f.Notice.Link = "/", "First steps"
	}
	f.Earlier = f.Notice != nil && slices.ContainsFunc(s.notices.changeNotices(), func(n notice) bool { return n.ID != f.Notice.ID })
	if k.company != nil {
		f.Company, f.Failure = k.company.Value.Name.Or(k.company.Value.ID), k.company.Failure
		if f.Failure == nil {
			s.companyName.Store(&f.Company)
		} else if name := s.companyName.Load(); name != nil {
			f.Company = *name
		}
	}
	f.Places = []place{{Name: "Overview", Path: "/"}, {Name: "Week", Path: "/week"}, {Name: "Metrics", Path: "/metrics"}, {Name: "Roadmap", Path: "/roadmap"}, {Name: "Reviews", Path: "/reviews"}, {Name: "Posts", Path: "/posts"}, {Name: "Sites", Path: "/sites"}, {Name: "Brand", Path: "/brand"}, {Name: "Keys", Path: "/keys"}, {Name: "Company", Path: "/company"}, {Name: "Activity", Path: "/activity"}, {Name: "Changes", Path: "/changes"}, {Name: "Reference", Path: "/reference"}}
	c, ok := out.data.(bulkCounts)
	running := ok && c.Running
	for i := range f.Places {
		if f.Places[i].Path == "/reviews" {
			f.Places[i].Badge, f.Places[i].Pending = s.waitingBadge(k)
			f.Places[i].Pending = f.Places[i].Pending && !running // do not show a count that the running action is about to change
		}
		f.Places[i].Current = f.Places[i].Name == out.place
	}
	s.write(w, out.page, f, out.status)
}

// write writes a page with a single call to Write. A status of 0 means 200.
func (s *Studio) write(w http.ResponseWriter, page string, f frame, status int) {
	var out bytes.Buffer
	if err := s.pages.templates[page].ExecuteTemplate(&out, "frame", f); err != nil {
		s.Log.Error("a page could not be made", "page", page, "error", err)
		http.Error(w, "The page could not be made. The studio's output has the reason.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(out.Bytes()) // ignore the error: the client disconnected
}

// readFrame starts the API calls that every page needs. A handler that writes must call it after
// the write, so that the frame shows the new values. A handler that returns a file does not call
// it.
func (pr *pageRequest) readFrame() {
	k := pr.frameData()
	k.company = startCall(pr, "company:read", "The company", pr.api.GetCompany)
}

// notice describes what sending a form did. It is shown on the page to which the browser is
// redirected.
type notice struct {
	ID     string // set by notices
	Record string // the name of the changed record; empty if Text contains the name
	Text   string
	Bad    bool
	Call   *apiCall // the last API call that the form made
	Undo   undo     // reverts the change; nil if that is impossible
	More   string   // the address of a related page; empty if there is none
	Link   string   // the text of the link to that page
	By     string   // distinguishes the record from others with the same name, such as the author of a review; may be empty
	At     time.Time
	Part   string // the id of the part of the page that shows the change; may be empty
	back   string // the page that shows the notice
	bulk   *bulk  // the bulk action that the notice is about; nil if there is none
	retry  bool   // whether the notice is about an undo that failed but may succeed later

	review string // the id of the review from which an undo has removed the typed reply; may be empty
	typed  string // the text of that reply

	Outcome string // the result of the undo; empty until the user tries to undo the change
}

// notices keeps the latest notices. The address of a page contains the id of a notice and not its
// text. Otherwise, a link on a different site could show a forged notice.
type notices struct {
	mu     sync.Mutex
	next   int
	recent map[string]notice
}

const noticesMax = 50

func (n *notices) add(msg notice) (id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recent == nil {
		n.recent = map[string]notice{}
	}
	n.next++
	delete(n.recent, fmt.Sprint(n.next-noticesMax))
	msg.ID = fmt.Sprint(n.next)
	n.recent[msg.ID] = msg
	return msg.ID
}

// changeNotices returns the notices about changes that can be undone or were undone, newest first.
func (n *notices) changeNotices() (out []notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := n.next; id > n.next-noticesMax && id > 0; id-- {
		msg := n.recent[fmt.Sprint(id)]
		if msg.bulk != nil && (msg.Undo != nil || msg.Outcome == undoneText) { // the changes of a bulk action can be undone one at a time
			c := msg.bulk.counts()
			if c.Changed > 0 {
				msg.Text = c.Text()
			}
			if c.Undoable == 0 || msg.Undo == nil {
				msg.Undo, msg.Outcome = nil, c.undoOutcome()
			}
		}
		if msg.Undo != nil || msg.Outcome != "" {
			out = append(out, msg)
		}
	}
	return out
}

func (n *notices) get(id string) *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if msg, ok := n.recent[id]; ok {
		return &msg
	}
	return nil
}

// redirectWithNotice redirects to a page that shows a notice about what was done. The notice
// includes the last API call that was made.
func (pr *pageRequest) redirectWithNotice(path string, query url.Values, msg notice) *view {
	if msg.Call == nil && len(pr.calls) > 0 {
		msg.Call = pr.calls[len(pr.calls)-1]
	}
	query = copyOf(query)
	query.Del("done")
	msg.At = pr.Now()
	if msg.back == "" {
		msg.back = path + "?" + query.Encode()
	}
	query.Set("done", pr.notices.add(msg))
	address := path + "?" + query.Encode()
	if msg.Part != "" {
		address += "#" + msg.Part
	}
	return pr.redirect(address)
}

func copyOf(q url.Values) url.Values {
	out := url.Values{}
	for k, values := range q {
		out[k] = slices.Clone(values)
	}
	return out
}

func (s *Studio) notFound(*pageRequest) *view {
	return &view{page: "notfound", title: "Not found", status: http.StatusNotFound}
}
