package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
)

// programVersion is the output of --version.
type programVersion struct {
	APIVersion string  `json:"apiVersion"`
	Revision   *string `json:"revision"` // null for a build without version control information, such as one by `go run`
	Modified   bool    `json:"modified"` // whether the build contains uncommitted changes
	Go         string  `json:"go"`
}

func versionOf(build *debug.BuildInfo) programVersion {
	v := programVersion{APIVersion: fault.Version, Go: build.GoVersion}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = &s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v programVersion) String() string {
	revision := "unknown: the build has no version control"
	if v.Revision != nil {
		revision = *v.Revision
	}
	if v.Modified {
		revision += ", with changes"
	}
	return fmt.Sprintf("API version  %s\nrevision     %s\nbuilt with   %s", v.APIVersion, revision, v.Go)
}

// addVersion adds the command version, and the flag --version, which does the same.
func addVersion(t *terminal.Terminal, root *cobra.Command) {
	show := func() error {
		build, ok := debug.ReadBuildInfo()
		if !ok {
			build = &debug.BuildInfo{}
		}
		v := versionOf(build)
		return t.Print(v, "%s", v)
	}
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version of the API and of this program", Args: terminal.RequireArgs(), Example: "  workspace version --json",
		RunE: func(*cobra.Command, []string) error { return show() },
	})
	asked := root.Flags().Bool("version", false, "print the version of the API and of this program")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			return show()
		}
		return cmd.Help()
	}
}
