// Package tabular reads what people and other programs write: tables in text files, the numbers and
// dates in them, and files of reviews. The command line and the studio use it.
//
// What can be read in two ways, such as 1,204 or 01/02/2026, is never guessed. A column is decided
// as a whole: one cell with a single reading decides for all others. If no cell decides, the error
// is an Ambiguous, which contains the readings and what would choose each of them.
package tabular
