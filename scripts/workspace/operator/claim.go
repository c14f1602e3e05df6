package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// workerCommands implements the subcommands that `due` and `approved` share. They list records that
// are ready, claim one, and report the result. S is the type of the store, R that of a record, and
// C that of a record with its claim.
//
// The commands use the API if a key is chosen, and otherwise the table.
type workerCommands[S, R, C any] struct {
	*operatorCommands

	remote *user.Remote

	noun, nouns, readyWord string // "post", "posts", "due"

	tableStore func(*table.Client) S
	apiStore   func(user.RemoteService) S

	// listReady returns a page of records for one platform or source, or for all if target is
	// empty.
	listReady func(s S, ctx context.Context, companyID, target, after string, limit int) (table.Page[R], error)
	claim     func(s S, ctx context.Context, companyID, recordID, confirmedBy string) (C, error)
	listStuck func(s S, ctx context.Context, companyID, claimedBefore string) ([]C, error)

	// withReady and withStuck return the companies that have records for listReady and listStuck.
	// The results include suspended companies. Both functions read the operator's index.
	withReady func(ctx context.Context, t *table.Client) ([]string, error)
	withStuck func(ctx context.Context, t *table.Client, claimedBefore string) ([]string, error)

	readyHeader, stuckHeader string
	readyRow                 func(R) []string
	stuckRow                 func(C) []string
	claimedText              func(c C, suggest func(format string, args ...any) string) string // what is printed after a claim; suggest formats a command line
	reportedText             func(C) string                                                    // what is printed after a report

	sending sendingSteps[S, R, C]
}

// recordAccess is the store that a command uses and the companies whose records it uses.
type recordAccess[S any] struct {
	store     S
	companies []string // their ids
	isTable   bool
}

// company returns the id of the company, for a command on one company.
func (p recordAccess[S]) company() string { return p.companies[0] }

// limitedList is the JSON of a list that has at most as many items as --limit says.
type limitedList[T any] struct {
	Items   []T  `json:"items"`
	HasMore bool `json:"hasMore"`
}

// listLimitMax is the maximum value of --limit.
const listLimitMax = 1000

func (w workerCommands[S, R, C]) listCommand(cmd *cobra.Command) *cobra.Command {
	limit := cmd.Flags().Int("limit", 50, fmt.Sprintf("the most `records` of each company, 1 to %d", listLimitMax))
	check := func(cmd *cobra.Command) error {
		if *limit < 1 || *limit > listLimitMax {
			return terminal.NewCommandUsageError(cmd, "--limit: must be 1 to %d", listLimitMax)
		}
		return nil
	}
	return w.multiCompanyCommand(cmd, check, w.withReady, func(ctx context.Context, p recordAccess[S]) error {
		found := limitedList[R]{Items: []R{}}
		for _, companyID := range p.companies {
			page, err := w.listReady(p.store, ctx, companyID, "", "", *limit)
			if err != nil {
				return fmt.Errorf("list the %s that are %s%s: %w", w.nouns, w.readyWord, companySuffix(companyID), err)
			}
			found.Items, found.HasMore = append(found.Items, page.Records...), found.HasMore || page.Next != ""
		}
		err := terminal.PrintList(w.Terminal, found, found.Items, "nothing is "+w.readyWord, w.readyHeader, w.readyRow)
		if err == nil && found.HasMore {
			w.Note("more are %s: see --limit", w.readyWord)
		}
		return err
	})
}

// companySuffix returns ": company " followed by the id. It returns "" if the id is empty, which
// stands for the company of the key.
func companySuffix(companyID string) string {
	if companyID == "" {
		return ""
	}
	return ": company " + companyID
}

// latestTime is the latest time that a record can have.
const latestTime = "9999-12-31T23:59:59.999Z"

func (w workerCommands[S, R, C]) stuckCommand(cmd *cobra.Command) *cobra.Command {
	text := cmd.Flags().String("older", "15m", "claims that are at least this `duration` old, such as 15m, 2h or 1d; 0s for every claim")
	var older time.Duration
	claimedBefore := func() string {
		if older == 0 {
			return latestTime // includes every claim, even if this machine's clock is behind the service's
		}
		return timestamp.Format(w.Now().Add(-older))
	}
	find := func(ctx context.Context, t *table.Client) ([]string, error) {
		return w.withStuck(ctx, t, claimedBefore())
	}
	check := func(cmd *cobra.Command) (err error) {
		if older, err = terminal.ParseDuration(*text); err != nil {
			return terminal.NewCommandUsageError(cmd, "--older: %s", err)
		}
		return nil
	}
	return w.multiCompanyCommand(cmd, check, find, func(ctx context.Context, p recordAccess[S]) error {
		found := terminal.ItemList[C]{Items: []C{}}
		for _, companyID := range p.companies {
			items, err := w.listStuck(p.store, ctx, companyID, claimedBefore())
			if err != nil {
				return fmt.Errorf("list the %s that are stuck%s: %w", w.nouns, companySuffix(companyID), err)
			}
			found.Items = append(found.Items, items...)
		}
		return terminal.PrintList(w.Terminal, found, found.Items, "nothing is stuck", w.stuckHeader, w.stuckRow)
	})
}

// claimCommand returns a command that claims a record. confirmedBy is the value of the flag that
// names the person who confirmed the record; it is nil if the command has no such flag. The flag
// is required if the command calls the API with a key.
func (w workerCommands[S, R, C]) claimCommand(cmd *cobra.Command, confirmedBy *string) *cobra.Command {
	return w.recordCommand(cmd, nil, func(ctx context.Context, p recordAccess[S], companyID string, args []string) error {
		person := ""
		if confirmedBy != nil {
			if person = *confirmedBy; person == "" && !p.isTable {
				return terminal.NewCommandUsageError(cmd, "--confirmed-by: name the person who confirmed the text")
			}
		}
		record, err := w.claim(p.store, ctx, companyID, args[0], person)
		if err != nil {
			return explainStoreError(err, w.noun, args[0], companyID)
		}
		return w.Print(record, "%s", w.claimedText(record, func(format string, args ...any) string {
			return w.suggest(p, companyID, format, args...)
		}))
	})
}

// suggest returns a command line that reaches the records of a company in the same way as this
// command.
func (w workerCommands[S, R, C]) suggest(p recordAccess[S], companyID, format string, args ...any) string {
	line := w.Command(format, args...)
	if companyID != "" {
		line += " --company " + companyID
	}
	if p.isTable {
		return line + w.table.Arguments()
	}
	return line + w.remote.Arguments()
}

// noClaimText is the value of --claim for a record that was imported without a claim.
const noClaimText = "none"

// reportCommand returns a command that reports the outcome of the work on a claimed record. check
// validates the command's other flags, and may be nil.
func (w workerCommands[S, R, C]) reportCommand(cmd *cobra.Command, check flagCheck, report func(s S, ctx context.Context, companyID, recordID, claimID string) (C, error)) *cobra.Command {
	claim := cmd.Flags().String("claim", "", "the `id` of the current claim; none for a record that was imported without one")
	checkFlags := func(cmd *cobra.Command) error {
		if *claim != noClaimText && !id.Valid("clm", *claim) {
			return terminal.NewCommandUsageError(cmd, "--claim: must be the claimId that claim printed, or none")
		}
		if check == nil {
			return nil
		}
		return check(cmd)
	}
	return w.recordCommand(cmd, checkFlags, func(ctx context.Context, p recordAccess[S], companyID string, args []string) error {
		claimID := *claim
		if claimID == noClaimText {
			claimID = "" // to the stores, an empty id means no claim
		}
		record, err := report(p.store, ctx, companyID, args[0], claimID)
		if err != nil {
			return explainStoreError(err, w.noun, args[0], companyID)
		}
		return w.Print(record, "%s", w.reportedText(record))
	})
}

// everyCompany is the value of --company that selects every company that is not suspended.
const everyCompany = "all"

// multiCompanyCommand makes cmd a command on the records of one company or, with --company all, of
// every company that is not suspended. find returns the companies that have records for the
// command.
func (w workerCommands[S, R, C]) multiCompanyCommand(cmd *cobra.Command, check flagCheck, find companyFinder, do func(ctx context.Context, p recordAccess[S]) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`, or all for every company that is not suspended (default: the key's company)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := check(cmd); err != nil {
			return err
		}
		return w.withRecordAccess(cmd, *companyID, "name the company with --company ID, or --company all, or set WORKSPACE_KEY", find, do)
	}
	return cmd
}

// recordCommand adds the flag --company to cmd, and lets it run do on the records of that company.
// If check is not nil, it checks the flags first.
func (w workerCommands[S, R, C]) recordCommand(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, p recordAccess[S], companyID string, args []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id` (default: the key's company)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd); err != nil {
				return err
			}
		}
		if *companyID == everyCompany {
			return terminal.NewCommandUsageError(cmd, "--company: name one company")
		}
		return w.withRecordAccess(cmd, *companyID, "name the company with --company ID, or set WORKSPACE_KEY", nil, func(ctx context.Context, p recordAccess[S]) error {
			return do(ctx, p, p.company(), args)
		})
	}
	return cmd
}

// withRecordAccess calls the function do with access to the records of one company, or of every
// company. It uses the table if a flag selects the table or if every company is requested.
// Otherwise it uses the API if a key is selected, or if no company is given and there is a login.
// In all other cases it uses the table. It prints whether it uses the table or the API. noCompany
// is the error message if neither a company nor a key is selected. find may be nil if the command
// does not support --company all.
func (w workerCommands[S, R, C]) withRecordAccess(cmd *cobra.Command, companyID, noCompany string, find companyFinder, do func(ctx context.Context, p recordAccess[S]) error) error {
	hasTable := *w.table != tableconn.Flags{}
	switch {
	case hasTable && w.remote.HasFlag():
		return terminal.NewCommandUsageError(cmd, "%s cannot be combined with --data, --table or --endpoint", strings.Fields(w.remote.Arguments())[0])
	case !hasTable && companyID != everyCompany && (w.remote.IsChosen() || companyID == "" && w.remote.HasLogin()):
		service, err := w.remote.Connect(companyID)
		if err != nil {
			return err
		}
		w.Note("using the API at %s", service.Name)
		return do(cmd.Context(), recordAccess[S]{w.apiStore(service), []string{companyID}, false})
	case companyID == "":
		return terminal.NewCommandUsageError(cmd, "%s", noCompany)
	}
	return w.openTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
		companies, err := w.selectedCompanies(ctx, s, companyID, find)
		if err != nil {
			return err
		}
		w.Note("using the table: %s", s.Target)
		err = do(ctx, recordAccess[S]{w.tableStore(s.Table), companies, true})
		if err == nil && ctx.Err() != nil { // a run that is told to stop returns no error
			err = s.EngineError()
		}
		return err
	})
}

// companyFinder returns the ids of the companies that have records of one kind.
type companyFinder func(ctx context.Context, t *table.Client) ([]string, error)

// selectedCompanies returns companyID or, if that is "all", the ids that find returns, except those
// of suspended companies.
func (w workerCommands[S, R, C]) selectedCompanies(ctx context.Context, s *tableconn.Session, companyID string, find companyFinder) (ids []string, err error) {
	if companyID != everyCompany {
		_, err := s.Company(ctx, companyID)
		return []string{companyID}, err
	}
	ids, err = find(ctx, s.Table)
	if err != nil {
		return nil, fmt.Errorf("find the companies: %w", err)
	}
	suspended, err := s.Keys().SuspensionTimes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find the suspended companies: %w", err)
	}
	return slices.DeleteFunc(ids, func(id string) bool { _, found := suspended[id]; return found }), nil
}
