//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// speedCommand returns a command that always fails, because the measurements read /proc.
func speedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "speed [MODE...]", Short: "Measure sizes, starts, imports and prices (Linux only)",
		RunE: func(*cobra.Command, []string) error { return errors.New("speed runs on Linux only") },
	}
}
