package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/shared/client"
)

// stubService serves the few operations that the examples call. The test in
// functions/client_test.go calls every operation of the real service.
type stubService struct {
	items     []map[string]any
	revisions map[string]int            // by item id
	created   map[string]map[string]any // by Idempotency-Key
	calls     map[string]int            // how many times each path or query was called
}

// serveExamples starts a stub for one example, sets the environment variables for a program that
// uses it, and returns a client.
func serveExamples() (context.Context, *client.Client) {
	s := &stubService{revisions: map[string]int{}, created: map[string]map[string]any{}, calls: map[string]int{}}
	for i, title := range []string{"Offline mode", "Shared notebooks", "Tags"} {
		item := map[string]any{
			"id": fmt.Sprintf("itm_%d", i+1), "title": title, "slug": strings.ReplaceAll(strings.ToLower(title), " ", "-"), "status": "published",
			"summary": nil, "sortOrder": i + 1, "createdAt": "2026-08-11T09:30:00.000Z",
		}
		if title == "Tags" {
			item["sortOrder"] = nil
		}
		s.items = append(s.items, item)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/companies", listHandler(map[string]any{"id": "co_1"}))
	const company = "/v1/companies/co_1"
	mux.HandleFunc("GET "+company+"/plan/boards", listHandler(map[string]any{"id": "brd_1", "name": "Roadmap", "publishedVersion": 7}, map[string]any{"id": "brd_2", "name": "Ideas", "publishedVersion": nil}))
	mux.HandleFunc("GET "+company+"/plan/boards/brd_1/items", s.list)
	mux.HandleFunc("POST "+company+"/plan/boards/brd_1/items", s.create)
	mux.HandleFunc(company+"/plan/items/{id}", s.item)
	mux.HandleFunc("GET "+company+"/metrics/definitions", s.definitions)
	mux.HandleFunc("POST "+company+"/metrics/points", push)
	mux.HandleFunc("DELETE "+company+"/metrics/points", s.deletePoints)
	// The server is never closed: it ends with the process, after the examples.
	address := httptest.NewServer(mux).URL
	for name, value := range map[string]string{"WORKSPACE_URL": address, "WORKSPACE_KEY": testKey} {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	c, err := client.New(address, testKey)
	if err != nil {
		log.Fatal(err)
	}
	return context.Background(), c
}

func respond(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Fatal(err)
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, envelope(code, message)) // the example fails if this write does
}

func listHandler(records ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, map[string]any{"items": records}) }
}

func (s *stubService) list(w http.ResponseWriter, r *http.Request) {
	limit, start := 50, 0
	for name, target := range map[string]*int{"limit": &limit, "cursor": &start} {
		if text := r.URL.Query().Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				refuse(w, 400, "bad_request", "query."+name+": is invalid")
				return
			}
			*target = n
		}
	}
	end := min(start+limit, len(s.items))
	if end < len(s.items) {
		w.Header().Set("Service-Has-More", "true")
		w.Header().Set("Link", fmt.Sprintf(`<%s?cursor=%d>; rel="next"`, r.URL.Path, end))
	}
	listHandler(s.items[start:end]...)(w, r)
}

func (s *stubService) create(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("Idempotency-Key")
	if s.created[name] == nil {
		item := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&item); err != nil {
			log.Fatal(err)
		}
		item["id"] = fmt.Sprintf("itm_%d", len(s.items)+1)
		s.items, s.created[name] = append(s.items, item), item
	}
	respond(w, 200, s.created[name])
}

func (s *stubService) item(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	i := slices.IndexFunc(s.items, func(item map[string]any) bool { return item["id"] == id })
	if i < 0 {
		refuse(w, 404, "not_found", "no such record")
		return
	}
	tag := func() string { return fmt.Sprintf(`"%d"`, s.revisions[id]) }
	if r.Method == http.MethodPatch {
		if wanted := r.Header.Get("If-Match"); wanted != "" && wanted != tag() {
			refuse(w, 412, "precondition_failed", "header.If-Match: the record has changed")
			return
		}
		change := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			log.Fatal(err)
		}
		if change["title"] == "" {
			refuse(w, 400, "bad_request", "body.title: must have at least 1 character")
			return
		}
		for name, value := range change {
			s.items[i][name] = value
		}
		s.revisions[id]++
	}
	w.Header().Set("ETag", tag())
	respond(w, 200, s.items[i])
}

// definitions responds to the first request with a 429.
func (s *stubService) definitions(w http.ResponseWriter, r *http.Request) {
	if s.calls[r.URL.Path]++; s.calls[r.URL.Path] == 1 {
		w.Header().Set("Retry-After", "2")
		refuse(w, 429, "rate_limited", "too many requests; wait 2 s")
		return
	}
	listHandler(map[string]any{"id": "mdf_1", "key": "custom.growth.signups"})(w, r)
}

// deletePoints deletes 1,300 points in two calls.
func (s *stubService) deletePoints(w http.ResponseWriter, r *http.Request) {
	if s.calls[r.URL.RawQuery]++; s.calls[r.URL.RawQuery] == 1 {
		w.Header().Set("Service-Has-More", "true")
		respond(w, 200, map[string]any{"deletedCount": 1000})
		return
	}
	respond(w, 200, map[string]any{"deletedCount": 300})
}

func push(w http.ResponseWriter, r *http.Request) {
	var body struct{ Points []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		log.Fatal(err)
	}
	respond(w, 200, map[string]any{"accepted": len(body.Points), "createdKeys": []string{"custom.growth.signups"}})
}

// Ensure every code snippet in the package comment also appears in an example, which is compiled
// and run.
func TestPackageComment(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	// The indentation may differ.
	trimLines := func(lines []string) string {
		var out strings.Builder
		for _, line := range lines {
			out.WriteString(strings.TrimSpace(line) + "\n")
		}
		return out.String()
	}
	all := trimLines(strings.Split(string(examples), "\n"))
	snippets := 0
	var code []string
	check := func() {
		if len(code) == 0 {
			return
		}
		snippets++
		if main := slices.Index(code, "func main() {"); main >= 0 { // compare only the body of main
			code = code[main+1 : len(code)-1]
		}
		if !strings.Contains(all, trimLines(code)) {
			t.Errorf("no example has the code\n%s", strings.Join(code, "\n"))
		}
		code = nil
	}
	for line := range strings.SplitSeq(string(comment), "\n") {
		text, isCode := strings.CutPrefix(line, "//\t")
		switch {
		case isCode:
			code = append(code, text)
		case line == "//" && len(code) > 0:
			code = append(code, "")
		default:
			for len(code) > 0 && code[len(code)-1] == "" {
				code = code[:len(code)-1]
			}
			check()
		}
	}
	if snippets < 9 {
		t.Errorf("the package comment has %d pieces of code", snippets)
	}
}
