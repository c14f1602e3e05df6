package sheet

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/tabular"
)

var visitorsFilePattern = regexp.MustCompile(`^(imported_)?visitors(_\d{8}_\d{8})?\.csv$`)

// Limits on an archive. A real archive has about 20 files, which are compressed to about a tenth of
// their size.
const (
	zipFilesMax = 1000
	zipBytesMax = 1 << 30
	zipRatioMax = 200
	zipSmall    = 1 << 20 // a file of at most this size may have any compression ratio
)

const reasonOtherTable = "files of the archive other than that of visitors, which have breakdowns"

// convertPlausible converts the visitors file, either in an archive or on its own.
func convertPlausible(ctx context.Context, in convert.Input, m mapping, out *convert.Output) error {
	magic := make([]byte, len(tabular.ZipMagic))
	if _, err := in.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", err)
	}
	if string(magic) != tabular.ZipMagic {
		return plausible.convertFile(ctx, in, m, out)
	}
	archive, err := zip.NewReader(in, in.Size)
	if err != nil {
		return fmt.Errorf("is not a complete zip archive: %w", err)
	}
	if len(archive.File) > zipFilesMax {
		return fmt.Errorf("has more than the %d files that an export can have: the archive is refused", zipFilesMax)
	}
	found, size := 0, uint64(0)
	for _, f := range archive.File {
		name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
		switch {
		case f.FileInfo().IsDir():
		case visitorsFilePattern.MatchString(name):
			found++
			if size += f.UncompressedSize64; size > zipBytesMax {
				return fmt.Errorf("would unpack to more than %d bytes: the archive is refused", zipBytesMax)
			}
			if err := convertVisitorsOf(ctx, f, name, m, out); err != nil {
				return err
			}
		default:
			out.Skip(reasonOtherTable)
		}
	}
	if found == 0 {
		return errors.New("has no file visitors.csv or imported_visitors_….csv, so it is not an export of Plausible")
	}
	return nil
}

// convertVisitorsOf converts the visitors file in an archive. It refuses a file whose compression
// ratio is too high for a real table.
func convertVisitorsOf(ctx context.Context, f *zip.File, name string, m mapping, out *convert.Output) error {
	packed, size := f.CompressedSize64, f.UncompressedSize64
	if size > zipSmall && size/zipRatioMax > packed {
		return fmt.Errorf("%s would unpack %d bytes to %d, which no table does: the archive is refused", name, packed, size)
	}
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer content.Close()
	err = plausible.convert(ctx, content, " of "+name, m, out)
	// A damaged archive is noticed only while it is read: archive/zip reads no more than the
	// declared size, and compares the checksum at the end.
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(flate.CorruptInputError)) {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	return err
}
