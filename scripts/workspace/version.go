package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/localdb"
)

// The version and the commit of a release. The linker sets them (scripts/release).
var release, commit string

// programVersion is the output of --version.
type programVersion struct {
	Version    *string `json:"version"` // the version of a release; null for any other build
	APIVersion string  `json:"apiVersion"`
	Engine     string  `json:"engine"`
	Revision   *string `json:"revision"` // null for a build without version control information, such as a build by `go run`
	Modified   bool    `json:"modified"` // whether the build contains uncommitted changes
	Go         string  `json:"go"`
	Platform   string  `json:"platform"`
}

func versionOf(build *debug.BuildInfo, engine string) programVersion {
	v := programVersion{APIVersion: fault.Version, Engine: engine, Go: build.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = &s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	if release != "" {
		v.Version, v.Revision = &release, &commit
	}
	return v
}

func (v programVersion) String() string {
	revision, version := "unknown: the build has no version control", "none: this is not a release"
	if v.Version != nil {
		version = *v.Version
	}
	if v.Revision != nil {
		revision = *v.Revision
	}
	if v.Modified {
		revision += ", with changes"
	}
	return fmt.Sprintf("version      %s\ncommit       %s\nengine       %s\nAPI version  %s\nbuilt with   %s for %s",
		version, revision, v.Engine, v.APIVersion, v.Go, v.Platform)
}

// versionCommand returns the command `workspace version`. It also adds a flag --version that does
// the same to the root command.
func versionCommand(t *terminal.Terminal, root *cobra.Command) *cobra.Command {
	show := func(ctx context.Context) error {
		build, ok := debug.ReadBuildInfo()
		if !ok {
			build = &debug.BuildInfo{}
		}
		v := versionOf(build, localdb.Describe(ctx))
		return t.Print(v, "%s", v)
	}
	versionFlag := root.Flags().Bool("version", false, "print the version of this program, its engine and the API")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *versionFlag {
			return show(cmd.Context())
		}
		return cmd.Help()
	}
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program, its engine and the API", Args: terminal.RequireArgs(), Example: "  workspace version --json",
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd.Context()) },
	}
}
