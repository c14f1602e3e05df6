package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"growthworkspace/functions/company"
	brand "growthworkspace/functions/context"
	"growthworkspace/functions/plan"
	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
)

func (o *operatorCommands) snapshotRenderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "render --company ID --board ID --html FILE", Short: "Write a board's published content as a web page", Args: terminal.RequireArgs(),
		Long: `Write a board's published content, of the live version or an earlier one, as one web page.
The page has only the fields that are public, no scripts, and loads nothing, so any host
can serve it. It has the colours and fonts of the brand kit, a link to the company's
website, and what is done as a changelog. Write it again after each publish. With - as the file it goes to standard
output.

With --json: {"file", "version", "itemCount"}.`,
		Example: `  workspace snapshot render --company co_... --board brd_... --html roadmap.html`,
	}
	file := cmd.Flags().String("html", "", "the `file` to write, - for standard output")
	wanted := versionFlag(cmd)
	check := func(cmd *cobra.Command) error {
		if *file == "" {
			return terminal.NewCommandUsageError(cmd, "name the file with --html FILE, such as roadmap.html")
		}
		return wanted.check(cmd)
	}
	return o.boardAction(cmd, check, func(ctx context.Context, s *tableconn.Session, companyID, boardID string) error {
		snapshot, err := plan.NewStore(s.Table).Snapshot(ctx, companyID, boardID, wanted.version())
		if err != nil {
			return err
		}
		board, err := publicBoard(ctx, s, companyID, snapshot)
		if err != nil {
			return err
		}
		if *file == "-" {
			return roadmap.WritePage(o.Out, board)
		}
		if err := writePublicFile(*file, func(w io.Writer) error { return roadmap.WritePage(w, board) }); err != nil {
			return err
		}
		return o.Print(struct {
			File      string `json:"file"`
			Version   int64  `json:"version"`
			ItemCount int    `json:"itemCount"`
		}{*file, snapshot.Version, len(snapshot.Items)}, "wrote %s: version %d of %s, items: %d", *file, snapshot.Version, boardID, len(snapshot.Items))
	})
}

// publicBoard returns the parts of a published version that the public page shows, with the names
// of the board and the company.
func publicBoard(ctx context.Context, s *tableconn.Session, companyID string, snapshot plan.Snapshot) (b roadmap.Board, err error) {
	profile, err := company.NewStore(s.Table).Get(ctx, companyID)
	if err != nil {
		return b, fmt.Errorf("read the company's profile: %w", err)
	}
	board, err := plan.NewStore(s.Table).Boards.Get(ctx, companyID, snapshot.BoardID)
	if err != nil {
		return b, err
	}
	b = roadmap.Board{
		Name: textOrEmpty(board.Name), Company: textOrEmpty(profile.Name), Language: textOrEmpty(profile.PrimaryLanguage), PublishedAt: textOrEmpty(snapshot.PublishedAt),
		Home: textOrEmpty(profile.WebsiteURL),
	}
	kit, err := brand.NewStore(s.Table).Get(ctx, companyID)
	if err != nil && !errors.Is(err, fault.ErrNotFound) {
		return b, fmt.Errorf("read the company's brand kit: %w", err)
	}
	b.Brand = roadmap.ReadBrand(kit.Colors, kit.Fonts)
	for _, i := range snapshot.Items {
		b.Items = append(b.Items, roadmap.Item{
			Slug: i.Slug, Title: i.Title, Summary: textOrEmpty(i.Summary), ColumnID: textOrEmpty(i.ColumnID), CategoryIDs: i.CategoryIDs,
			TargetLabel: textOrEmpty(i.TargetLabel),
		})
	}
	return b, nil
}

func textOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// writePublicFile atomically writes a file that everyone may read.
func writePublicFile(file string, write func(io.Writer) error) error {
	const publicMode = 0o644
	if err := secretfile.Create(file, write); err != nil {
		return err
	}
	if err := os.Chmod(file, publicMode); err != nil {
		return errors.Join(fmt.Errorf("let others read the page: %w", err), os.Remove(file))
	}
	return nil
}
