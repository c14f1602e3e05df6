package company

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Company is the profile of a company.
type Company struct {
	ID               string        `json:"id" doc:"the company's id"`
	Name             *string       `json:"name" set:"required" min:"1" max:"200" doc:"display name"`
	Slug             *string       `json:"slug" doc:"a short name for URLs"`
	Summary          *string       `json:"summary" set:"optional" max:"2000" doc:"one or two sentences describing the product"`
	WebsiteURL       *string       `json:"websiteUrl" set:"optional" format:"web" max:"2000" doc:"URL of the website, http or https" tool:"the website, http or https"`
	RepositoryURL    *string       `json:"repositoryUrl" set:"optional" format:"web" max:"2000" doc:"URL of the source code, http or https" tool:"the source code, http or https"`
	Industry         *string       `json:"industry" set:"optional" max:"200" doc:"free text" tool:"the industry, as free text"`
	Stage            *Stage        `json:"stage" set:"optional" doc:"the stage of the company"`
	TeamSize         *TeamSize     `json:"teamSize" doc:"how many people work at the company"`
	TargetMarket     *TargetMarket `json:"targetMarket" set:"optional" doc:"the kind of customers it sells to"`
	PrimaryLanguage  *string       `json:"primaryLanguage" set:"optional" format:"language" doc:"ISO 639-1 code in small letters, such as de" tool:"ISO 639-1, such as de"`
	Timezone         *string       `json:"timezone" set:"optional" format:"timezone" doc:"a name of the IANA time zone database, such as Europe/Berlin" tool:"IANA name such as Europe/Berlin"`
	EmailDomain      *string       `json:"emailDomain" doc:"domain of the company's email addresses"`
	OnboardingStatus *Onboarding   `json:"onboardingStatus" doc:"progress of setting up the workspace"`
	CreatedAt        *string       `json:"createdAt" format:"date-time"`
	UpdatedAt        *string       `json:"updatedAt" format:"date-time"`
}

// Stage is the stage of a company, from idea to scale.
type Stage string

// Values implements schema.Enum.
func (Stage) Values() []string { return []string{"idea", "mvp", "growth", "scale"} }

// TeamSize is the number of people who work at a company, as a range.
type TeamSize string

// Values implements schema.Enum.
func (TeamSize) Values() []string {
	return []string{"1", "2-10", "11-50", "51-200", "201-500", "501-1000", "1001-5000", "5001+"}
}

// TargetMarket is the kind of customers that a company sells to.
type TargetMarket string

// Values implements schema.Enum.
func (TargetMarket) Values() []string { return []string{"b2b", "b2c", "b2b2c"} }

// Onboarding is the progress of a company in setting up its workspace.
type Onboarding string

// Values implements schema.Enum.
func (Onboarding) Values() []string {
	return []string{"not_started", "in_progress", "complete", "skipped"}
}

type listCompaniesInput struct{}

func (s service) listCompanies(ctx context.Context, caller api.Caller, _ listCompaniesInput) (api.List[Company], error) {
	company, err := s.store.Get(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Company]{}, err
	}
	return api.NewList(table.Page[Company]{Records: []Company{company}}), nil
}

type getCompanyInput struct{}

func (s service) getCompany(ctx context.Context, caller api.Caller, _ getCompanyInput) (Company, error) {
	return s.store.Get(ctx, caller.CompanyID)
}

type updateCompanyInput struct{ api.UpdateBody[Company] }

func (s service) updateCompany(ctx context.Context, caller api.Caller, in updateCompanyInput) (Company, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.Change)
}
