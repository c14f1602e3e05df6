package brand

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/api"
)

// BrandKit describes how the company sounds and looks. A company has at most one.
type BrandKit struct {
	ID              string          `json:"id"`
	CompanyID       string          `json:"companyId"`
	VoiceTone       []string        `json:"voiceTone" set:"optional" items:"50" each:"200" doc:"words that describe the tone" tool:"words that describe the tone"`
	VoiceGuidelines *string         `json:"voiceGuidelines" set:"optional" max:"10000" doc:"what writers and text generators should and should not do, as prose" tool:"dos and don'ts for writers, as prose"`
	VoiceExamples   []string        `json:"voiceExamples" set:"optional" items:"50" each:"200" doc:"phrases that sound like the company" tool:"phrases that sound like the company"`
	AvoidWords      []string        `json:"avoidWords" set:"optional" items:"50" each:"200" doc:"words and phrases never to use" tool:"words and phrases never to use"`
	Colors          json.RawMessage `json:"colors" doc:"any JSON value, as imported"`
	Fonts           json.RawMessage `json:"fonts" doc:"any JSON value, as imported"`
	ArtStyle        *string         `json:"artStyle" set:"optional" max:"2000" doc:"how images look"`
	ArtDirection    *string         `json:"artDirection" set:"optional" max:"2000" doc:"what images show"`
	ImageryNotes    *string         `json:"imageryNotes" set:"optional" max:"2000" doc:"other notes about images"`
	Context         *string         `json:"context" set:"optional" max:"10000" doc:"anything else a writer should know"`
	ExtractedFrom   *string         `json:"extractedFrom" doc:"the source that the kit was extracted from"`
	LastExtractedAt *string         `json:"lastExtractedAt" format:"date-time" doc:"when it was last extracted"`
	CreatedAt       *string         `json:"createdAt" format:"date-time"`
	UpdatedAt       *string         `json:"updatedAt" format:"date-time"`
}

type getBrandKitInput struct{}

func (s service) getBrandKit(ctx context.Context, caller api.Caller, _ getBrandKitInput) (BrandKit, error) {
	return s.store.Get(ctx, caller.CompanyID)
}

type updateBrandKitInput struct{ api.UpdateBody[BrandKit] }

func (s service) updateBrandKit(ctx context.Context, caller api.Caller, in updateBrandKitInput) (BrandKit, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.Change, in.Condition.RequireAbsent)
}

var kitNoun = api.Noun{Name: "brand-kit", Plural: "brand kits", Prefix: brandKitIDPrefix, Change: "brand_kit"}
