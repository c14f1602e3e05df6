package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/localdb"
)

func (r *release) writeNotes(ctx context.Context, chosen []string) error {
	goVersion, err := output(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	_, engineVersion := localdb.PackageFor(platforms[0])
	var b strings.Builder
	fmt.Fprintf(&b, "# Company Growth Workspace %s\n\nCommit %s, API version %s, built with %s. The local engine is Dynoxide %s.\n\n",
		r.version, r.commit, fault.Version, strings.TrimSpace(goVersion), engineVersion)
	b.WriteString("| File | Size | What it is |\n|---|---|---|\n")
	for _, f := range r.files {
		info, err := os.Stat(filepath.Join(r.out, f.name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, formatSize(info.Size()), f.description)
	}
	var platformsWithoutEngine []string
	for _, p := range chosen {
		if pinned, _ := localdb.PackageFor(p); pinned.Integrity == "" {
			platformsWithoutEngine = append(platformsWithoutEngine, p)
		}
	}
	b.WriteString("\nDownload the archive of your platform, `" + sumsName + "` and `install.sh`, run `sh install.sh ARCHIVE`, and then the command\n" +
		"that it prints. On Windows, unpack the archive and run `workspace serve`. Only " + platforms[0] + " is tested; the others are built from the same\nsources.")
	if len(platformsWithoutEngine) > 0 {
		fmt.Fprintf(&b, " There is no engine for %s: `workspace serve` there installs one with npm, or uses\nDynamoDB Local with Java 17 and Maven.",
			strings.Join(platformsWithoutEngine, ", "))
	}
	fmt.Fprintf(&b, "\n\nmacOS and Windows ask before they start a program that was downloaded and has no certificate of theirs.\n\n"+
		"Check a download with `sha256sum --check --ignore-missing %s`. If there is a `%s.sig`, check it with the\n"+
		"project's public key:\n\n    ssh-keygen -Y verify -f allowed_signers -I release -n %s -s %s.sig <%s\n\n"+
		"`THIRD-PARTY.txt` in each archive has the licences of the modules that the program is linked with, and\n"+
		"`dynoxide-LICENSE.txt` that of the engine.\n", sumsName, sumsName, signatureNamespace, sumsName, sumsName)
	return r.write("RELEASE.md", "these notes", []byte(b.String()))
}
