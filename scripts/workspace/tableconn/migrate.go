package tableconn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/table"
)

// noteInterval is the minimum time between two notes about a migration's progress while a data
// folder is being opened.
const noteInterval = 2 * time.Second

// pendingMigrations returns the migrations that are not complete for all companies. An empty table
// needs none: pendingMigrations marks them all as complete.
func (s *Session) pendingMigrations(ctx context.Context) ([]migration.Migration, error) {
	pending, err := migration.Pending(ctx, s.Table, s.Migrations)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	isEmpty, err := migration.CompleteEmpty(ctx, s.Table, s.Migrations)
	if isEmpty {
		pending = nil
	}
	return pending, err
}

// dataFormat is the format of the records in a data folder. Every release with a new migration must
// increment it, so that an earlier release refuses the folder: it would write records without the
// new index keys.
const dataFormat = 1

// migrateFolder runs the pending migrations of a data folder for all companies. It prints a note
// every few seconds.
func (s *Session) migrateFolder(ctx context.Context, t *terminal.Terminal) error {
	pending, err := s.pendingMigrations(ctx)
	if err != nil || len(pending) == 0 {
		return err
	}
	ids, err := table.RegisteredCompanies(ctx, s.Table)
	if err != nil {
		return fmt.Errorf("find the companies: %w", err)
	}
	last := t.Now()
	_, err = migration.Run(ctx, s.Table, pending, ids, false, func(p migration.Progress) {
		if now := t.Now(); now.Sub(last) >= noteInterval {
			last = now
			t.Note("bringing the records of an earlier version up to this one: %s", FormatProgress(p))
		}
	})
	return err
}

// FormatProgress describes the progress of a migration.
func FormatProgress(p migration.Progress) string {
	return fmt.Sprintf("%s: company %d of %d, %s: checked records: %d", p.Migration, p.Number, p.Companies, p.CompanyID, p.Checked)
}

// RemindOfUpgrade prints a note if records that an earlier version stored may lack index keys. A
// data folder never needs an upgrade. RemindOfUpgrade also prints nothing if the role is not
// allowed to read the marks of complete migrations, because such a role cannot upgrade the table
// either.
func (s *Session) RemindOfUpgrade(ctx context.Context, t *terminal.Terminal) error {
	if s.Data != "" {
		return nil
	}
	pending, err := s.pendingMigrations(ctx)
	var api smithy.APIError
	if err != nil && !(errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException") {
		return err
	}
	if len(pending) > 0 {
		t.Note("%s has records of an earlier version, so some lists read more than they return: run `%s` once all functions are of this version", s.Target, s.upgradeCommand)
	}
	return nil
}
