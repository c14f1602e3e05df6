package jsonl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/transfer"
)

// Export writes every record of a company, type by type in a fixed order. It returns the number of
// records of each type.
func Export(ctx context.Context, types []transfer.Type, companyID string, out io.Writer) (map[string]int, error) {
	written := map[string]int{}
	w := bufio.NewWriterSize(out, 256<<10)
	for _, t := range types {
		err := t.Export(ctx, companyID, func(record any) error {
			written[t.Name]++
			text, err := schema.EncodeRecord(record)
			if err == nil {
				_, err = fmt.Fprintf(w, "{\"type\":%q,\"record\":%s}\n", t.Name, text)
			}
			return err
		})
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		if err != nil {
			return nil, fmt.Errorf("export the records of type %s: %w", t.Name, err)
		}
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("write the export: %w", err)
	}
	return written, nil
}
