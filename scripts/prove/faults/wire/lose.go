package wire

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// ErrLost is what a caller gets whose answer was lost on its way: the call was done.
var ErrLost = errors.New("the answer was lost")

// Lose performs every call and loses the answers of those that it chooses.
type Lose struct {
	Next   http.RoundTripper
	Choose func(call string, attempt int) bool
	lost   atomic.Int64
}

// RoundTrip is http.RoundTripper.
func (l *Lose) RoundTrip(r *http.Request) (*http.Response, error) {
	call, attempt := Call(r), Attempt(r)
	out, err := l.Next.RoundTrip(r)
	if err != nil || !l.Choose(call, attempt) {
		return out, err
	}
	_, err = io.Copy(io.Discard, out.Body) // to its end, so that the call was done when we say that its answer is lost
	l.lost.Add(1)
	return nil, errors.Join(ErrLost, err, out.Body.Close())
}

// Lost returns how many answers were lost.
func (l *Lose) Lost() int64 { return l.lost.Load() }

// ErrDead is what a process that has died gets, if it lived to see it.
var ErrDead = errors.New("the process has died")

// Die lets a number of calls through and then none: the death of the process after its n-th call. Unheard sends one more,
// whose answer comes too late: the death while a call is on its way, which the table has done.
type Die struct {
	Next    http.RoundTripper
	After   int64
	Unheard bool
	calls   atomic.Int64
}

// RoundTrip is http.RoundTripper.
func (d *Die) RoundTrip(r *http.Request) (*http.Response, error) {
	n := d.calls.Add(1)
	if n > d.After+1 || n > d.After && !d.Unheard {
		return nil, ErrDead
	}
	answer, err := d.Next.RoundTrip(r)
	if n > d.After && err == nil {
		return nil, errors.Join(ErrDead, answer.Body.Close())
	}
	return answer, err
}

// Died tells whether any call was made after the last that was let through.
func (d *Die) Died() bool { return d.calls.Load() > d.After }
