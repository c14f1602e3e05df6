// Package kinds lists the formats that can be converted.
package kinds

import (
	"slices"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/lighthouse"
	"growthworkspace/scripts/workspace/convert/sheet"
)

// RegisterAll registers the flags of all kinds, and returns the kinds in the order in which the
// help lists them. The kinds read their flags when they convert a file.
func RegisterAll(flags *pflag.FlagSet) []convert.Kind {
	return slices.Concat(convert.ReviewKinds(), lighthouse.Kinds(flags), sheet.Kinds(flags))
}
