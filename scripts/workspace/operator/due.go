package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/functions/broadcast"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

func (o *operatorCommands) dueCommand() *cobra.Command {
	w := workerCommands[broadcast.Store, broadcast.Post, broadcast.ClaimedPost]{
		operatorCommands: o, noun: "post", nouns: "posts", readyWord: "due",
		openStore: broadcast.NewStore, listReady: func(s broadcast.Store, ctx context.Context, companyID string, limit int) (table.Page[broadcast.Post], error) {
			return s.DuePosts(ctx, companyID, nil, "", limit)
		}, claim: broadcast.Store.ClaimPost, listStuck: broadcast.Store.StuckPosts,
		readyHeader: "POST\tCOMPANY\tPLATFORM\tSCHEDULED FOR\tTITLE",
		readyRow: func(p broadcast.Post) []string {
			return []string{p.ID, p.CompanyID, terminal.FormatText(p.Platform), terminal.FormatText(p.ScheduledFor), terminal.FormatText(p.Title)}
		},
		stuckHeader: "POST\tCOMPANY\tPLATFORM\tCLAIM\tCLAIMED",
		stuckRow: func(d broadcast.ClaimedPost) []string {
			return []string{d.ID, d.CompanyID, terminal.FormatText(d.Platform), terminal.FormatText(d.ClaimID), terminal.FormatText(d.ClaimedAt)}
		},
		claimedText: func(d broadcast.ClaimedPost) string {
			return fmt.Sprintf("%s is publishing; the claim is %s\n\nWhen it is sent:\n  %s",
				d.ID, *d.ClaimID, o.command("due published %s --company %s --claim %s", d.ID, d.CompanyID, *d.ClaimID))
		},
		reportedText: func(d broadcast.ClaimedPost) string { return fmt.Sprintf("%s is %s", d.ID, *d.Status) },
	}
	published := &cobra.Command{
		Use: "published POST --company ID --claim ID", Short: "Report that a post was sent", Args: terminal.RequireArgs("POST"),
		Long: `Move a post from publishing to published, and record the platform's id and address. From
now on the API rejects changes and deletion.`,
		Example: "  workspace due published pst_... --company co_... --claim clm_... --external-id 1790 --external-url https://x.example/1790",
	}
	externalID := published.Flags().String("external-id", "", "the platform's own `id`")
	externalURL := published.Flags().String("external-url", "", "the post's address on the platform, a `URL`")
	publishedAt := published.Flags().String("published-at", "", "when it was published, a `time` such as 2026-08-11T09:30:00Z (default: now)")
	outcome := func() broadcast.Outcome {
		return broadcast.Outcome{ExternalID: textOrNil(*externalID), ExternalURL: textOrNil(*externalURL), PublishedAt: textOrNil(*publishedAt)}
	}
	failed := &cobra.Command{
		Use: "failed POST --company ID --claim ID --reason TEXT", Short: "Report that a post could not be sent", Args: terminal.RequireArgs("POST"),
		Long: `Move a post from publishing to failed. The reason becomes the post's failureReason, which
the company can read. A failed post can be edited, scheduled and claimed again, so use this
only for a post that was not sent.`,
		Example: `  workspace due failed pst_... --company co_... --claim clm_... --reason "the account is locked"`,
	}
	reason := failed.Flags().String("reason", "", "why, a `text` of 1 to 2000 characters")
	return terminal.AddCommands(&cobra.Command{
		Use: "due", Short: "Dispatch the posts that are due: list, claim, report",
		Long: `Dispatch the posts that are due. The service itself sends nothing. A dispatcher lists the
posts that are due, claims one, sends what claim printed, and reports the result.

  scheduled --claim--> publishing --published--> published
  failed    --claim--> publishing --failed-----> failed
                       publishing --retry------> scheduled

If several dispatchers claim a post, exactly one gets it. The others end with exit code 3:
the post's state does not allow the claim, and nothing was changed. While a post is
publishing, the API rejects changes and deletion. A report needs the id of the current
claim. Repeating a report is safe.

A claim does not expire: if a dispatcher dies, only the platform knows whether it had sent
the post. "due stuck" lists such posts with their claims. Look at the platform, then report
what happened, or use "retry" for a post that was not sent.`,
	},
		w.listCommand(&cobra.Command{
			Use: "list --company ID|all", Short: "List the posts that are due", Args: terminal.RequireArgs(),
			Long: `List the posts that are scheduled for now or before, company by company, the earliest
first. A claimed post leaves the list, so to get more than --limit, claim and list again.

--company all lists every company that is not suspended. It scans the whole table to find
them, because by design no index spans companies: use it rarely, or remember the ids.
With --json: {"items": [post, ...], "hasMore": true if --limit left some out}.`,
			Example: "  workspace due list --company co_...\n  workspace due list --company all --json --table workspace-prod",
		}),
		w.claimCommand(&cobra.Command{
			Use: "claim POST --company ID", Short: "Claim a post to send it", Args: terminal.RequireArgs("POST"),
			Long: `Move a post that is due, or one that failed, to publishing. The dispatcher must send the
post as --json prints it, with claimId and claimedAt, and report the result.

Exit code 3: another dispatcher has claimed the post, or it was edited and is no longer due.`,
			Example: "  workspace due claim pst_... --company co_... --json",
		}),
		w.reportCommand(published, func(cmd *cobra.Command) error { return reportFlagError(cmd, outcome().Check()) },
			func(s broadcast.Store, ctx context.Context, companyID, postID, claimID string) (broadcast.ClaimedPost, error) {
				return s.ReportPublished(ctx, companyID, postID, claimID, outcome())
			}),
		w.reportCommand(failed, func(cmd *cobra.Command) error { return reportFlagError(cmd, broadcast.CheckReason(*reason)) },
			func(s broadcast.Store, ctx context.Context, companyID, postID, claimID string) (broadcast.ClaimedPost, error) {
				return s.ReportFailed(ctx, companyID, postID, claimID, *reason)
			}),
		w.reportCommand(&cobra.Command{
			Use: "retry POST --company ID --claim ID", Short: "Give a post back to be sent later", Args: terminal.RequireArgs("POST"),
			Long: `Move a post from publishing back to scheduled, where it is due at once for any
dispatcher. Use this only for a post that was not sent: it will be sent again.`,
			Example: "  workspace due retry pst_... --company co_... --claim clm_...",
		}, nil, broadcast.Store.RetryPost),
		w.stuckCommand(&cobra.Command{
			Use: "stuck --company ID|all", Short: "List the posts whose dispatcher has probably died", Args: terminal.RequireArgs(),
			Long: `List the posts that are publishing under an old claim, company by company, the oldest
first. Look at the platform, then report with the claim that is shown: published if the
post is there, retry or failed if it is not.

A post without a claim was imported as publishing: report with --claim none.
With --json: {"items": [post with claimId and claimedAt, ...]}.`,
			Example: "  workspace due stuck --company all\n  workspace due stuck --company co_... --older 2h",
		}))
}

// textOrNil returns a pointer to a flag's value, or nil if the value is empty.
func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// reportFlagError replaces the fields of a report that an error names with the flags that set them.
func reportFlagError(cmd *cobra.Command, err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	flags := strings.NewReplacer("externalId:", "--external-id:", "externalUrl:", "--external-url:", "publishedAt:", "--published-at:", "failureReason:", "--reason:")
	return terminal.NewCommandUsageError(cmd, "%s", flags.Replace(strings.Join(refused.Messages, "; ")))
}
