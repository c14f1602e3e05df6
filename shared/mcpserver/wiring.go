package mcpserver

import (
	"log/slog"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth/keys"
	"growthworkspace/shared/table"
)

// Over returns a server of operations over a table, as package service does for HTTP.
func Over(t *table.Client, operations []api.Operation, log *slog.Logger) *Server {
	return New(operations, Config{Keys: keys.NewStore(t, t.Clock()), Now: t.Clock(), NewID: t.NewID, Log: log})
}
