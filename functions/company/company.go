// Package company serves the company's profile and its keys.
package company

import (
	"crypto/rand"
	"io"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	now := func() time.Time { return t.Clock()() } // called for each request, because t is nil when operations are only described
	s := service{NewStore(t), keys.NewStore(t, now), rand.Reader}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_companies", Noun: companyNoun, Method: "GET", Path: "/v1/companies", Scope: auth.CompanyRead,
			Summary:     "List the key's companies: always exactly one",
			Description: "Its id is the companyId of every record.",
		}, s.listCompanies),
		api.Define(api.Spec{
			ID: "get_company", Noun: companyNoun, Method: "GET", Path: "/v1/companies/{companyId}", Scope: auth.CompanyRead,
			Summary:     "Get the company's profile",
			Description: "Fields that were never set are null.",
		}, s.getCompany),
		api.Define(api.Spec{
			ID: "update_company", Noun: companyNoun,
			Method: "PATCH", Path: "/v1/companies/{companyId}", Scope: auth.CompanyWrite, Effect: api.Write,
			Summary:     "Update the company's profile",
			Description: "Changes only what is sent.",
		}, s.updateCompany),
		api.Define(api.Spec{
			ID: "list_keys", Noun: keyNoun, Method: "GET", Path: "/v1/companies/{companyId}/keys", Scope: auth.KeysRead,
			Summary:     "List the company's keys, oldest first",
			Description: "Includes revoked and expired keys. Returns the records of keys, never their secrets.",
		}, s.listKeys),
		api.Define(api.Spec{
			ID: "get_current_key", Method: "GET", Path: "/v1/companies/{companyId}/keys/current",
			Summary:     "Get the calling key",
			Description: "Its company, scopes and expiry.",
		}, s.getCurrentKey),
		api.Define(api.Spec{
			ID: "create_key", Noun: keyNoun,
			Method: "POST", Path: "/v1/companies/{companyId}/keys", Scope: auth.KeysWrite, Effect: api.Create, NotTool: true,
			Summary: "Create a key",
			Description: "`secret` is the key. It is returned only once, because the service stores only its digest. A key can grant only scopes " +
				"that it has; others are `unauthorised`. Not an MCP tool: a secret must not enter a model's context.",
		}, s.createKey),
		api.Define(api.Spec{
			ID: "rotate_key", Noun: keyNoun,
			Method: "POST", Path: "/v1/companies/{companyId}/keys/{keyId}/rotate", Scope: auth.KeysWrite, Effect: api.Write, NotTool: true,
			Errors:  []fault.Code{fault.Conflict},
			Summary: "Replace a key with a new one that has the same name, scopes and quotas",
			Description: "Both keys work until the old one expires, after `overlapSeconds`. Switch its clients to the new key in the meantime. " +
				"`secret` is the new key and is returned only once. The calling key must have every scope of the rotated key. " +
				"Rotating a key twice is a `conflict`. Not an MCP tool: a secret must not enter a model's context.",
		}, s.rotateKey),
		api.Define(api.Spec{
			ID: "revoke_key", Noun: keyNoun,
			Method: "DELETE", Path: "/v1/companies/{companyId}/keys/{keyId}", Scope: auth.KeysWrite, Effect: api.Destructive,
			Summary:     "Revoke a key",
			Description: "The key is rejected immediately. A key can revoke itself. Its record stays in the list.",
		}, s.revokeKey),
	}
}

type service struct {
	store  Store
	keys   *keys.Store
	random io.Reader // source of randomness for secrets
}

// companyNoun and keyNoun are the nouns of the area.
var (
	companyNoun = api.Noun{
		Name: "company", Plural: "companies", Change: "company",
		Columns: "name stage onboardingStatus:onboarding slug websiteUrl",
	}
	keyNoun = api.Noun{
		Name: "key", Plural: "keys", Prefix: id.KeyPrefix, Change: "key",
		Columns: "name lastUsedAt:used expiresAt:expires revokedAt:revoked scopes prefix",
	}
)
