package company

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the record type `company`, the profile. An import replaces the profile of the company that it is run for and
// ignores the id in the file.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Stored("company", "", check, t, keysOf, func(c *Company) *string { return &c.ID }, transfer.Only(NewStore(t).Get)),
	}
}

// check returns the problems that an update with the same values would have.
func check(c *Company) (problems []string) {
	problems = append(transfer.CheckWeb("websiteUrl", c.WebsiteURL), transfer.CheckWeb("repositoryUrl", c.RepositoryURL)...)
	problems = append(problems, transfer.CheckFormat("timezone", "timezone", c.Timezone)...)
	return append(problems, transfer.CheckFormat("primaryLanguage", "language", c.PrimaryLanguage)...)
}
