package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/fault"
)

func (a *app) dueCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "due", Short: "Dispatch the posts that are due: list, claim, report",
		Long: `Dispatch the posts that are due. Nothing in this service sends: a dispatcher lists what
is due, claims a post, sends what the claim printed, and reports.

  scheduled --claim--> publishing --published--> published
  failed    --claim--> publishing --failed-----> failed
                       publishing --retry------> scheduled

Of any number of dispatchers exactly one gets a claim; the others end with exit code 3,
which says that a post's state refuses a move and that nothing was changed. While a post
is publishing the API refuses to edit and to delete it. A report needs the id of the claim
that holds the post; to repeat a report is safe.

A claim never ends by itself: whether a dispatcher that died had sent the post is known to
the platform only. "due stuck" lists such posts with their claims; look, then report what
happened, or use "retry" for one that was not sent.`,
	}, a.dueListCommand(), a.dueClaimCommand(), a.duePublishedCommand(), a.dueFailedCommand(), a.dueRetryCommand(), a.dueStuckCommand())
}

func (a *app) dueListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list --company ID|all", Short: "List the posts that are due", Args: takes(),
		Long: `List the posts that are scheduled for now or before, the earliest first, company by
company. A post that was claimed is not in the list any more, so claim, then list again.

--company all goes through every company that is not suspended, and reads the whole table
to find them, because nothing reaches over companies by design: do it rarely, or keep the
ids. With --json: {"items": [post, ...], "hasMore": true if --limit left some out}.`,
		Example: "  workspace due list --company co_...\n  workspace due list --company all --json --table workspace-prod",
	}
	check, limit := limitFlag(cmd)
	return a.sweepCommand(cmd, check, func(ctx context.Context, s *session, companies []string) error {
		due, err := gather(ctx, companies, *limit, broadcast.NewStore(s.table).DuePosts)
		if err != nil {
			return fmt.Errorf("list the posts that are due: %w", err)
		}
		err = printSwept(a, due, due.Items, "nothing is due", "POST\tCOMPANY\tPLATFORM\tSCHEDULED FOR\tTITLE", func(p broadcast.Post) []string {
			return []string{p.ID, p.CompanyID, shown((*string)(p.Platform)), shown(p.ScheduledFor), shown(p.Title)}
		})
		if err == nil && due.HasMore {
			a.note("more are due: see --limit")
		}
		return err
	})
}

func (a *app) dueClaimCommand() *cobra.Command {
	return a.companyAction(&cobra.Command{
		Use: "claim POST --company ID", Short: "Take a post to send it", Args: takes("POST"),
		Long: `Move a post that is due, or one that failed, to publishing. Who gets it must send what
--json prints, which is the post as it is now, with claimId and claimedAt, and report.

Exit code 3: another dispatcher has the post, or it was edited and is not due any more.`,
		Example: "  workspace due claim pst_... --company co_... --json",
	}, func(ctx context.Context, s *session, companyID string, args []string) error {
		post, err := broadcast.NewStore(s.table).ClaimPost(ctx, companyID, args[0])
		if err != nil {
			return refusedMove(err, "post", args[0], companyID)
		}
		return a.print(post, "%s is publishing; the claim is %s\n\nWhen it is sent:\n  workspace due published %s --company %s --claim %s",
			post.ID, *post.ClaimID, post.ID, companyID, *post.ClaimID)
	})
}

func (a *app) duePublishedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "published POST --company ID --claim ID", Short: "Report that a post was sent", Args: takes("POST"),
		Long: `Move a post from publishing to published, with what the platform told. The API refuses
to edit or delete it from now on.`,
		Example: "  workspace due published pst_... --company co_... --claim clm_... --external-id 1790 --external-url https://x.example/1790",
	}
	externalID := cmd.Flags().String("external-id", "", "the platform's own `id`")
	externalURL := cmd.Flags().String("external-url", "", "the post's address on the platform, a `URL`")
	publishedAt := cmd.Flags().String("published-at", "", "when it went out, a `time` such as 2026-08-11T09:30:00Z (default: now)")
	outcome := func() broadcast.Outcome {
		return broadcast.Outcome{ExternalID: given(*externalID), ExternalURL: given(*externalURL), PublishedAt: given(*publishedAt)}
	}
	check := func(cmd *cobra.Command) error { return misusedReport(cmd, outcome().Check()) }
	return a.claimedCommand(cmd, check, func(ctx context.Context, s *session, companyID, postID, claimID string) error {
		post, err := broadcast.NewStore(s.table).ReportPublished(ctx, companyID, postID, claimID, outcome())
		return a.printMoved(post, err, companyID, postID)
	})
}

func (a *app) dueFailedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "failed POST --company ID --claim ID --reason TEXT", Short: "Report that a post could not be sent", Args: takes("POST"),
		Long: `Move a post from publishing to failed. The reason is the post's failureReason, which the
company reads. A failed post can be edited, scheduled and claimed again: report only what
was not sent.`,
		Example: `  workspace due failed pst_... --company co_... --claim clm_... --reason "the account is locked"`,
	}
	reason := cmd.Flags().String("reason", "", "why, a `text` of 1 to 2000 characters")
	check := func(cmd *cobra.Command) error { return misusedReport(cmd, broadcast.CheckReason(*reason)) }
	return a.claimedCommand(cmd, check, func(ctx context.Context, s *session, companyID, postID, claimID string) error {
		post, err := broadcast.NewStore(s.table).ReportFailed(ctx, companyID, postID, claimID, *reason)
		return a.printMoved(post, err, companyID, postID)
	})
}

func (a *app) dueRetryCommand() *cobra.Command {
	return a.claimedCommand(&cobra.Command{
		Use: "retry POST --company ID --claim ID", Short: "Give a post back to be sent later", Args: takes("POST"),
		Long: `Move a post from publishing back to scheduled, where it is due at once, for any
dispatcher. For one that was not sent: nothing keeps it from being sent again.`,
		Example: "  workspace due retry pst_... --company co_... --claim clm_...",
	}, noOtherFlags, func(ctx context.Context, s *session, companyID, postID, claimID string) error {
		post, err := broadcast.NewStore(s.table).RetryPost(ctx, companyID, postID, claimID)
		return a.printMoved(post, err, companyID, postID)
	})
}

func (a *app) dueStuckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stuck --company ID|all", Short: "List the posts whose dispatcher has probably died", Args: takes(),
		Long: `List the posts that are publishing under an old claim, the oldest first, company by
company. Look at the platform, then report with the claim that is shown: published if
it is there, retry or failed if it is not.

A post without a claim was imported as publishing: report with --claim none.
With --json: {"items": [post with claimId and claimedAt, ...]}.`,
		Example: "  workspace due stuck --company all\n  workspace due stuck --company co_... --older 2h",
	}
	check, older := olderFlag(cmd)
	return a.sweepCommand(cmd, check, func(ctx context.Context, s *session, companies []string) error {
		stuck, err := gatherStuck(ctx, s, companies, *older, broadcast.NewStore(s.table).StuckPosts)
		if err != nil {
			return fmt.Errorf("list the posts that are stuck: %w", err)
		}
		return printSwept(a, stuck, stuck.Items, "nothing is stuck", "POST\tCOMPANY\tPLATFORM\tCLAIM\tCLAIMED", func(d broadcast.Dispatch) []string {
			return []string{d.ID, d.CompanyID, shown((*string)(d.Platform)), shown(d.ClaimID), shown(d.ClaimedAt)}
		})
	})
}

func (a *app) printMoved(post broadcast.Dispatch, err error, companyID, postID string) error {
	if err != nil {
		return refusedMove(err, "post", postID, companyID)
	}
	return a.print(post, "%s is %s", post.ID, *post.Status)
}

// given is a flag's text, null when it is not set.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// misusedReport names the flags in what is wrong with a report.
func misusedReport(cmd *cobra.Command, err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	flags := strings.NewReplacer("externalId:", "--external-id:", "externalUrl:", "--external-url:", "publishedAt:", "--published-at:", "failureReason:", "--reason:")
	return misuse(cmd, "%s", flags.Replace(strings.Join(refused.Messages, "; ")))
}
