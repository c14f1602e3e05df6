// Package company is the area of the company's profile (spec.md, Company) and of its keys (decisions.md §6).
package company

import (
	"crypto/rand"
	"io"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	now := func() time.Time { return t.Clock()() } // asked for late: who only describes operations has no table
	s := service{NewStore(t), keys.NewStore(t, now), rand.Reader}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_companies", Method: "GET", Path: "/v1/companies", Scope: auth.CompanyRead,
			Summary:     "List the companies that the key opens: always exactly one",
			Description: "Its id is what every other path begins with.",
		}, s.listCompanies),
		api.Define(api.Spec{
			ID: "get_company", Method: "GET", Path: "/v1/companies/{companyId}", Scope: auth.CompanyRead,
			Summary:     "Get the company's profile",
			Description: "What nobody has filled in is null.",
		}, s.getCompany),
		api.Define(api.Spec{
			ID: "update_company", Method: "PATCH", Path: "/v1/companies/{companyId}", Scope: auth.CompanyWrite, Effect: api.Write,
			Summary:     "Update the company's profile",
			Description: "Changes the properties that are sent and leaves the others alone.",
		}, s.updateCompany),
		api.Define(api.Spec{
			ID: "list_keys", Method: "GET", Path: "/v1/companies/{companyId}/keys", Scope: auth.KeysRead,
			Summary:     "List the company's keys, the oldest first",
			Description: "Revoked and expired ones are among them. The keys themselves are nowhere: only their records.",
		}, s.listKeys),
		api.Define(api.Spec{
			ID: "get_current_key", Method: "GET", Path: "/v1/companies/{companyId}/keys/current",
			Summary:     "Get the record of the key that the request is made with",
			Description: "It tells which company a key opens, what it may do and when it ends.",
		}, s.getCurrentKey),
		api.Define(api.Spec{
			ID: "create_key", Method: "POST", Path: "/v1/companies/{companyId}/keys", Scope: auth.KeysWrite, Effect: api.Write, NotTool: true,
			Summary: "Create a key",
			Description: "`secret` is the key. It is shown this once: what is stored is its digest. A key grants only scopes that it holds " +
				"itself; one that it lacks is `unauthorised`. No tool: a secret must not enter a model's context.",
		}, s.createKey),
		api.Define(api.Spec{
			ID: "rotate_key", Method: "POST", Path: "/v1/companies/{companyId}/keys/{keyId}/rotate", Scope: auth.KeysWrite, Effect: api.Write, NotTool: true,
			Errors:  []fault.Code{fault.Conflict},
			Summary: "Replace a key by a new one with the same name, scopes and quotas",
			Description: "Both work until the old one ends, after `overlapSeconds`: move what uses it in the meantime. `secret` is the new key, " +
				"shown this once. As in creating one, the key that asks must hold every scope of the one that it rotates. " +
				"A key is rotated once: `conflict` afterwards. No tool: a secret must not enter a model's context.",
		}, s.rotateKey),
		api.Define(api.Spec{
			ID: "revoke_key", Method: "DELETE", Path: "/v1/companies/{companyId}/keys/{keyId}", Scope: auth.KeysWrite, Effect: api.Destructive,
			Summary:     "Revoke a key",
			Description: "It is refused from that instant, also when it is the one that asks. Its record stays in the list.",
		}, s.revokeKey),
	}
}

type service struct {
	store  Store
	keys   *keys.Store
	random io.Reader // of secrets
}
