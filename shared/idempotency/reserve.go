package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"growthworkspace/shared/table"
)

// A change that does not fit into one transaction cannot store its response in the same
// transaction. It first reserves its Idempotency-Key with a conditional write of the request's
// digest and the time. Another request with the same key then writes nothing if its arguments
// differ. If they are the same, it waits for the response that replaces the reservation.
//
// If the process that wrote a reservation crashes, the reservation expires after reservationTTL.
// Another request with the same arguments then takes it over with a conditional write, and makes
// the change again. Only changes that can safely be made twice may therefore use a reservation.

// reservationTTL is the age at which a reservation expires. A request cannot run for that long, so
// the process that wrote the reservation must have stopped working on it.
const reservationTTL = 15 * time.Second

// The pause between reads of another request's reservation doubles from reservationPollMin to
// reservationPollMax.
const (
	reservationPollMin = 50 * time.Millisecond
	reservationPollMax = 800 * time.Millisecond
)

// reservationMargin is the time before its deadline at which a request stops waiting, so that it
// can still respond.
const reservationMargin = 1500 * time.Millisecond

// HasKey reports whether the request has an Idempotency-Key.
func HasKey(ctx context.Context) bool { return attemptOf(ctx) != nil }

// ResponseTTL is how long a response is stored.
const ResponseTTL = 24 * time.Hour

// Fingerprint identifies the request across its attempts. It is a digest of the caller, the
// Idempotency-Key and the arguments, or empty if there is no Idempotency-Key. A change that needs
// several transactions stores the fingerprint with what it creates, so that an attempt that takes
// over a reservation can tell what the earlier attempt created. After ResponseTTL, the
// Idempotency-Key can be used again, so older records with the fingerprint belong to a different
// request.
func Fingerprint(ctx context.Context) string {
	a := attemptOf(ctx)
	if a == nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(a.prefix()), a.RequestDigest[:]...))
	return hex.EncodeToString(sum[:16])
}

// Reserve reserves the Idempotency-Key of the request for a change that needs several transactions.
// The change must give the same result if it is made twice. Reserve does nothing if the request has
// no Idempotency-Key or already has the reservation.
//
// While another request has the reservation, Reserve waits. It returns ErrAlreadyServed once that
// request has a response, bad_request if that request's arguments differ, and unavailable if there
// is still no response near the deadline of ctx.
func Reserve(ctx context.Context, t *table.Client) error {
	a := attemptOf(ctx)
	if a == nil || a.currentState() == attemptReserved {
		return nil
	}
	for {
		free, err := a.tryReserve(ctx, t)
		if err != nil || free {
			return err
		}
		found, err := a.waitForOthers(ctx)
		switch {
		case err != nil:
			return err
		case found.response != nil:
			a.setState(attemptBeaten)
			return ErrAlreadyServed
		}
	}
}

// tryReserve writes a reservation for this attempt if the key is free.
func (a *Attempt) tryReserve(ctx context.Context, t *table.Client) (free bool, err error) {
	token := t.NewID("reservation")
	free, err = a.putReservation(ctx, t, token, a.now())
	if free {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.state, a.reservation = attemptReserved, token
	}
	return free, err
}

// releaseReservation makes this attempt's reservation expire at once, by writing it again with the
// time 0. It stores no response. The next request then need not wait for the reservation to expire.
// It does nothing if another request has taken the reservation over.
func (a *Attempt) releaseReservation(ctx context.Context) error {
	_, err := a.putReservation(ctx, a.store.table, a.reservation, time.UnixMilli(0))
	if err != nil {
		return fmt.Errorf("release an Idempotency-Key: %w", err)
	}
	return nil
}

// putReservation writes a reservation if the key is free for this attempt. It uses a transaction,
// because DynamoDB recognises a retried transaction after a lost response.
func (a *Attempt) putReservation(ctx context.Context, t *table.Client, token string, at time.Time) (free bool, err error) {
	record := a.baseRecord()
	record.Reservation, record.ReservedAt = &token, new(at.UnixMilli())
	condition, names, values := a.keyFreeCondition()
	err = t.Transact(ctx, t.WritePutIf(table.Keys{Key: a.responseKey()}, record, condition, names, values))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return false, nil
	}
	return err == nil, err
}

// keyFreeCondition returns the condition under which this attempt may write the record of its
// identity: the attempt has the reservation, no record exists, the record has expired (see
// table.TTLAttr), or the record is an expired reservation of the same request.
func (a *Attempt) keyFreeCondition() (condition string, names map[string]string, values table.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reservation != "" {
		return "#claim = :claim", map[string]string{"#claim": "claim"}, table.Item{":claim": table.String(a.reservation)}
	}
	now := a.now()
	return "attribute_not_exists(pk) OR #ttl <= :now OR (#claimedAt <= :old AND #request = :request)",
		map[string]string{"#ttl": table.TTLAttr, "#claimedAt": "claimedAt", "#request": "request"},
		table.Item{
			":now": table.Number(now.Unix()), ":old": table.Number(now.Add(-reservationTTL).UnixMilli()),
			":request": table.Encode(a.baseRecord())["request"],
		}
}

// waitForOthers waits until no other request has an unexpired reservation, and then returns what is
// stored. It returns unavailable near the deadline of ctx, and otherwise the same errors as Lookup.
func (a *Attempt) waitForOthers(ctx context.Context) (storedState, error) {
	for pause := reservationPollMin; ; pause = min(2*pause, reservationPollMax) {
		found, err := a.readStored(ctx)
		if err != nil || !found.isReservation || found.reservedAt <= a.now().Add(-reservationTTL).UnixMilli() {
			return found, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause+reservationMargin {
			return storedState{}, errInProgress
		}
		if err := table.SleepJittered(ctx, pause); err != nil {
			return storedState{}, err
		}
	}
}
