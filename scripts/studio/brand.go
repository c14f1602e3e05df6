package studio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// brandData is the data of the brand template.
type brandData struct {
	Form     *form
	Kit      client.BrandKit
	NoKit    *failure // set if the brand cannot be read
	Kept     bool     // the form contains values that the user typed, so it is shown even if the brand cannot be read
	Colors   []swatch
	Fonts    []swatch
	Types    []client.ContentType
	NoTypes  *failure
	Goals    []client.Goal
	NoGoals  *failure
	More     []string // the names of the lists that have more entries than the page shows
	MayWrite bool
}

// swatch is a colour or a font of the brand, with its name.
type swatch struct {
	Name, Text string
	Color      string // the colour to draw; empty if Text is not a colour
}

// Limits on what the brand page shows.
const (
	swatchesMax  = 60
	brandRecords = 200
)

// addBrandScreens adds the pages for the brand, the content types and the goals.
func (s *Studio) addBrandScreens(page func(string, func(*pageRequest) *view)) {
	page("GET /brand", s.brand)
	page("POST /brand", s.saveBrand)
	addRecordScreens(page, "/brand/types", (*pageRequest).contentTypeScreens)
	addRecordScreens(page, "/brand/goals", (*pageRequest).brandGoalScreens)
}

func (s *Studio) brand(v *pageRequest) *view { return v.brandPage(nil, nil) }

// brandPage shows the brand. After a failed write, sent contains the values that the user typed.
func (pr *pageRequest) brandPage(sent url.Values, refused *failure) *view {
	d := &brandData{MayWrite: pr.may("context:write")}
	out := &view{page: "brand", place: "Brand", title: "Brand", data: d}
	if sent != nil {
		pr.readFrame()
		out.status = refused.status()
	}
	kit := startCall(pr, "context:read", "The brand", pr.api.GetContextBrandKit)
	types := pr.startContentTypes()
	goals := pr.listGoals()
	pr.wait()
	d.NoKit, d.NoTypes, d.NoGoals = kit.Failure, types.Failure, goals.Failure
	kitRead := d.NoKit == nil
	if d.NoKit != nil && d.NoKit.Status == http.StatusNotFound { // the brand does not exist yet, and saving the form creates it
		d.NoKit = nil
	}
	d.Kit, d.Types, d.Goals = kit.Value, types.Value.Items, goals.Value.Items
	if types.Value.Next != "" {
		d.More = append(d.More, "content types")
	}
	if goals.Value.Next != "" {
		d.More = append(d.More, "goals")
	}
	if d.NoKit != nil && sent == nil {
		out.status = d.NoKit.status()
	}
	d.Colors, d.Fonts = swatches(d.Kit.Colors.Or(nil)), swatches(d.Kit.Fonts.Or(nil))
	d.Form = newForm("the brand", "/brand", kit.ETag, d.MayWrite, brandFields(d.Kit)...)
	if sent != nil {
		d.Form.restore(sent, refused, kitRead)
		d.Kept = true
	}
	return out
}

func brandFields(k client.BrandKit) []*field {
	list := func(values client.Optional[[]string]) string { return strings.Join(values.Or(nil), "\n") }
	return []*field{
		{Name: "voiceTone", Label: "Tone", Kind: "list", Hint: "A word on each line, such as calm.", Stored: list(k.VoiceTone)},
		{Name: "voiceGuidelines", Label: "Guidelines", Kind: "long", Hint: "What writers should and should not do.", Stored: k.VoiceGuidelines.Or("")},
		{Name: "voiceExamples", Label: "Examples", Kind: "list", Hint: "A phrase that sounds like you on each line.", Stored: list(k.VoiceExamples)},
		{Name: "avoidWords", Label: "Words to avoid", Kind: "list", Hint: "A word or phrase on each line. The inbox warns of them in replies.", Stored: list(k.AvoidWords)},
		{Name: "artStyle", Label: "How images look", Kind: "long", Stored: k.ArtStyle.Or("")},
		{Name: "artDirection", Label: "What images show", Kind: "long", Stored: k.ArtDirection.Or("")},
		{Name: "imageryNotes", Label: "Other notes about images", Kind: "long", Stored: k.ImageryNotes.Or("")},
		{Name: "context", Label: "What else writers should know", Kind: "long", Stored: k.Context.Or("")},
	}
}

// saveBrand stores the changed fields.
func (s *Studio) saveBrand(v *pageRequest) *view {
	sent := v.r.PostForm
	c := formChanges{sent: sent}
	in := brandChanges(&c)
	if !c.anyChanged {
		return v.redirectWithNotice("/brand", nil, notice{Text: "Nothing was changed."})
	}
	if sent.Get("etag") == "" && v.brandExists() {
		return v.brandPage(sent, &failure{Status: http.StatusPreconditionFailed})
	}
	res := startCall(v, "context:write", "Save the brand", func(ctx context.Context, options ...client.CallOption) (client.BrandKit, error) {
		if tag := sent.Get("etag"); tag != "" {
			options = append(options, client.IfMatch(tag))
		}
		return v.api.UpdateContextBrandKit(ctx, in, options...)
	})
	v.wait()
	if res.Failure != nil {
		return v.brandPage(sent, res.Failure)
	}
	undo := undoCall("The brand", "context:write", res.ETag,
		bound(v.api.UpdateContextBrandKit, brandChanges(&formChanges{sent: revertedForm(sent)})))
	return v.redirectWithNotice("/brand", nil, notice{Record: "The brand", Text: "Saved.", Undo: undo})
}

func brandChanges(c *formChanges) client.UpdateContextBrandKitInput {
	return client.UpdateContextBrandKitInput{
		VoiceTone: c.list("voiceTone"), VoiceGuidelines: c.text("voiceGuidelines"), VoiceExamples: c.list("voiceExamples"), AvoidWords: c.list("avoidWords"),
		ArtStyle: c.text("artStyle"), ArtDirection: c.text("artDirection"), ImageryNotes: c.text("imageryNotes"), Context: c.text("context"),
	}
}

// brandExists reports whether somebody has created the brand since an empty form was rendered. The
// first save has no entity tag to send, so it has to check this before it writes.
func (pr *pageRequest) brandExists() bool {
	kit := startCall(pr, "context:read", "Whether there is a brand", pr.api.GetContextBrandKit)
	pr.wait()
	return kit.Failure == nil
}

// colorPattern matches the strings that the page draws as colours. It must match only colours,
// because the page writes the string to an attribute of an SVG.
var colorPattern = regexp.MustCompile(`^(#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|(rgb|hsl)a?\([0-9][0-9., %/]{0,40}\))$`)

// swatches reads named values from any JSON, no matter how its objects and lists are nested. The
// name of a value consists of the keys on the path to it, and the name property of its object.
func swatches(text []byte) (out []swatch) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if len(text) == 0 || d.Decode(&value) != nil {
		return nil
	}
	var walk func(value any, name string, depth int)
	walk = func(value any, name string, depth int) {
		if len(out) >= swatchesMax || depth > 6 {
			return
		}
		switch v := value.(type) {
		case nil:
		case []any:
			for _, element := range v {
				walk(element, name, depth+1)
			}
		case map[string]any:
			if own, is := v["name"].(string); is && len(v) > 1 {
				name = strings.TrimSpace(name + " " + own)
				v = withoutProperty(v, "name")
			}
			keys := make([]string, 0, len(v))
			for key := range v {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			for _, key := range keys {
				label := key
				if slices.Contains([]string{"hex", "value", "color", "family"}, key) {
					label = ""
				}
				walk(v[key], strings.TrimSpace(name+" "+label), depth+1)
			}
		default:
			s := swatch{Name: phrase.Excerpt(name, 60), Text: phrase.Excerpt(fmt.Sprint(v), 120)}
			if trimmed := strings.TrimSpace(fmt.Sprint(v)); colorPattern.MatchString(trimmed) {
				s.Color = trimmed
			}
			out = append(out, s)
		}
	}
	walk(value, "", 0)
	return out
}

// withoutProperty returns a copy of an object without the named property.
func withoutProperty(v map[string]any, name string) map[string]any {
	out := map[string]any{}
	for key, value := range v {
		if key != name {
			out[key] = value
		}
	}
	return out
}

func (pr *pageRequest) contentTypeScreens() recordScreens[client.ContentType] {
	return recordScreens[client.ContentType]{
		place: "Brand", noun: "content type", kind: kindNamed("content-type"), path: "/brand/types", back: "/brand",
		deletion: "Posts and plans that name it stay. It cannot be undone.",
		id:       func(t client.ContentType) string { return t.ID },
		get: func(id string) call[client.ContentType] {
			return bound(pr.api.GetContextContentType, client.GetContextContentTypeInput{ContentTypeID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteContextContentType, client.DeleteContextContentTypeInput{ContentTypeID: id})
		},
		fields: func(t client.ContentType) []*field {
			return []*field{
				{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "Such as Field tip.", Stored: t.Name.Or("")},
				{Name: "description", Label: "What it is", Kind: "long", Stored: t.Description.Or("")},
				{Name: "guidance", Label: "How to write it", Kind: "long", Stored: t.Guidance.Or("")},
				{Name: "defaultPlatforms", Label: "Platforms", Kind: "list", Hint: "Where such posts go, one on each line.", Stored: strings.Join(t.DefaultPlatforms.Or(nil), "\n")},
				{Name: "cadence", Label: "How often", Kind: "text", Hint: "Free text, such as twice a week.", Stored: t.Cadence.Or("")},
				{Name: "active", Label: "In use", Kind: "flag", Stored: strconv.FormatBool(t.Active.Or(true))},
			}
		},
		save: func(c *formChanges, id string) call[client.ContentType] {
			name, about, guidance := c.requiredText("name"), c.text("description"), c.text("guidance")
			platforms, cadence, active := c.list("defaultPlatforms"), c.text("cadence"), c.flag("active")
			if id != "" {
				return bound(pr.api.UpdateContextContentType, client.UpdateContextContentTypeInput{
					ContentTypeID: id, Name: name, Description: about, Guidance: guidance, DefaultPlatforms: platforms, Cadence: cadence, Active: active,
				})
			}
			return bound(pr.api.CreateContextContentType, client.CreateContextContentTypeInput{
				Name: name.Or(""), Description: about, Guidance: guidance, DefaultPlatforms: platforms, Cadence: cadence, Active: c.sent.Get("active") == "true",
			})
		},
	}
}

func (pr *pageRequest) brandGoalScreens() recordScreens[client.Goal] {
	keys, names := pr.metricKeysAndNames()
	return recordScreens[client.Goal]{
		home:  func(g client.Goal) string { return "/brand#" + g.ID },
		place: "Brand", noun: "brand goal", kind: kindNamed("brand-goal"), path: "/brand/goals", back: "/brand",
		deletion: "Its line in the metric's chart goes with it. It cannot be undone.",
		id:       func(g client.Goal) string { return g.ID },
		get: func(id string) call[client.Goal] {
			return bound(pr.api.GetContextGoal, client.GetContextGoalInput{GoalID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteContextGoal, client.DeleteContextGoalInput{GoalID: id})
		},
		fields: func(g client.Goal) []*field { return brandGoalFields(g, keys, names) },
		save: func(c *formChanges, id string) call[client.Goal] {
			name, about, key := c.requiredText("name"), c.text("description"), c.text("metricKey")
			baseline, target, due, priority := c.decimal("baselineValue"), c.decimal("targetValue"), c.date("dueAt"), c.integer("priority")
			status := enumValue[client.ContextGoalStatus](c.text("status"))
			if id != "" {
				return bound(pr.api.UpdateContextGoal, client.UpdateContextGoalInput{
					GoalID: id, Name: name, Description: about, MetricKey: key, BaselineValue: baseline, TargetValue: target, DueAt: due, Status: status, Priority: priority,
				})
			}
			return bound(pr.api.CreateContextGoal, client.CreateContextGoalInput{
				Name: name.Or(""), Description: about, MetricKey: key, BaselineValue: baseline, TargetValue: target, DueAt: due, Status: status, Priority: priority,
			})
		},
	}
}

// metricNameMax is the length at which the names of metrics are truncated in a list of choices,
// because there may be 200 choices.
const metricNameMax = 40

// metricKeysAndNames returns the keys of the metrics, sorted by name, and a map from keys to names.
// It returns nil if the metrics could not be read, or if there are too many for one call.
func (pr *pageRequest) metricKeysAndNames() (keys []string, names map[string]string) {
	definitions := pr.listDefinitions()
	pr.wait()
	if definitions.Failure != nil || definitions.Value.Next != "" {
		return nil, nil
	}
	names = map[string]string{}
	for _, d := range definitions.Value.Items {
		keys, names[d.Key] = append(keys, d.Key), phrase.Excerpt(d.Name.Or(d.Key), metricNameMax)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(names[a], names[b]) })
	return keys, names
}

// brandGoalFields returns the form fields for a goal. If keys is empty, the user types the key of
// the metric.
func brandGoalFields(g client.Goal, keys []string, names map[string]string) []*field {
	metric := &field{Name: "metricKey", Label: "Metric", Kind: "text", Hint: "The key of the metric that measures it, such as growth.signups.", Stored: g.MetricKey.Or("")}
	if len(keys) > 0 {
		metric.Kind, metric.Hint, metric.Choices, metric.Labels = "choice", "The metric that measures it. Its chart and its tile on the overview show one active goal: the one with the lowest priority number, or else the newest.", keys, names
	}
	due := ""
	if at, ok := g.DueAt.Get(); ok {
		due = at.UTC().Format(time.DateOnly)
	}
	return []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "A few words, such as 1,000 teams a month.", Stored: g.Name.Or("")},
		{Name: "description", Label: "Description", Kind: "long", Stored: g.Description.Or("")},
		metric,
		{Name: "status", Label: "Status", Kind: "choice", Required: true, Stored: cmp.Or(string(g.Status.Or("")), string(client.ContextGoalStatusActive)), Choices: []string{
			string(client.ContextGoalStatusActive), string(client.ContextGoalStatusAchieved), string(client.ContextGoalStatusMissed), string(client.ContextGoalStatusArchived)}},
		{Name: "baselineValue", Label: "Value at the start", Kind: "number", Hint: "In the metric's own unit, such as cents.", Stored: typedNumber(g.BaselineValue)},
		{Name: "targetValue", Label: "Value to reach", Kind: "number", Hint: "In the metric's own unit.", Stored: typedNumber(g.TargetValue)},
		{Name: "dueAt", Label: "Due", Kind: "date", Hint: "A day, in UTC.", Stored: due},
		{Name: "priority", Label: "Priority", Kind: "number", Hint: "A whole number; 1 is the most important.", Stored: typedNumber(g.Priority)},
	}
}
