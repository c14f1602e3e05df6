// Package trail stores the operator's trail: who did what to a company, and when. Every operator
// command that changes a company's access or its records as a whole adds an entry. So does every
// change that a key makes to the company's keys over the API. An entry contains ids, scope names
// and counts. It never contains a secret or text from a record.
//
// An entry is written in the same transaction as the act that it records. An act that takes many
// writes has two entries: one for its beginning and one for its end (Begin). Entries are only ever
// created: this package neither changes nor deletes them, and erasing a company leaves its trail.
package trail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Act is the kind of act that an entry records.
type Act string

// The acts. The commands and operations with these effects are in
// scripts/docs/reference/trail.md.
const (
	CompanyCreate  Act = "company_create"
	CompanySuspend Act = "company_suspend"
	CompanyResume  Act = "company_resume"
	CompanyDelete  Act = "company_delete"
	KeyIssue       Act = "key_issue"
	KeyRotate      Act = "key_rotate"
	KeyRevoke      Act = "key_revoke"
	KeyQuota       Act = "key_quota"
	Import         Act = "import"
	Upgrade        Act = "upgrade"
	ChangesGap     Act = "changes_gap"
)

// Phase is the phase of an act that takes many writes. It is empty in the entry of an act that
// takes a single write or transaction.
type Phase string

// The phases. An act that began and has no entry with one of the other phases is still running, or
// was killed.
const (
	Began  Phase = "began"
	Ended  Phase = "ended"
	Failed Phase = "failed"
)

// Entry is one entry of the trail.
type Entry struct {
	ID        string          `json:"id"`
	At        string          `json:"at"`
	By        string          `json:"by"` // the id of a key, or the name of an operator (table.Options.Operator)
	Act       Act             `json:"act"`
	CompanyID *string         `json:"companyId"` // nil: all companies of the table
	Phase     *Phase          `json:"phase"`
	BeganID   *string         `json:"beganId"` // the id of the entry with which the act began
	Details   json.RawMessage `json:"details"` // a Details

	time time.Time // like At, but more precise, for the order of entries
}

// Details are the ids, scopes and counts of an act. Fields that do not apply are empty.
type Details struct {
	KeyID      string         `json:"keyId,omitempty"`
	ReplacedBy string         `json:"replacedBy,omitempty"` // the id of the key that a rotation created
	Scopes     []string       `json:"scopes,omitempty"`
	ExpiresAt  *string        `json:"expiresAt,omitempty"` // of the new key
	Class      string         `json:"class,omitempty"`
	Limit      *int64         `json:"limit,omitempty"`
	Companies  int            `json:"companies,omitempty"`
	Keys       int            `json:"keys,omitempty"`
	Records    map[string]int `json:"records,omitempty"` // by area or type
}

const (
	idPrefix   = "trl"
	sortPrefix = "trail"
	sortLayout = "2006-01-02T15:04:05.000000000" // with nanoseconds, because a command may act twice in a millisecond

	// operatorsID replaces the company's id in the key of the operators' partition. No company has
	// this id.
	operatorsID = "operator"
)

// Area is the area of the partition that contains a company's trail.
const Area = "trail"

// Partition returns the partition of a company's trail. For an empty id, it returns the partition
// of the operators' trail, which covers all companies:
//
//	access                      key
//	append, list of a company   <company>#trail / trail#<time>#<id>
//	append, list of operators   operator#trail / trail#<time>#<id>#<company>
func Partition(companyID string) string {
	if companyID == "" {
		companyID = operatorsID
	}
	return table.Partition(companyID, Area)
}

// Writes returns the writes that add an entry to the trail of a company, or of the whole table if
// companyID is empty. They belong in the same transaction as the act itself. They are updates
// rather than puts, so a function that only revokes keys needs no permission to put items. They
// fail if the entry exists.
func Writes(ctx context.Context, t *table.Client, companyID string, act Act, d Details) []table.Write {
	return newEntry(ctx, t, companyID, act, d).writes(ctx, t)
}

func newEntry(ctx context.Context, t *table.Client, companyID string, act Act, d Details) Entry {
	text, err := json.Marshal(d)
	if err != nil {
		panic("trail: details of strings and numbers do not encode: " + err.Error())
	}
	actor, _ := t.ActorOf(ctx)
	now := t.Clock()()
	e := Entry{ID: t.NewID(idPrefix), At: timestamp.Format(now), By: actor, Act: act, Details: text, time: now}
	if companyID != "" {
		e.CompanyID = &companyID
	}
	return e
}

// writes returns the writes that store an entry: one to the company's trail and, unless a key did
// the act, one to the operators' trail. The operators' trail omits the acts of keys. Otherwise the
// requests of one company could overload a partition that the requests of other companies write to,
// too.
func (e Entry) writes(ctx context.Context, t *table.Client) (out []table.Write) {
	var assignments []string
	names, values := map[string]string{}, table.Item{}
	for name, value := range table.Encode(e) {
		assignments = append(assignments, "#"+name+" = :"+name)
		names["#"+name], values[":"+name] = name, value
	}
	add := func(partition string, sortKey ...string) {
		key := table.Key{PK: partition, SK: table.JoinKey(append([]string{sortPrefix, e.time.UTC().Format(sortLayout), e.ID}, sortKey...)...)}
		out = append(out, t.WriteUpdate(key, "SET "+strings.Join(assignments, ", "), "attribute_not_exists(pk)", names, values))
	}
	var company []string
	if e.CompanyID != nil {
		company = []string{*e.CompanyID}
		add(Partition(*e.CompanyID))
	}
	if _, isKey := t.ActorOf(ctx); !isKey {
		add(Partition(""), company...)
	}
	return out
}

// RunningAct is an act that takes many writes, and has begun but not ended.
type RunningAct struct {
	table      *table.Client
	companyID  string
	beginEntry Entry
}

// Begin adds the entry for the beginning of an act that takes many writes. The parameter first
// contains the act's own first writes, if any, which are made in the same transaction. Begin
// returns a *table.CanceledError if one of their conditions fails.
func Begin(ctx context.Context, t *table.Client, companyID string, act Act, first ...table.Write) (*RunningAct, error) {
	e := newEntry(ctx, t, companyID, act, Details{})
	phase := Began
	e.Phase = &phase
	if err := t.Transact(ctx, append(first, e.writes(ctx, t)...)...); err != nil {
		return nil, fmt.Errorf("begin the trail of %s: %w", act, err)
	}
	return &RunningAct{t, companyID, e}, nil
}

// endTimeout is the timeout for writing an act's last entry. It also applies after the command was
// interrupted.
const endTimeout = 20 * time.Second

// End adds the entry for the end of the act, or for its failure if err is not nil. The error
// message is not stored, because it could contain text from records. End returns err, joined with
// any error of its own write.
func (r *RunningAct) End(ctx context.Context, d Details, err error) error {
	phase := Ended
	if err != nil {
		phase = Failed
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer stop()
	e := newEntry(ctx, r.table, r.companyID, r.beginEntry.Act, d)
	e.Phase, e.BeganID = &phase, &r.beginEntry.ID
	if !e.time.After(r.beginEntry.time) {
		e.time = r.beginEntry.time.Add(time.Nanosecond)
	}
	if writeErr := r.table.Transact(ctx, e.writes(ctx, r.table)...); writeErr != nil {
		err = errors.Join(err, fmt.Errorf("end the trail of %s: %w", e.Act, writeErr))
	}
	return err
}

// List calls visit with each entry of a company's trail, or of the operators' trail if companyID is
// empty, oldest first. It skips entries before since, a timestamp. It reads with strong
// consistency, so it includes every act that has been recorded.
func List(ctx context.Context, t *table.Client, companyID, since string, visit func(Entry) error) error {
	err := table.ForEach(ctx, t, table.Collection{
		Partition: Partition(companyID), From: table.JoinKey(sortPrefix, strings.TrimSuffix(since, "Z")), Consistent: true,
	}, visit)
	if err != nil {
		return fmt.Errorf("read the trail: %w", err)
	}
	return nil
}
