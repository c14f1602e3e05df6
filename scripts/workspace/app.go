package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/session"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
)

// app is one call of the command check. It adapts the packages of the other commands.
type app struct {
	*terminal.Terminal

	table *session.Flags
}

type remote struct{ baseURL string }

type credential struct{ Key string }

func (a *app) credential(r remote) (credential, error) {
	key, err := user.Key(a.Terminal, a.table, r.baseURL)
	return credential{key}, err
}

func errNoKey(baseURL string) error { return user.ErrNoKey(baseURL) }

// reportedError is the error of a report that was printed and has failures.
type reportedError struct{ text string }

func (e *reportedError) Error() string { return e.text }

type list[T any] = terminal.Items[T]

func (a *app) print(result any, format string, args ...any) error {
	return a.Print(result, format, args...)
}

func (a *app) waitAloud(ctx context.Context, d time.Duration) error { return a.Wait(ctx, d) }

func misuse(cmd *cobra.Command, format string, args ...any) error {
	return terminal.Misuse(cmd, format, args...)
}

func takes(names ...string) cobra.PositionalArgs { return terminal.Takes(names...) }

func shown(text *string) string { return terminal.Text(text) }

const cellCharsMax = 36

// cut shortens a text.
func cut(text string) string {
	if chars := []rune(text); len(chars) > cellCharsMax {
		return string(chars[:cellCharsMax-1]) + "…"
	}
	return text
}
