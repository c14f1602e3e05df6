package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/functions/broadcast"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

func (o *operatorCommands) dueCommand() *cobra.Command {
	w := workerCommands[postStore, broadcast.Post, broadcast.ClaimedPost]{
		operatorCommands: o, remote: user.NewRemote(o.Terminal, o.table), noun: "post", nouns: "posts", readyWord: "due",
		tableStore: func(t *table.Client) postStore { return broadcast.NewStore(t) },
		apiStore:   func(s user.RemoteService) postStore { return postsOverAPI{s} },
		listReady: func(s postStore, ctx context.Context, companyID, target, after string, limit int) (table.Page[broadcast.Post], error) {
			return s.DuePosts(ctx, companyID, enumOrNil[broadcast.Platform](target), after, limit)
		},
		claim: func(s postStore, ctx context.Context, companyID, postID, _ string) (broadcast.ClaimedPost, error) {
			return s.ClaimPost(ctx, companyID, postID)
		},
		listStuck: postStore.StuckPosts,
		withReady: func(ctx context.Context, t *table.Client) ([]string, error) {
			return broadcast.NewStore(t).CompaniesWithDuePosts(ctx)
		},
		withStuck: func(ctx context.Context, t *table.Client, claimedBefore string) ([]string, error) {
			return broadcast.NewStore(t).CompaniesWithClaimedPosts(ctx, claimedBefore)
		},
		readyHeader: "POST\tCOMPANY\tPLATFORM\tSCHEDULED FOR\tTITLE",
		readyRow: func(p broadcast.Post) []string {
			return []string{p.ID, p.CompanyID, terminal.FormatText(p.Platform), terminal.FormatText(p.ScheduledFor), terminal.FormatText(p.Title)}
		},
		stuckHeader: "POST\tCOMPANY\tPLATFORM\tCLAIM\tCLAIMED",
		stuckRow: func(d broadcast.ClaimedPost) []string {
			return []string{d.ID, d.CompanyID, terminal.FormatText(d.Platform), terminal.FormatText(d.ClaimID), terminal.FormatText(d.ClaimedAt)}
		},
		claimedText: func(d broadcast.ClaimedPost, suggest func(string, ...any) string) string {
			return fmt.Sprintf("%s is publishing; the claim is %s\n\nWhen it is sent:\n  %s",
				d.ID, *d.ClaimID, suggest("due published %s --claim %s", d.ID, *d.ClaimID))
		},
		reportedText: func(d broadcast.ClaimedPost) string { return fmt.Sprintf("%s is %s", d.ID, *d.Status) },
		sending: sendingSteps[postStore, broadcast.Post, broadcast.ClaimedPost]{
			idOf: func(p broadcast.Post) string { return p.ID },
			claimOf: func(d broadcast.ClaimedPost) (recordID, claimID, target string) {
				return d.ID, valueOrEmpty(d.ClaimID), valueOrEmpty(d.Platform)
			},
			reportSent: func(s postStore, ctx context.Context, companyID, postID, claimID string, o senderOutput) (broadcast.ClaimedPost, error) {
				outcome := broadcast.Outcome{ExternalID: o.ExternalID, ExternalURL: o.ExternalURL, PublishedAt: o.PublishedAt}
				if err := outcome.Check(); err != nil {
					return broadcast.ClaimedPost{}, err
				}
				return s.ReportPublished(ctx, companyID, postID, claimID, outcome)
			},
			reportFail: func(s postStore, ctx context.Context, companyID, postID, claimID string, o senderOutput) (broadcast.ClaimedPost, error) {
				reason := valueOrEmpty(o.FailureReason)
				if chars := []rune(reason); len(chars) > broadcast.ReasonChars { // a platform's message may be long
					reason = string(chars[:broadcast.ReasonChars])
				}
				if err := broadcast.CheckReason(reason); err != nil {
					return broadcast.ClaimedPost{}, err
				}
				return s.ReportFailed(ctx, companyID, postID, claimID, reason)
			},
			giveBack: postStore.RetryPost,
		},
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
	due := terminal.AddCommands(&cobra.Command{
		Use: "due", Short: "Send the posts that are due: run a program on each, or list, claim, report",
		Long: `Send the posts that are due. The service itself sends nothing. A dispatcher lists the posts
that are due, claims one, sends what claim printed, and reports the result. "due run" does all
of this with your program.

  scheduled --claim--> publishing --published--> published
  failed    --claim--> publishing --failed-----> failed
                       publishing --retry------> scheduled

If several dispatchers claim a post, exactly one gets it. The others end with exit code 3:
the post's state does not allow the claim, and nothing was changed. While a post is
publishing, the API rejects changes and deletion. A report needs the id of the current
claim. Repeating a report is safe.

A claim does not expire: if a dispatcher dies, only the platform knows whether it had sent
the post. "due stuck" lists such posts with their claims. Look at the platform, then report
what happened, or use "retry" for a post that was not sent.

With a key, the commands use the API, for the key's company: with WORKSPACE_KEY, --profile,
--base-url or, without --company, the key of "workspace login". The key needs the scope broadcast:send.
Otherwise they use the table, with AWS's credentials for it, which reach every company. They say
which of the two they use.`,
	},
		w.runCommand(&cobra.Command{
			Use: "run --platform PLATFORM -- PROGRAM [ARGUMENT...]", Short: "Send the posts that are due with a program",
			Long: `Claim each post of a platform that is due, run the program on it, and report what happened.

The program reads the post as JSON from standard input, as "due claim --json" prints it, with
claimId. How it ends decides what is reported:

  exit code 0, prints {"externalId": "...", "externalUrl": "..."}       published
  exit code 0, prints {"outcome": "failed", "failureReason": "..."}     failed
  exit code 75, prints nothing, because it sent nothing                 scheduled again
  anything else                                                        nothing

The properties of what it prints are optional, but it must print a JSON object. After another
exit code, a signal, --timeout or other output, nobody knows whether the post was sent. Output
that contradicts itself, such as failed with an externalId, is other output. Then the claim
stays, "due stuck" lists it, and nothing sends the post again until a person reports. The same
holds if this command dies. So each post is sent at most once.

With --on-unknown retry, the next run starts the program again on such a post, with the same
claimId, once the claim is older than --timeout and a minute. Use it only for a program that
gives the claimId to the platform as idempotency key. It takes every claim on the platform's
posts, also one of another program or person: report what "due stuck" lists before you first use
it. Exit code 75 and failed then keep the claim, because an earlier attempt may have sent the
post.

--platform names what the program can send to, so that it claims nothing else. On SIGINT or
SIGTERM the command claims nothing more, and ends when its programs have ended. With --json it
prints one line for each post: {"id", "claimId", "outcome", "problem", "externalId",
"externalUrl"}. Exit code 1: nobody knows what happened to a post, or the service failed.`,
			Example: "  workspace due run --platform x -- ./send-to-x\n  workspace due run --platform facebook --every 1m --timeout 30s -- ./send-to-facebook",
		}, "platform", broadcast.Platform("").Values()),
		w.listCommand(&cobra.Command{
			Use: "list --company ID|all", Short: "List the posts that are due", Args: terminal.RequireArgs(),
			Long: `List the posts that are scheduled for now or before, company by company, the earliest
first. A claimed post leaves the list, so to get more than --limit, claim and list again.

--company all lists every company that is not suspended. It reads an index of the posts that are
due. When nothing is due, it costs the same with any number of companies.
With --json: {"items": [post, ...], "hasMore": true if --limit left some out}.`,
			Example: "  workspace due list --company co_...\n  workspace due list --company all --json --table workspace-prod",
		}),
		w.claimCommand(&cobra.Command{
			Use: "claim POST --company ID", Short: "Claim a post to send it", Args: terminal.RequireArgs("POST"),
			Long: `Move a post that is due, or one that failed, to publishing. The dispatcher must send the
post as --json prints it, with claimId and claimedAt, and report the result.

Exit code 3: another dispatcher has claimed the post, or it was edited and is no longer due.`,
			Example: "  workspace due claim pst_... --company co_... --json",
		}, nil),
		w.reportCommand(published, func(cmd *cobra.Command) error { return reportFlagError(cmd, outcome().Check()) },
			func(s postStore, ctx context.Context, companyID, postID, claimID string) (broadcast.ClaimedPost, error) {
				return s.ReportPublished(ctx, companyID, postID, claimID, outcome())
			}),
		w.reportCommand(failed, func(cmd *cobra.Command) error { return reportFlagError(cmd, broadcast.CheckReason(*reason)) },
			func(s postStore, ctx context.Context, companyID, postID, claimID string) (broadcast.ClaimedPost, error) {
				return s.ReportFailed(ctx, companyID, postID, claimID, *reason)
			}),
		w.reportCommand(&cobra.Command{
			Use: "retry POST --company ID --claim ID", Short: "Give a post back to be sent later", Args: terminal.RequireArgs("POST"),
			Long: `Move a post from publishing back to scheduled, where it is due at once for any
dispatcher. Use this only for a post that was not sent: it will be sent again.`,
			Example: "  workspace due retry pst_... --company co_... --claim clm_...",
		}, nil, postStore.RetryPost),
		w.stuckCommand(&cobra.Command{
			Use: "stuck --company ID|all", Short: "List the posts whose dispatcher has probably died", Args: terminal.RequireArgs(),
			Long: `List the posts that are publishing under an old claim, company by company, the oldest
first. Look at the platform, then report with the claim that is shown: published if the
post is there, retry or failed if it is not.

A post without a claim was imported as publishing: report with --claim none.
With --json: {"items": [post with claimId and claimedAt, ...]}.`,
			Example: "  workspace due stuck --company all\n  workspace due stuck --company co_... --older 2h",
		}))
	w.remote.Register(due)
	return due
}

func valueOrEmpty[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

func enumOrNil[T ~string](text string) *T {
	if text == "" {
		return nil
	}
	return new(T(text))
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// reportFlagError rewrites an error about a report, so that it names flags instead of the fields
// that they set.
func reportFlagError(cmd *cobra.Command, err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	flags := strings.NewReplacer("externalId:", "--external-id:", "externalUrl:", "--external-url:", "publishedAt:", "--published-at:", "failureReason:", "--reason:")
	return terminal.NewCommandUsageError(cmd, "%s", flags.Replace(strings.Join(refused.Messages, "; ")))
}
