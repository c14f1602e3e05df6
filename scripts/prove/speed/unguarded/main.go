// Command unguarded is the function of the feedback area without keys. The benchmark compares reads with and without a key.
// It is never deployed.
package main

import (
	"context"
	"log/slog"
	"net/http"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/service"
	"growthworkspace/shared/table"
)

// open admits every request without a call to the table.
type open struct{}

func (open) Admit(context.Context, auth.Token, auth.Scope, auth.Class) (auth.Admission, error) {
	return auth.Admission{Quota: auth.QuotaState{Quota: auth.DefaultQuota(auth.ClassRead)}}, nil
}

func (open) Verify(context.Context, auth.Token, auth.Scope, auth.Class) (auth.QuotaState, error) {
	return auth.QuotaState{Quota: auth.DefaultQuota(auth.ClassRead)}, nil
}

func main() {
	service.Serve(func(t *table.Client, log *slog.Logger) http.Handler {
		c := service.Config(t, log)
		c.Keys, c.BaseURL = open{}, gateway.BaseURL
		return api.New(feedback.Operations(t), c)
	})
}
