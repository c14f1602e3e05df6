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
	VoiceTone       []string        `json:"voiceTone" doc:"words that describe the tone"`
	VoiceGuidelines *string         `json:"voiceGuidelines" doc:"what writers and text generators should and should not do, as prose"`
	VoiceExamples   []string        `json:"voiceExamples" doc:"phrases that sound like the company"`
	AvoidWords      []string        `json:"avoidWords" doc:"words and phrases never to use"`
	Colors          json.RawMessage `json:"colors" doc:"any JSON value, as imported"`
	Fonts           json.RawMessage `json:"fonts" doc:"any JSON value, as imported"`
	ArtStyle        *string         `json:"artStyle" doc:"how images look"`
	ArtDirection    *string         `json:"artDirection" doc:"what images show"`
	ImageryNotes    *string         `json:"imageryNotes" doc:"other notes about images"`
	Context         *string         `json:"context" doc:"anything else a writer should know"`
	ExtractedFrom   *string         `json:"extractedFrom" doc:"the source that the kit was extracted from"`
	LastExtractedAt *string         `json:"lastExtractedAt" format:"date-time" doc:"when it was last extracted"`
	CreatedAt       *string         `json:"createdAt" format:"date-time"`
	UpdatedAt       *string         `json:"updatedAt" format:"date-time"`
}

type getBrandKitInput struct{}

func (s service) getBrandKit(ctx context.Context, caller api.Caller, _ getBrandKitInput) (BrandKit, error) {
	return s.store.BrandKit(ctx, caller.CompanyID)
}

type updateBrandKitInput struct {
	api.Condition

	VoiceTone       api.Clearable[[]string] `json:"voiceTone" items:"50" each:"200" doc:"words that describe the tone; replaces the list"`
	VoiceGuidelines api.Clearable[*string]  `json:"voiceGuidelines" max:"10000" doc:"what writers and text generators should and should not do, as prose" tool:"dos and don'ts for writers, as prose"`
	VoiceExamples   api.Clearable[[]string] `json:"voiceExamples" items:"50" each:"200" doc:"phrases that sound like the company; replaces the list"`
	AvoidWords      api.Clearable[[]string] `json:"avoidWords" items:"50" each:"200" doc:"words and phrases never to use; replaces the list"`
	ArtStyle        api.Clearable[*string]  `json:"artStyle" max:"2000" doc:"how images look"`
	ArtDirection    api.Clearable[*string]  `json:"artDirection" max:"2000" doc:"what images show"`
	ImageryNotes    api.Clearable[*string]  `json:"imageryNotes" max:"2000" doc:"other notes about images"`
	Context         api.Clearable[*string]  `json:"context" max:"10000" doc:"anything else a writer should know"`
}

func (s service) updateBrandKit(ctx context.Context, caller api.Caller, in updateBrandKitInput) (BrandKit, error) {
	return s.store.ModifyBrandKit(ctx, caller.CompanyID, func(k *BrandKit) error {
		if err := in.Condition.Check(*k); err != nil {
			return err
		}
		in.VoiceTone.Apply(&k.VoiceTone)
		in.VoiceGuidelines.Apply(&k.VoiceGuidelines)
		in.VoiceExamples.Apply(&k.VoiceExamples)
		in.AvoidWords.Apply(&k.AvoidWords)
		in.ArtStyle.Apply(&k.ArtStyle)
		in.ArtDirection.Apply(&k.ArtDirection)
		in.ImageryNotes.Apply(&k.ImageryNotes)
		in.Context.Apply(&k.Context)
		return nil
	}, in.Condition.Absent)
}
