package studio

import (
	"net/http"
	"net/url"

	"growthworkspace/shared/client"
)

// companyData is the data of the profile template.
type companyData struct {
	Form    *form
	Company client.Company
	Failure *failure // set if the profile cannot be read
	Kept    bool     // the form contains values that the user typed, so it is shown even if the profile cannot be read
}

// companyFields returns the form fields of a company's profile.
func companyFields(c client.Company) []*field {
	choices := func(all ...string) []string { return all }
	return []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Stored: c.Name.Or("")},
		{Name: "summary", Label: "Summary", Kind: "long", Hint: "One or two sentences about the product.", Stored: c.Summary.Or("")},
		{Name: "websiteUrl", Label: "Website", Kind: "url", Stored: c.WebsiteURL.Or("")},
		{Name: "repositoryUrl", Label: "Source code", Kind: "url", Stored: c.RepositoryURL.Or("")},
		{Name: "industry", Label: "Industry", Kind: "text", Stored: c.Industry.Or("")},
		{Name: "stage", Label: "Stage", Kind: "choice", Stored: string(c.Stage.Or("")), Choices: choices(
			string(client.CompanyStageIdea), string(client.CompanyStageMvp), string(client.CompanyStageGrowth), string(client.CompanyStageScale))},
		{Name: "targetMarket", Label: "Customers", Kind: "choice", Stored: string(c.TargetMarket.Or("")), Choices: choices(
			string(client.CompanyTargetMarketB2b), string(client.CompanyTargetMarketB2c), string(client.CompanyTargetMarketB2b2c))},
		{Name: "primaryLanguage", Label: "Main language", Kind: "text", Hint: "Two letters, such as en or de.", Stored: c.PrimaryLanguage.Or("")},
		{Name: "timezone", Label: "Time zone", Kind: "text", Hint: "A name such as Europe/Berlin.", Stored: c.Timezone.Or("")},
	}
}

func (s *Studio) company(v *pageRequest) *view { return v.companyPage(nil, nil) }

// companyPage shows the profile. After a failed write, sent contains the values that the user
// typed.
func (pr *pageRequest) companyPage(sent url.Values, refused *failure) *view {
	out := &view{page: "company", place: "Company", title: "Company"}
	if sent != nil {
		pr.readFrame()
		out.status = refused.status()
	}
	pr.wait()
	stored := pr.frameData().company
	d := &companyData{Form: newForm("the profile", "/company", stored.ETag, pr.may("company:write"), companyFields(stored.Value)...), Company: stored.Value, Failure: stored.Failure}
	out.data = d
	if stored.Failure != nil {
		out.status = stored.Failure.status()
	}
	if sent != nil {
		d.Form.restore(sent, refused, stored.Failure == nil)
		d.Kept = true
	}
	return out
}

// saveCompany stores the fields that the user changed. It sets a field to null if the user emptied
// it.
func (s *Studio) saveCompany(v *pageRequest) *view {
	sent := v.r.PostForm
	c := formChanges{sent: sent}
	in := companyChanges(&c)
	if !c.anyChanged {
		return v.redirectWithNotice("/company", nil, notice{Text: "Nothing was changed."})
	}
	res := startCall(v, "company:write", "The profile",
		bound(v.api.UpdateCompany, in), client.IfMatch(sent.Get("etag")))
	v.wait()
	if res.Failure != nil {
		return v.companyPage(sent, res.Failure)
	}
	record := res.Value.Name.Or("")
	undo := undoCall(record, "company:write", res.ETag,
		bound(v.api.UpdateCompany, companyChanges(&formChanges{sent: revertedForm(sent)})))
	return v.redirectWithNotice("/company", nil, notice{Record: record, Text: "Saved.", Undo: undo})
}

func companyChanges(c *formChanges) client.UpdateCompanyInput {
	return client.UpdateCompanyInput{
		Name: c.requiredText("name"), Summary: c.text("summary"), WebsiteURL: c.text("websiteUrl"), RepositoryURL: c.text("repositoryUrl"),
		Industry: c.text("industry"), Stage: enumValue[client.CompanyStage](c.text("stage")), TargetMarket: enumValue[client.CompanyTargetMarket](c.text("targetMarket")),
		PrimaryLanguage: c.text("primaryLanguage"), Timezone: c.text("timezone"),
	}
}

// StatusText returns the name of the HTTP status, for users to read.
func (f *failure) StatusText() string { return http.StatusText(f.Status) }
