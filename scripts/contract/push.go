package contract

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"growthworkspace/shared/fault"
)

// reviewIdentity identifies the review that the rules in this file push. A review cannot be
// deleted, so they always use the same one.
const reviewIdentity = `"source":"reddit","externalId":"conformance-check"`

// pushCounts is the body of the response to a push of feedback.
type pushCounts struct{ Accepted, Created, Updated int }

// pushReviews pushes a review for each title. All these reviews have the identity reviewIdentity.
func (k *runner) pushReviews(titles ...string) (counts pushCounts, ok bool) {
	body := ""
	for _, title := range titles {
		body += fmt.Sprintf(`,{%s,"title":%q}`, reviewIdentity, title)
	}
	r := k.do(http.MethodPost, k.companyPath("/feedback"), `{"records":[`+body[1:]+`]}`)
	if r.status == http.StatusUnauthorized {
		k.skip("the key may not write here")
		return counts, false
	}
	return counts, k.checkSuccess(r, &counts)
}

// checkPushIdentity pushes one review several times. It requires that the service stores one
// record, and that a push that changes nothing writes nothing.
func checkPushIdentity(k *runner) {
	first, second := rand.Text(), rand.Text()
	for _, step := range []struct {
		what   string
		titles []string
		want   pushCounts // in the first step, Updated includes Created, because an earlier run may have created the review
	}{
		{"a new title", []string{first}, pushCounts{1, 0, 1}},
		{"the same again", []string{first}, pushCounts{1, 0, 0}},
		{"several of one review, the last as stored", []string{second, first}, pushCounts{1, 0, 0}},
		{"several of one review", []string{first, second}, pushCounts{1, 0, 1}},
	} {
		got, ok := k.pushReviews(step.titles...)
		if !ok {
			return
		}
		if step.what == "a new title" {
			got = pushCounts{got.Accepted, 0, got.Created + got.Updated}
		}
		if got != step.want {
			k.fail("%s: accepted, created and updated are %v, want %v", step.what, got, step.want)
		}
	}
}

// checkRefusedPush concurrently sends different pushes with the same Idempotency-Key. It requires
// that the service accepts one of them and refuses the others. The stored review must come from the
// accepted push.
func checkRefusedPush(k *runner) {
	if _, ok := k.pushReviews(rand.Text()); !ok {
		return
	}
	const pushes = 4
	idempotencyKey := rand.Text()
	var titles [pushes]string
	var responses [pushes]response
	var wait sync.WaitGroup
	for n := range pushes {
		titles[n] = rand.Text()
		wait.Go(func() {
			q := request{method: http.MethodPost, path: k.companyPath("/feedback"), header: map[string]string{"Idempotency-Key": idempotencyKey}}
			q.body = fmt.Sprintf(`{"records":[{%s,"title":%q}]}`, reviewIdentity, titles[n])
			responses[n], _ = k.sendOnce(q) // ignore the error: without a response, the status is 0
		})
	}
	wait.Wait()
	accepted := slices.IndexFunc(responses[:], func(r response) bool { return r.status == http.StatusOK })
	if accepted < 0 {
		k.fail("none of %d pushes with one Idempotency-Key was accepted", pushes)
		return
	}
	for n, r := range responses {
		if n != accepted {
			k.checkError(r, fault.BadRequest, "Idempotency-Key")
		}
	}
	if got, ok := k.pushReviews(titles[accepted]); ok && got.Updated+got.Created > 0 {
		k.fail("a push that was refused is stored")
	}
}
