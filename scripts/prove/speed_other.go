//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// speedCommand says that the benchmark, which reads /proc and uses control groups, is for Linux.
func speedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "speed [MODE...]", Short: "Sizes, CPU, starts, reads, imports and prices (for Linux)",
		RunE: func(*cobra.Command, []string) error { return errors.New("speed is for Linux") },
	}
}
