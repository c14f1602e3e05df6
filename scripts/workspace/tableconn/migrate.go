package tableconn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/migration"
)

// noteInterval is the minimum time between two notes about a migration's progress while a data
// folder is being opened.
const noteInterval = 2 * time.Second

// pendingMigrations returns the migrations that are not complete for all companies. An empty table
// needs none: pendingMigrations marks them all as complete.
func (s *Session) pendingMigrations(ctx context.Context) ([]migration.Migration, error) {
	all := functions.Migrations()
	pending, err := migration.Pending(ctx, s.Table, all)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	isEmpty, err := migration.CompleteEmpty(ctx, s.Table, all)
	if isEmpty {
		pending = nil
	}
	return pending, err
}

// dataFormat is the format of the records in a data folder. Increment it when earlier builds must
// no longer open the folder. Every release with a new migration must increment it, because an
// earlier build would write records without the new index keys.
const dataFormat = 1

// migrateFolder migrates the records of a data folder to this build. If a build older than data
// formats has used the folder since the last migration, migrateFolder checks every record, because
// that build may have written records without index keys.
func (s *Session) migrateFolder(ctx context.Context, t *terminal.Terminal) error {
	isOwner := !s.Engine.Shared // otherwise, the process that started the engine migrates the folder
	again := isOwner && s.Engine.Format == 0
	migrations, err := s.pendingMigrations(ctx)
	if err != nil {
		return err
	}
	if again {
		migrations = functions.Migrations()
	}
	if len(migrations) > 0 {
		if err := s.migrate(ctx, t, migrations, again); err != nil {
			return err
		}
	}
	if isOwner && s.Engine.Format != dataFormat {
		return s.Engine.SetFormat(dataFormat)
	}
	return nil
}

// migrate runs migrations for all companies and prints a note every few seconds.
func (s *Session) migrate(ctx context.Context, t *terminal.Terminal, migrations []migration.Migration, again bool) error {
	ids, err := company.NewStore(s.Table).ScanIDs(ctx) // the registry may lack companies that an earlier version created
	if err != nil {
		return fmt.Errorf("find the companies: %w", err)
	}
	last := t.Now()
	_, err = migration.Run(ctx, s.Table, migrations, ids, again, func(p migration.Progress) {
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
