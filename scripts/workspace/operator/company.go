package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

const nameCharsMax = 200 // the API's limit

func (o *operatorCommands) companyCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create --name N", Short: "Create a company", Args: terminal.RequireArgs(),
		Long: `Create a company. It has no key and no records yet: issue a key, then import records
or send them to the API. With --issue-key its first key, with all scopes, is issued and
printed, once.`,
		Example: `  workspace company create --name "Northwind Notes" --issue-key
  workspace company create --name "Northwind Notes" --json`,
	}
	name := create.Flags().String("name", "", "the company's display `name`, 1 to 200 characters")
	issueKey := create.Flags().Bool("issue-key", false, "also issue a key with all scopes, and print it")
	create.RunE = func(cmd *cobra.Command, _ []string) error {
		if n := utf8.RuneCountInString(*name); strings.TrimSpace(*name) == "" || n > nameCharsMax {
			return terminal.NewCommandUsageError(cmd, "--name: must have 1 to %d characters", nameCharsMax)
		}
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			return o.createCompany(ctx, s, *name, *issueKey)
		})
	}
	list := &cobra.Command{
		Use: "list", Short: "List the companies", Args: terminal.RequireArgs(),
		Long: `List the companies, the oldest first. It reads the registry of companies, and the profile and
the suspension of each: about two read units for each company.`,
		Example: "  workspace company list\n  workspace company list --json --table workspace-prod",
	}
	list.RunE = func(cmd *cobra.Command, _ []string) error { return o.withTable(cmd, o.listCompanies) }
	suspend := o.companyIDAction(&cobra.Command{
		Use: "suspend ID", Short: "Refuse all keys of a company", Args: terminal.RequireArgs("ID"),
		Long: `Refuse all keys of a company with 403 until it is resumed, including keys that are issued
in the meantime. No record changes.`,
		Example: "  workspace company suspend co_...",
	}, o.suspendCompany)
	resume := o.companyIDAction(&cobra.Command{
		Use: "resume ID", Short: "End a company's suspension", Args: terminal.RequireArgs("ID"),
		Long: "Let all keys of a suspended company work again.", Example: "  workspace company resume co_...",
	}, o.resumeCompany)
	return terminal.AddCommands(&cobra.Command{Use: "company", Short: "Create, list, suspend, resume and delete companies"}, create, list, suspend, resume, o.deleteCompanyCommand())
}

// companyIDAction makes cmd a command on one company. Its argument is the company's id.
func (o *operatorCommands) companyIDAction(cmd *cobra.Command, do func(ctx context.Context, s *tableconn.Session, companyID string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			if _, err := s.Company(ctx, args[0]); err != nil {
				return err
			}
			return do(ctx, s, args[0])
		})
	}
	return cmd
}

// createdCompany is the result of `company create`.
type createdCompany struct {
	CompanyID string `json:"companyId"`
	company.Company
	KeyID  string `json:"keyId,omitempty"` // with --issue-key
	Secret string `json:"key,omitempty"`
}

func (o *operatorCommands) createCompany(ctx context.Context, s *tableconn.Session, name string, issueKey bool) error {
	now := s.Table.Now()
	c := company.Company{ID: s.Table.NewID(id.CompanyPrefix), Name: &name, CreatedAt: &now, UpdatedAt: &now}
	if err := company.NewStore(s.Table).Create(ctx, c); err != nil {
		return fmt.Errorf("create the company: %w", err)
	}
	command := o.command("key issue --company %s --scopes all", c.ID)
	if !issueKey {
		return o.Print(createdCompany{CompanyID: c.ID, Company: c}, "%s  %s\n\nIts first key:\n  %s", c.ID, name, command)
	}
	grant := keys.Grant{Scopes: auth.Scopes(), APIVersion: fault.Version}
	key, secret, err := s.Keys().Issue(ctx, c.ID, grant, rand.Reader)
	if err != nil {
		return fmt.Errorf("company %s was created without a key; issue one with `%s`: %w", c.ID, command, err)
	}
	return o.Print(createdCompany{c.ID, c, key.ID, secret}, "%s  %s\n\n%s\n\nThe key has all scopes. %s", c.ID, name, secret, shownOnceText)
}

type listedCompany struct {
	company.Company
	SuspendedAt *string `json:"suspendedAt"`
}

// listAllCompanies returns every company, oldest first.
func (o *operatorCommands) listAllCompanies(ctx context.Context, s *tableconn.Session) ([]listedCompany, error) {
	ids, err := table.RegisteredCompanies(ctx, s.Table)
	var all []company.Company
	var suspended map[string]string
	if err == nil {
		err = parallel.Both(
			func() (err error) { all, err = company.NewStore(s.Table).GetMany(ctx, ids); return err },
			func() (err error) { suspended, err = s.Keys().SuspensionTimes(ctx, ids); return err },
		)
	}
	if err != nil {
		return nil, fmt.Errorf("list the companies: %w", err)
	}
	slices.SortStableFunc(all, func(x, y company.Company) int {
		return cmp.Compare(terminal.FormatText(x.CreatedAt), terminal.FormatText(y.CreatedAt))
	})
	items := make([]listedCompany, len(all))
	for i, c := range all {
		items[i] = listedCompany{Company: c}
		if at, found := suspended[c.ID]; found {
			items[i].SuspendedAt = &at
		}
	}
	return items, nil
}

func (o *operatorCommands) listCompanies(ctx context.Context, s *tableconn.Session) error {
	items, err := o.listAllCompanies(ctx, s)
	if err != nil {
		return err
	}
	return terminal.PrintList(o.Terminal, terminal.ItemList[listedCompany]{Items: items}, items,
		fmt.Sprintf("no companies yet in %s: create one with `%s`", s.Target, o.command("company create --name N")), "ID\tNAME\tCREATED\tSUSPENDED",
		func(c listedCompany) []string {
			return []string{c.ID, terminal.FormatText(c.Name), terminal.FormatText(c.CreatedAt), terminal.FormatText(c.SuspendedAt)}
		})
}

// suspension is the result of `company suspend` and `company resume`.
type suspension struct {
	CompanyID   string  `json:"companyId"`
	SuspendedAt *string `json:"suspendedAt"`
	Keys        int     `json:"keys"`
}

func (o *operatorCommands) suspendCompany(ctx context.Context, s *tableconn.Session, companyID string) error {
	n, err := s.Keys().Suspend(ctx, companyID)
	if err != nil {
		return fmt.Errorf("suspend %s: %w; run the command again, it is safe", companyID, err)
	}
	at, err := s.Keys().SuspendedAt(ctx, companyID)
	if err != nil {
		return err
	}
	return o.Print(suspension{companyID, at, n},
		"%s is suspended since %s; keys refused: %d\n\nTo end it:\n  %s", companyID, terminal.FormatText(at), n, o.command("company resume %s", companyID))
}

func (o *operatorCommands) resumeCompany(ctx context.Context, s *tableconn.Session, companyID string) error {
	n, err := s.Keys().Resume(ctx, companyID)
	if err != nil {
		return fmt.Errorf("resume %s: %w; run the command again, it is safe", companyID, err)
	}
	return o.Print(suspension{companyID, nil, n}, "%s is not suspended; keys that can work again: %d", companyID, n)
}
