package studio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

// keysData is the data of the keys template. It never contains a secret, because the studio writes
// a new secret to a file.
type keysData struct {
	Keys           []keyRow
	NoKeys         *failure
	More           string
	MayWrite       bool
	Scopes         []scopeArea // the scopes that the studio's own key may grant
	Presets        []keyPreset
	IdempotencyKey string
	RenderedAt     string // the time at which the form was rendered

	// What the user typed, if creating a key failed.
	Name    string
	Expires string
	Preset  string
	Problem *failure
}

type keyRow struct {
	client.Key

	State string // "in use", "expired" or "revoked"
	Own   bool   // the studio itself uses this key
	File  string // the file to which this studio wrote the key's secret; empty if it wrote none
	May   string // what the key may do, in words

	Successor string // the name and the prefix of the key that replaces it; empty if there is none
	Replaces  string // the name and the prefix of the key that it replaces; empty if there is none
}

// scopeArea lists the scopes of one area of the API. Area is the name of this area in the sidebar.
type scopeArea struct {
	Area  string
	Boxes []scopeBox
}

type scopeBox struct {
	Name, Does string // the scope, such as "metrics:read", and its last part, such as "read"
	Checked    bool
}

var areaNames = map[string]string{
	"company": "Company", "plan": "Roadmap", "feedback": "Reviews", "metrics": "Metrics", "optimise": "Sites", "broadcast": "Posts",
	"context": "Brand", "keys": "Keys",
}

// scopeAreas groups scopes by area. It ticks the boxes of the scopes in ticked.
func scopeAreas(scopes, ticked []string) (out []scopeArea) {
	for _, scope := range scopes {
		area, verb, _ := strings.Cut(scope, ":")
		if name, known := areaNames[area]; known {
			area = name
		}
		if len(out) == 0 || out[len(out)-1].Area != area {
			out = append(out, scopeArea{Area: area})
		}
		last := &out[len(out)-1]
		last.Boxes = append(last.Boxes, scopeBox{scope, verb, slices.Contains(ticked, scope)})
	}
	return out
}

func (s *Studio) keys(v *pageRequest) *view { return v.keysPage(nil, nil) }

// keysPage lists the keys. If creating a key failed, sent contains the values that the user typed.
func (pr *pageRequest) keysPage(sent url.Values, refused *failure) *view {
	d := &keysData{MayWrite: pr.may("keys:write"), Presets: pr.presets(), IdempotencyKey: newIdempotencyKey(), RenderedAt: pr.Now().UTC().Format(time.RFC3339)}
	out := &view{page: "keys", place: "Keys", title: "Keys", data: d}
	if preset, ok := presetOf(pr.r.URL.Query().Get("preset")); ok {
		d.Preset, d.Name = preset.ID, preset.Name
	}
	if sent != nil {
		pr.readFrame()
		out.status = refused.status()
		d.Name, d.Expires, d.Preset, d.IdempotencyKey, d.Problem = typedField(sent, "name"), sent.Get("expires"), sent.Get("preset"), nextIdempotencyKey(sent, refused), refused
	}
	listed := startCall(pr, "keys:read", "The keys", bound(pr.api.ListKeys, client.ListKeysInput{
		Limit: client.Value(200), Cursor: optional(pr.r.URL.Query().Get("cursor")),
	}))
	pr.wait()
	d.NoKeys = listed.Failure
	if d.NoKeys != nil && sent == nil {
		out.status = d.NoKeys.status()
	}
	if listed.Value.Next != "" {
		d.More = "/keys?cursor=" + url.QueryEscape(listed.Value.Next)
	}
	for _, k := range listed.Value.Items {
		d.Keys = append(d.Keys, keyRow{Key: k, State: stateOf(k, pr.Now()), Own: pr.key != nil && k.ID == pr.key.ID, May: scopesInWords(k.Scopes.Or(nil)), File: pr.secretFiles.path(k.ID)})
	}
	linkRotations(d.Keys)
	slices.SortStableFunc(d.Keys, func(a, b keyRow) int { return endedRank(a) - endedRank(b) }) // list the keys in use first
	if pr.key != nil {
		d.Scopes = scopeAreas(pr.key.Scopes.Or(nil), sent["scope"])
	}
	return out
}

// StateText says in words whether the key can be used, and whether it ever was.
func (k keyRow) StateText() string {
	if k.State == "in use" && !k.Used() {
		return "not used yet"
	}
	return k.State
}

// Used reports whether the key was ever used.
func (k keyRow) Used() bool {
	_, used := k.LastUsedAt.Get()
	return used
}

// secretFiles maps the ids of keys to the files that contain their secrets. It knows only the keys
// that the studio has created since it started.
type secretFiles struct {
	mu   sync.Mutex
	byID map[string]string
}

func (f *secretFiles) add(id, file string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = map[string]string{}
	}
	f.byID[id] = file
}

func (f *secretFiles) path(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID[id]
}

// linkRotations sets Successor and Replaces for keys that were rotated.
func linkRotations(keys []keyRow) {
	for i := range keys {
		at := slices.IndexFunc(keys, func(k keyRow) bool { return k.ID == keys[i].ReplacedBy.Or("none") })
		if at >= 0 {
			keys[i].Successor, keys[at].Replaces = keys[at].Prefix.Or(keys[at].ID), keys[i].Prefix.Or(keys[i].ID)
		}
	}
}

func endedRank(k keyRow) int {
	if k.State == "in use" {
		return 0
	}
	return 1
}

func stateOf(k client.Key, now time.Time) string {
	if at, ok := k.RevokedAt.Get(); ok && !at.After(now) {
		return "revoked"
	}
	if at, ok := k.ExpiresAt.Get(); ok && !at.After(now) {
		return "expired"
	}
	return "in use"
}

// expiries are the options for how long a new key is valid, keyed by the value in the form.
var expiries = map[string]time.Duration{"30": 30 * 24 * time.Hour, "90": 90 * 24 * time.Hour, "365": 365 * 24 * time.Hour}

// errNoSecretFolder means that there is no folder for secrets. A key created without one would be
// useless, because nobody could see its secret.
var errNoSecretFolder = errors.New("this studio has no folder to write secrets to")

// keyPreset is a set of scopes for one purpose. The form for a new key offers presets in place of
// individual scopes.
type keyPreset struct {
	ID, Label string
	Name      string // the name that the form suggests
	Hint      string
	Scopes    []string
}

// The presets that the overview offers as first steps.
const (
	ciPreset       = "ci"
	draftingPreset = "drafting-agent"
)

// keyPresets are the presets that the form for a new key offers.
var keyPresets = []keyPreset{
	{ciPreset, "CI or a job that pushes numbers", "CI", "It stores values of metrics and reads them, and nothing else.", []string{"metrics:write"}},
	{"reviews", "a job that pushes reviews", "Reviews", "It stores reviews. It could also change replies, because the API has one scope for both.", []string{"feedback:write"}},
	{draftingPreset, "an agent that drafts", "Drafting agent", "It reads everything but the keys, and drafts replies, posts and ideas. People approve, schedule and accept them.",
		[]string{"company:read", "plan:read", "feedback:draft", "metrics:read", "optimise:read", "broadcast:draft", "context:read"}},
	{"sender", "a program that sends", "Sender", "It gets the posts that are due and the approved replies, and reports what it sent.", []string{"feedback:send", "broadcast:send"}},
	{"read-only", "viewing only", "Read only", "It reads everything but the keys, and changes nothing.",
		[]string{"company:read", "plan:read", "feedback:read", "metrics:read", "optimise:read", "broadcast:read", "context:read"}},
}

// presets returns the presets with at least one scope that the studio's own key can grant.
func (pr *pageRequest) presets() []keyPreset {
	return slices.DeleteFunc(slices.Clone(keyPresets), func(p keyPreset) bool { return !slices.ContainsFunc(p.Scopes, pr.may) })
}

// presetOf returns the preset with this ID. ok is false if there is none.
func presetOf(id string) (p keyPreset, ok bool) {
	at := slices.IndexFunc(keyPresets, func(p keyPreset) bool { return p.ID == id })
	if at < 0 {
		return p, false
	}
	return keyPresets[at], true
}

// scopesOf returns the scopes that the form for a new key requests. With a preset, these are the
// preset's scopes that the studio's own key can grant. Otherwise they are the ticked scopes.
func (pr *pageRequest) scopesOf(sent url.Values) []string {
	scopes := sent["scope"]
	if preset, ok := presetOf(sent.Get("preset")); ok {
		scopes = slices.DeleteFunc(slices.Clone(preset.Scopes), func(scope string) bool { return !pr.may(scope) })
	}
	return append([]string{}, scopes...) // not nil, so that the JSON is an array instead of null
}

// createKey creates a key and writes its secret to a file.
func (s *Studio) createKey(v *pageRequest) *view {
	sent := v.r.PostForm
	in := client.CreateKeyInput{Name: typedField(sent, "name"), Scopes: v.scopesOf(sent)}
	if lifetime, ok := expiries[sent.Get("expires")]; ok {
		renderedAt, err := time.Parse(time.RFC3339, sent.Get("made")) // the time at which the form was rendered, so that sending the form twice sends the same request
		if err != nil {
			renderedAt = v.Now()
		}
		in.ExpiresAt = client.Value(renderedAt.UTC().Add(lifetime))
	}
	return v.issue(sent, "Create a key", bound(v.api.CreateKey, in), func(refused *failure) *view {
		return v.keysPage(sent, refused)
	})
}

// overlaps are the options for how many seconds the old key keeps working after a rotation.
var overlaps = map[string]int{"now": 0, "day": 24 * 60 * 60, "week": 7 * 24 * 60 * 60}

// rotateKey replaces a key with a new one and writes the secret of the new key to a file.
func (s *Studio) rotateKey(v *pageRequest) *view {
	sent := v.r.PostForm
	in := client.RotateKeyInput{KeyID: v.r.PathValue("id")}
	if seconds, ok := overlaps[sent.Get("overlap")]; ok {
		in.OverlapSeconds = client.Value(seconds)
	}
	return v.issue(sent, "Rotate a key", bound(v.api.RotateKey, in), func(refused *failure) *view {
		return v.redirectWithNotice("/keys", nil, notice{Bad: true, Text: "Not rotated: " + refused.Text()})
	})
}

// issue makes a call that returns a secret, writes the secret to a file and shows a notice that
// names the file. Sending the form twice writes the same secret again.
func (pr *pageRequest) issue(sent url.Values, label string, call call[client.IssuedKey], refuse func(*failure) *view) *view {
	if pr.SaveSecret == nil {
		return refuse(&failure{Messages: []string{errNoSecretFolder.Error()}})
	}
	issued := startCall(pr, "keys:write", label, call, client.IdempotencyKey(sent.Get("once")))
	pr.wait()
	if issued.Failure != nil {
		return refuse(issued.Failure)
	}
	pr.markKeys(client.Key{ID: issued.Value.ID, Scopes: issued.Value.Scopes})
	file, err := pr.SaveSecret(issued.Value.ID, issued.Value.Secret)
	if err != nil {
		pr.Log.Error("a secret could not be stored", "key", issued.Value.ID, "error", err)
		return pr.redirectWithNotice("/keys", nil, notice{Bad: true, Text: fmt.Sprintf("The key %s was created, but its secret could not be stored: revoke it and try again. The studio's output has the reason.", issued.Value.ID)})
	}
	pr.secretFiles.add(issued.Value.ID, file)
	reader := "you"
	if pr.shared {
		reader = "whoever runs the server"
	}
	return pr.redirectWithNotice("/keys", nil, notice{Part: issued.Value.ID, Text: fmt.Sprintf("The secret of %q is in the file %s, which only %s can read. Move it to where it is needed, then delete the file.", issued.Value.Name.Or("the key"), file, reader)})
}

func (s *Studio) revokeKey(v *pageRequest) *view {
	id := v.r.PathValue("id")
	res := startCall(v, "keys:write", "Revoke a key", bound(v.api.RevokeKey, client.RevokeKeyInput{KeyID: id}))
	v.wait()
	if res.Failure != nil && res.Failure.Status != http.StatusNotFound {
		return v.redirectWithNotice("/keys", nil, notice{Bad: true, Text: "Not revoked: " + res.Failure.Text()})
	}
	if v.key != nil && v.key.ID == id {
		return v.redirectWithNotice("/keys", nil, notice{Text: "Revoked. It was the key of this studio: restart it with a different key."})
	}
	return v.redirectWithNotice("/keys", nil, notice{Text: "Revoked: the service refuses it from now on."})
}
