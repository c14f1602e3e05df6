package optimise

import (
	"growthworkspace/shared/change"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Site is a measured site.
type Site struct {
	ID          string   `json:"id"`
	CompanyID   string   `json:"companyId"`
	Name        *string  `json:"name" set:"required" min:"1" max:"200" doc:"a name for people"`
	SiteKey     *string  `json:"siteKey" doc:"public; placed in the customer's pages next to the collector; grants no access to this API"`
	Domains     []string `json:"domains" set:"optional" items:"50" each:"253" format:"host" doc:"host names that serve the site, without scheme or port" tool:"host names without scheme or port"`
	Timezone    *string  `json:"timezone" set:"optional" max:"100" format:"timezone" doc:"IANA time zone name" tool:"IANA name"`
	Active      *bool    `json:"active" default:"true" doc:"whether the site is in use" tool:"whether it is in use"`
	LastEventAt *string  `json:"lastEventAt" format:"date-time" doc:"when the collector last reported; an old time means it stopped"`
	CreatedAt   *string  `json:"createdAt" format:"date-time"`
	UpdatedAt   *string  `json:"updatedAt" format:"date-time"`
}

var sites = record.Kind[Site]{
	Name: "site", Plural: "sites", Prefix: "sit", Path: "optimise/sites", Parameter: "siteId", SortPrefix: "site",
	Change: "site", Removes: []change.Type{siteGoalChange}, Limit: 200,
	Columns: "name domains active lastEventAt:lastEvent timezone siteKey",
	Order:   func(s Site) string { return table.JoinKey(table.TimeKey(s.CreatedAt), s.ID) },
}
