package functions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// racer is one of two concurrent requests. A test controls the order of their table calls that
// involve one record: a racer waits for its turn before each such call.
type racer struct {
	name          string
	turns         chan struct{} // one value per turn; once closed, the racer no longer waits
	called        chan struct{} // receives a value after each call that used a turn
	finished      chan struct{} // closed when the response has arrived
	losesResponse bool          // whether the response to its first write is lost
	response      apitest.Response
}

type racerKey struct{}

// turnTransport is a transport that delays each of a racer's calls that involve the record until it
// is the racer's turn.
type turnTransport struct {
	http.RoundTripper
	record string // the record's sort key
}

func (t turnTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	one, _ := r.Context().Value(racerKey{}).(*racer)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if one == nil || !bytes.Contains(body, []byte(t.record)) {
		return t.RoundTripper.RoundTrip(r)
	}
	_, hadTurn := <-one.turns
	out, err := t.RoundTripper.RoundTrip(r)
	if one.losesResponse && err == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		one.losesResponse = false
		_, err = io.Copy(io.Discard, out.Body)
		out, err = nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
	}
	if hadTurn {
		one.called <- struct{}{}
	}
	return out, err
}

// race sends two requests whose table calls happen in the given order, such as "aabb". Each letter
// lets the racer of that name make its next call, unless the racer has finished. After the last
// letter, both requests run freely. The racer lostResponseOf, if any, loses the response to its
// first write.
func race(t *testing.T, s *apitest.Service, order string, requests map[string]func(*http.Request), lostResponseOf string) map[string]apitest.Response {
	t.Helper()
	racers, out := map[string]*racer{}, map[string]apitest.Response{}
	for name, prepare := range requests {
		one := &racer{name: name, turns: make(chan struct{}), called: make(chan struct{}), finished: make(chan struct{}), losesResponse: name == lostResponseOf}
		racers[name] = one
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), racerKey{}, one), http.MethodPatch, "/", nil)
		r.Header.Set("Content-Type", "application/json")
		prepare(r)
		go func() {
			defer close(one.finished)
			one.response = s.Do(r)
		}()
	}
	for _, name := range strings.Split(order, "") {
		select {
		case racers[name].turns <- struct{}{}:
			<-racers[name].called
		case <-racers[name].finished:
		}
	}
	for _, one := range racers {
		close(one.turns)
	}
	for name, one := range racers {
		<-one.finished
		out[name] = one.response
	}
	return out
}

// Ensure that when a draft and an approval arrive together, only the one that is stored first
// succeeds. This must hold for every interleaving of their calls, even if a response is lost. A
// draft stored after the approval would replace the approved content. An approval stored after the
// draft would approve content that nobody has read. Accepting an idea approves no content, so it
// may follow a draft, but a draft may not follow it.
func TestDraftRacesApproval(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const draft, approval = "d", "a"
	for operation, rule := range draftRules {
		var textProperty, approvedStatus, draftStatus, id, path, sortKey string
		initial := "draft"
		switch rule.importType {
		case "feedback":
			textProperty, approvedStatus, draftStatus, id, sortKey, path = "replyBody", "approved", "needs_review", "fbk_d", "feedback#fbk_d", "feedback/fbk_d/reply"
		case "post":
			textProperty, approvedStatus, draftStatus, id, sortKey, path = "body", "scheduled", "draft", "pst_d", "post#pst_d", "broadcast/posts/pst_d"
		case "content-idea":
			initial = "suggested"
			textProperty, approvedStatus, draftStatus, id, sortKey, path = "title", "accepted", "suggested", "ida_d", "idea#ida_d", "broadcast/ideas/ida_d"
		default:
			continue // the operation creates a record
		}
		counter := &apitest.RoundTripCounter{}
		s := apitest.NewWithTransport(t, functions.Operations, turnTransport{counter, sortKey})
		service := draftingService{s, functions.Transfers(s.Table)}
		draftKey, personKey := s.IssueKey(t, auth.DraftingAgentScopes()...), s.IssueKey(t)
		counter.Count(t, func(t *testing.T) { // the SDK pauses before it repeats a call whose response was lost
			for _, order := range []string{"aadd", "adad", "adda", "daad", "dada", "ddaa"} {
				for _, proof := range []string{"nothing", "If-Match", "text"} { // how the approval proves that its caller has read the content
					for _, writer := range []string{"person", "agent"} { // who wrote the content that was read
						for _, lostResponseOf := range []string{"", draft, approval} {
							what := fmt.Sprintf("%s, order %s, the approval shows %s of a text by the %s, lost response of %q", operation, order, proof, writer, lostResponseOf)
							rule.storeInState(t, service, initial)
							if writer == "agent" {
								if r := s.Call(t, draftKey, operation, map[string]any{rule.idArgument: id, textProperty: "Read"}); r.Status != 200 {
									t.Fatalf("%s: %d %s", what, r.Status, r.Body)
								}
							} else if r := s.Call(t, personKey, operation, map[string]any{rule.idArgument: id, textProperty: "Read"}); r.Status != 200 {
								t.Fatalf("%s: %d %s", what, r.Status, r.Body)
							}
							read := s.Call(t, personKey, rule.readOperation, map[string]any{rule.idArgument: id})
							s.Clock.Advance(1e10) // 10 s, to stay below the quota
							send := func(key, body string) func(*http.Request) {
								return func(r *http.Request) {
									r.URL.Path = "/v1/companies/" + s.CompanyID + "/" + path
									r.Header.Set("Authorization", "Bearer "+key)
									r.Body = io.NopCloser(strings.NewReader(body))
									r.ContentLength = int64(len(body))
								}
							}
							body := `{"` + rule.statusProperty + `":"` + approvedStatus + `"}`
							if proof == "text" {
								body = `{"` + textProperty + `":"Read","` + rule.statusProperty + `":"` + approvedStatus + `"}`
							}
							got := race(t, s, order, map[string]func(*http.Request){
								draft: send(draftKey, `{"`+textProperty+`":"Replaced","`+rule.statusProperty+`":"`+draftStatus+`"}`),
								approval: func(r *http.Request) {
									send(personKey, body)(r)
									if proof == "If-Match" {
										r.Header.Set("If-Match", read.Header.Get("ETag"))
									}
								},
							}, lostResponseOf)

							approvalFirst := strings.LastIndex(order, approval) < strings.LastIndex(order, draft)
							wantDraft, wantApproval, wantText, wantStatus := 200, 409, "Replaced", draftStatus
							switch {
							case rule.importType != "content-idea" && writer == "agent" && proof == "nothing": // the approval is refused, whatever the order
							case approvalFirst:
								wantDraft, wantApproval, wantText, wantStatus = 401, 200, "Read", approvedStatus
							case proof == "If-Match":
								wantApproval = 412
							case rule.importType == "content-idea": // accepting an idea publishes nothing, so nobody needs to have read it
								wantApproval, wantStatus = 200, approvedStatus
								if proof == "text" {
									wantText = "Read"
								}
							}
							after := s.Call(t, personKey, rule.readOperation, map[string]any{rule.idArgument: id}).JSON(t)
							if got[draft].Status != wantDraft || got[approval].Status != wantApproval || after[textProperty] != wantText || after[rule.statusProperty] != wantStatus {
								t.Errorf("%s: the draft is %d, the approval %d, stored %v %v; want %d, %d, %s %s: %s %s", what, got[draft].Status, got[approval].Status,
									after[textProperty], after[rule.statusProperty], wantDraft, wantApproval, wantText, wantStatus, got[draft].Body, got[approval].Body)
							}
						}
					}
				}
			}
		})
	}
}
