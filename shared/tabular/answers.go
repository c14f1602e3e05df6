package tabular

import (
	"iter"
	"time"
)

// Answers says how columns with several readings are meant. Its zero value leaves all questions
// open. An answer decides only where the column itself does not.
type Answers struct {
	Decimal    string // "." or ","; any other value is no answer
	DateFormat Format
}

// Numbers returns a reader for a column of numbers.
func (a Answers) Numbers(column iter.Seq[string]) *Numbers {
	r := NewNumbers("", column)
	if a.Decimal == "." || a.Decimal == "," {
		r.fallback = a.Decimal
	}
	return r
}

// Dates returns a reader for a column of dates.
func (a Answers) Dates(zone *time.Location, column iter.Seq[string]) *Dates {
	r := NewDates(Format{}, zone, column)
	r.fallback = a.DateFormat
	return r
}
