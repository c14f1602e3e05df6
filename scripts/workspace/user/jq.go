package user

import (
	"context"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"

	"growthworkspace/scripts/workspace/terminal"
)

// jqFilter is the expression of --jq.
type jqFilter struct{ code *gojq.Code }

func newJQFilter(expression string) (*jqFilter, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return &jqFilter{code}, nil
}

// run evaluates the expression on JSON and passes each result to the function print.
func (f *jqFilter) run(ctx context.Context, text []byte, print func(result any) error) error {
	var value any
	if err := decodeJSON(text, &value); err != nil {
		return err
	}
	results := f.code.RunWithContext(ctx, value)
	for {
		result, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := result.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil // the function `halt` ends the expression without an error
			}
			// Do not wrap the error, because an interrupted expression must not be reported as a
			// request without a response. Escape the message, because it may quote third-party
			// text.
			return fmt.Errorf("--jq: %s", terminal.EscapeControls(err.Error()))
		}
		if err := print(result); err != nil {
			return err
		}
	}
}

// encode returns a result as JSON. The keys of an object are sorted.
func (f *jqFilter) encode(result any) ([]byte, error) { return gojq.Marshal(result) }
