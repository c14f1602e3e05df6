package studio

import (
	"bytes"
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

	"growthworkspace/shared/client"
)

//go:embed templates static
var files embed.FS

// pages are the parsed templates and the static files.
type pages struct {
	byName              map[string]*template.Template
	static              http.Handler
	style, script, icon string // paths with a digest
}

func parse() (*pages, error) {
	p := &pages{byName: map[string]*template.Template{}}
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
		p.byName[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return p, p.addStatic()
}

var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// addStatic serves each static file under a path with its digest, which a browser may keep forever.
func (p *pages) addStatic() error {
	byPath := map[string][]byte{}
	for name, where := range map[string]*string{"studio.css": &p.style, "studio.js": &p.script, "icon.svg": &p.icon} {
		text, err := fs.ReadFile(files, "static/"+name)
		if err != nil {
			return fmt.Errorf("read a static file: %w", err)
		}
		sum := sha256.Sum256(text)
		*where = "/static/" + hex.EncodeToString(sum[:6]) + "/" + name
		byPath[*where] = text
	}
	p.static = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := byPath[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kinds[path.Ext(r.URL.Path)])
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		_, _ = w.Write(text) // ignore the error: the client disconnected
	})
	return nil
}

// view is a page to write: its template and its data. A screen that has written its own response
// returns nil.
type view struct {
	page   string // the name of the template
	place  string // its entry in the sidebar
	title  string
	status int // 0: 200
	data   any
}

// frame is the data of every page's template.
type frame struct {
	Title, Place  string
	Style, Script string
	Icon          string
	Company       string
	Host          string
	Demo          bool
	Form          string
	Places        []place
	Notice        *notice
	Calls         []*apiCall
	Failure       *failure // why the company could not be read
	Data          any
}

// place is an entry of the sidebar.
type place struct {
	Name, Path string
	Badge      string // how much waits; empty: nothing, or unknown
	Current    bool
}

// redirect redirects a browser to a page with a GET.
func (v *visit) redirect(target string) *view {
	http.Redirect(v.w, v.r, target, http.StatusSeeOther)
	return nil
}

// known has the records that the frame reads for every page. Screens that need the same records use
// them.
type known struct {
	company     *result[client.Company]
	needsReview *result[client.Page[client.Feedback]]
	noReply     *result[client.Page[client.Feedback]]
}

type knownKey struct{}

// frameOf returns the frame's records. They are complete after wait.
func (v *visit) frameOf() *known { return v.ctx.Value(knownKey{}).(*known) }

// show runs a screen and writes its page.
func (s *Studio) show(w http.ResponseWriter, r *http.Request, form string, screen func(*visit) *view) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	k := &known{}
	v := &visit{Studio: s, w: w, r: r, ctx: context.WithValue(ctx, knownKey{}, k)}
	shown := screen(v)
	v.wait()
	if shown == nil {
		return
	}
	f := frame{
		Title: shown.title, Place: shown.place, Style: s.pages.style, Script: s.pages.script, Icon: s.pages.icon, Host: s.host, Demo: s.Demo, Form: form,
		Notice: s.notices.get(r.URL.Query().Get("done")), Calls: v.calls, Data: shown.data,
	}
	if k.company != nil {
		f.Company, f.Failure = k.company.Value.Name.Or(k.company.Value.ID), k.company.Failure
	}
	f.Places = []place{{Name: "Overview", Path: "/"}, {Name: "Metrics", Path: "/metrics"}, {Name: "Roadmap", Path: "/roadmap"}, {Name: "Reviews", Path: "/reviews", Badge: k.badge()}, {Name: "Posts", Path: "/posts"}, {Name: "Sites", Path: "/sites"}, {Name: "Brand", Path: "/brand"}, {Name: "Keys", Path: "/keys"}, {Name: "Company", Path: "/company"}}
	for i := range f.Places {
		f.Places[i].Current = f.Places[i].Name == shown.place
	}
	var out bytes.Buffer
	if err := s.pages.byName[shown.page].ExecuteTemplate(&out, "frame", f); err != nil {
		s.Log.Error("a page could not be made", "page", shown.page, "error", err)
		http.Error(w, "The page could not be made. The studio's output has the reason.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if shown.status != 0 {
		w.WriteHeader(shown.status)
	}
	_, _ = w.Write(out.Bytes()) // ignore the error: the client disconnected
}

// readFrame starts the calls that every page needs. A form's handler calls it after its write, so
// that the frame shows the result. Handlers that return files do not call it.
func (v *visit) readFrame() {
	k := v.frameOf()
	k.company = read(v, "company:read", "The company", v.getCompany)
	k.needsReview = v.listReviews("Replies to approve", reviewFilter{status: client.FeedbackReplyStatusNeedsReview}, waitingMax)
	k.noReply = v.listReviews("Reviews without a reply", reviewFilter{status: client.FeedbackReplyStatusNone}, waitingMax)
}

// waitingMax is the largest page of reviews. Waiting reviews are counted up to this number.
const waitingMax = 200

// badge counts the reviews that wait for a person.
func (k *known) badge() string {
	if k.needsReview == nil || k.needsReview.Failure != nil || k.noReply.Failure != nil {
		return ""
	}
	n, more := k.waiting()
	if n == 0 {
		return ""
	}
	return counted(n, more)
}

// counted formats the number of records if n were read.
func counted(n int, more bool) string {
	if more || n > waitingMax {
		return fmt.Sprintf("%d+", min(n, waitingMax))
	}
	return fmt.Sprint(n)
}

// waiting returns how many of the loaded reviews wait, and whether there are more.
func (k *known) waiting() (n int, more bool) {
	return len(k.needsReview.Value.Items) + len(k.noReply.Value.Items), k.needsReview.Value.Next != "" || k.noReply.Value.Next != ""
}

// notice describes what a form did, on the page to which the browser is redirected.
type notice struct {
	Text string
	Bad  bool
	Call *apiCall // the last call of the form
}

// notices keeps the latest notices. Addresses contain their ids and not their texts, so that a link
// from elsewhere cannot show a false notice.
type notices struct {
	mu     sync.Mutex
	next   int
	recent map[string]notice
}

const noticesMax = 50

func (n *notices) add(what notice) (id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recent == nil {
		n.recent = map[string]notice{}
	}
	n.next++
	delete(n.recent, fmt.Sprint(n.next-noticesMax))
	n.recent[fmt.Sprint(n.next)] = what
	return fmt.Sprint(n.next)
}

func (n *notices) get(id string) *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if what, ok := n.recent[id]; ok {
		return &what
	}
	return nil
}

// done redirects to a page with a notice about what was done. The notice shows the last call that
// was made.
func (v *visit) done(path string, query url.Values, what notice) *view {
	if what.Call == nil && len(v.calls) > 0 {
		what.Call = v.calls[len(v.calls)-1]
	}
	query = copyOf(query)
	query.Set("done", v.notices.add(what))
	return v.redirect(path + "?" + query.Encode())
}

func copyOf(q url.Values) url.Values {
	out := url.Values{}
	for k, values := range q {
		out[k] = slices.Clone(values)
	}
	return out
}

func (s *Studio) nowhere(*visit) *view {
	return &view{page: "nowhere", title: "Not found", status: http.StatusNotFound}
}
