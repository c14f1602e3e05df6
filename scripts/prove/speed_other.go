//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// speedCommand returns a command that fails: the benchmark needs /proc and the control groups of Linux.
func speedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "speed [MODE...]", Short: "Measure sizes, CPU, starts, reads, imports and prices (Linux only)",
		RunE: func(*cobra.Command, []string) error { return errors.New("speed runs on Linux only") },
	}
}
