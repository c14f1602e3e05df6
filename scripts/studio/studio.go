// Package studio serves web pages on this machine that show a company's data, such as its metrics,
// reviews and profile. It uses only the public API. So a script can do everything that the studio
// does, and the studio works with any base URL and key. Each page shows the API requests that it
// made. The key stays in this process and is never part of a response.
//
// studio.go starts the studio, call.go sends and records the requests of a page, and frame.go
// contains the parts that every page shares. Each screen has its own file, and its own template in
// the folder templates. Packages series, scores, attention, batch and report prepare the API's
// records. The command line uses them, too. The other packages below this one do not depend on the
// API. scripts/docs/explanation/studio.md explains the reasons.
package studio

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/studio/localauth"
	"growthworkspace/scripts/studio/report"
	"growthworkspace/shared/client"
)

// Options are the settings of a studio.
type Options struct {
	BaseURL   string // the base URL of the service
	Key       string // a secret key, which is sent only to BaseURL
	CompanyID string // the company that the key belongs to; if empty, the studio requests it once
	Demo      bool   // the key belongs to the demo company
	Profile   string // the name of the login that has the key, which the pages show; may be empty

	// SaveSecret writes the secret of a new key to a file that only its owner can read, and
	// returns the file's name. The page shows the name and never the secret. If SaveSecret is nil,
	// the studio cannot create keys.
	SaveSecret func(keyID, secret string) (file string, err error)

	Now       func() time.Time
	Sleep     func(ctx context.Context, d time.Duration) error // pauses a bulk action until the service accepts requests again; if nil, a timer is used
	Transport http.RoundTripper                                // sends requests to the service; http.DefaultTransport if nil
	Log       *slog.Logger                                     // receives errors of the studio itself; if nil, they are not logged
	Limits    Limits
}

// Limits holds the studio's timeouts. If a field is 0, its default applies.
type Limits struct {
	Page     time.Duration // for all API calls of one page together; by default 25 seconds
	Identify time.Duration // for the key's scopes, on the first page; by default 3 seconds
	Bulk     time.Duration // for the result of a bulk action; after that, the response shows its progress; by default 1.5 seconds
}

// Studio serves the pages of one company.
type Studio struct {
	Options

	host        string // the host of the service, which the pages show
	shared      bool   // whether people use the studio from other machines
	api         *client.Client
	pages       *pages
	notices     notices
	badge       badge
	bulks       bulks
	renames     renames
	firstSteps  firstStepsState
	secretFiles secretFiles
	companyName atomic.Pointer[string] // the company's name when it was last read

	identified chan struct{} // closed when the key's scopes are known or could not be read
	once       sync.Once
	key        *client.Key // nil if it is unknown
}

// New returns a studio. It sends no request. It returns an error if the base URL or the key is not
// valid, or if the key would cross a network unencrypted.
func New(o Options) (*Studio, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the base URL must be like https://api.example.com")
	}
	if u.Scheme != "https" && !client.Loopback(o.BaseURL) {
		return nil, fmt.Errorf("%s is not encrypted, so anyone on the network could read the key: use https", u.Host)
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	o.Limits.Page = cmp.Or(o.Limits.Page, 25*time.Second)
	o.Limits.Identify = cmp.Or(o.Limits.Identify, 3*time.Second)
	o.Limits.Bulk = cmp.Or(o.Limits.Bulk, 1500*time.Millisecond)
	s := &Studio{Options: o, host: u.Host, identified: make(chan struct{})}
	s.bulks.ctx, s.bulks.cancel = context.WithCancel(context.Background())
	s.api, err = client.New(o.BaseURL, o.Key,
		client.WithCompany(o.CompanyID), client.WithUserAgent("workspace-studio"),
		// A user is waiting for the page, so show a failure soon instead of retrying for a long
		// time.
		client.WithAttempts(3), client.WithWaitMax(2*time.Second),
		client.WithHTTPClient(&http.Client{
			Transport: recordingTransport{o.Transport}, Timeout: o.Limits.Page,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "client: "))
	}
	s.pages, err = parseOnce()
	return s, err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// PublicHandler returns a handler that serves the studio as part of another server, behind a TLS
// proxy, until ctx is cancelled. The paths of its pages begin with prefix, such as /studio. host is
// the host in the public URL. Everyone who enters the token is admitted.
func (s *Studio) PublicHandler(ctx context.Context, host, prefix, token string) http.Handler {
	s.shared = true
	guard := localauth.NewPublic(host, token, rand.Text, s.signIn)
	context.AfterFunc(ctx, s.bulks.close)
	go s.identify(ctx)
	return withPathPrefix(prefix, guard.Wrap(s.handler(guard.FormToken())))
}

// signIn writes the page that asks for the token.
func (s *Studio) signIn(w http.ResponseWriter, wrong bool) {
	s.write(w, "signin", frame{Title: "Sign in", Style: s.pages.style, Icon: s.pages.icon, Host: s.host, Data: wrong}, http.StatusForbidden)
}

// Server is a studio that listens on its port.
type Server struct {
	Guard *localauth.Guard

	studio   *Studio
	listener net.Listener
	server   *http.Server
}

// Listen opens the studio's port. No request is served until Serve is called. onOpen may be nil;
// otherwise it is called once, when the first browser has been admitted.
func (s *Studio) Listen(ctx context.Context, addr string, onOpen func()) (*Server, error) {
	listener, host, err := localauth.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	guard := localauth.New(host, rand.Text, onOpen)
	return &Server{guard, s, listener, &http.Server{
		Handler: guard.Wrap(s.handler(guard.FormToken())), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn), MaxHeaderBytes: 64 << 10,
	}}, nil
}

// Serve serves until ctx is cancelled or Close is called.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	defer s.studio.bulks.close()
	go s.studio.identify(ctx)
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the studio stopped: %w", err)
	}
	return nil
}

// Close stops the studio and its requests. It is safe to call it twice.
func (s *Server) Close() error {
	return errors.Join(s.server.Close(), ignoreClosed(s.listener.Close()))
}

// ignoreClosed returns the error of closing a listener, but ignores the error of a listener that
// was already closed.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// handler returns the handler that serves the pages. formToken is the value of the hidden field
// that every form must contain.
func (s *Studio) handler(formToken string) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, screen func(*pageRequest) *view) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.show(w, r, formToken, screen) })
	}
	page := func(pattern string, screen func(*pageRequest) *view) {
		handle(pattern, func(v *pageRequest) *view {
			if v.r.Method != http.MethodPost {
				v.readFrame()
			}
			return screen(v)
		})
	}
	page("GET /{$}", s.overview)
	page("POST /pins", s.pin)
	page("GET /week", s.week)
	handle("GET /week.html", s.weekFile("text/html", ".html", report.Report.HTML))
	handle("GET /week.md", s.weekFile("text/markdown", ".md", reportMarkdown))
	page("GET /metrics", s.metrics)
	handle("GET /metrics.csv", s.metricsCSV)
	addRecordScreens(page, "/metrics/definitions", (*pageRequest).definitionScreens)
	page("POST /metrics/definitions/{id}/confirm", s.confirmMetric)
	page("GET /metrics/values", s.metricValues)
	page("POST /metrics/values", s.saveMetricValue)
	page("GET /reviews", s.reviews)
	handle("GET /reviews/new", s.newReviews)
	handle("GET /badge", s.badgeFragment)
	page("POST /reviews/bulk", s.bulkReviews)
	page("GET /bulk/{id}", s.bulkPage)
	page("POST /bulk/{id}", s.bulkAction)
	page("POST /reviews/{id}", s.reply)
	page("GET /roadmap", s.roadmap)
	page("POST /roadmap/publish/{board}", s.publish)
	page("POST /roadmap/rollback/{board}", s.rollback)
	handle("GET /roadmap/visitors/{board}", s.visitorPage)
	page("GET /roadmap/items/{id}/move", s.movePage)
	page("POST /roadmap/items/{id}/move", s.move)
	page("POST /roadmap/columns", s.renameColumn)
	addRecordScreens(page, "/roadmap/items", (*pageRequest).itemScreens)
	addRecordScreens(page, "/roadmap/boards", (*pageRequest).boardScreens)
	page("GET /keys", s.keys)
	page("POST /keys", s.createKey)
	page("POST /keys/{id}/rotate", s.rotateKey)
	page("POST /keys/{id}/revoke", s.revokeKey)
	page("GET /posts", s.calendar)
	page("GET /posts/list", s.postList)
	page("GET /posts/new", s.post)
	page("GET "+accountsPath, s.accounts)
	page("GET /posts/fill", s.fillPage)
	page("POST /posts/fill", s.fill)
	page("POST /posts", s.savePost)
	handle("POST /posts/preview", s.previewPost)
	page("GET /posts/{id}", s.post)
	page("POST /posts/{id}", s.savePost)
	page("POST /posts/{id}/move", s.movePost)
	page("GET /ideas", s.ideas)
	page("POST /ideas/{id}", s.decideIdea)
	addRecordScreens(page, plansPath, (*pageRequest).planScreens)
	addRecordScreens(page, ideaPath, (*pageRequest).ideaScreens)
	page("POST /posts/{id}/delete", s.deletePost)
	s.addStartScreens(page)
	s.addSiteScreens(page, handle)
	s.addBrandScreens(page)
	s.addReferenceScreens(handle)
	page("GET /company", s.company)
	page("POST /company", s.saveCompany)
	page("GET /activity", s.activity)
	page("GET /changes", s.changes)
	page("POST /undo/{notice}", s.undo)
	page("/", s.notFound)
	mux.Handle("GET /static/", s.pages.static)
	return mux
}

// identify reads the key's scopes. With them, a page can say which scope the key lacks without
// making a call that the service would refuse. If identify cannot read them, each page makes such
// calls and learns about a missing scope from the response.
func (s *Studio) identify(ctx context.Context) {
	s.once.Do(func() {
		defer close(s.identified)
		ctx, cancel := context.WithTimeout(ctx, s.Limits.Identify)
		defer cancel()
		if key, err := s.api.GetCurrentKey(ctx); err == nil {
			s.key = &key
		}
	})
}

// anyScope stands for the scope of a call that every key may make.
const anyScope = ""

// may reports whether the key has the scope or one that contains it. It returns true if the key's
// scopes are unknown.
func (s *Studio) may(scope string) bool {
	<-s.identified
	if s.key == nil || scope == anyScope {
		return true
	}
	_, known := s.key.Scopes.Get()
	return !known || s.key.Allows(scope)
}
