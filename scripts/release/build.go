package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"growthworkspace/shared/localdb"
)

// buildVariables sets the environment variables that could change the bytes of a program.
var buildVariables = []string{"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0"}

// writePlatform writes the archive for a platform, its bill of materials and, if image is set, the
// image.
func (r *release) writePlatform(ctx context.Context, platform string, image bool) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	dynoxide, err := r.fetchEngine(ctx, platform)
	if err != nil {
		return err
	}
	program, err := r.build(ctx, platform, dynoxide != nil)
	if err != nil {
		return err
	}
	notices, err := r.notices(ctx, platform)
	if err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	name := "workspace-" + r.version + "-" + goos + "-" + goarch
	about := "the command line for " + platform
	files := []entry{
		{name: "LICENSE", text: licence},
		{name: "README.txt", text: []byte(r.readme(platform, dynoxide != nil))},
		{name: "THIRD-PARTY.txt", text: notices},
	}
	if dynoxide == nil {
		name += "-no-engine"
		about += ", without an engine: the registry has none to pin"
	} else {
		about += ", with the local engine"
		files = append(files, entry{name: localdb.BinaryName(goos), text: dynoxide, mode: 0o755}, entry{name: "dynoxide-LICENSE.txt", text: engineLicence})
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	files = append(files, entry{name: filepath.Base(program), text: text, mode: 0o755})
	archive, end := tarGz, ".tar.gz"
	if goos == "windows" {
		archive, end = zipArchive, ".zip"
	}
	packed, err := archive(name, files, r.time)
	if err != nil {
		return err
	}
	if platform != platforms[0] {
		about += "; not tested"
	}
	if err := r.write(name+end, about, packed); err != nil {
		return err
	}
	bill, err := r.sbom(ctx, "workspace", platform, dynoxide != nil, program)
	if err != nil {
		return err
	}
	if err := r.write("workspace-"+r.version+"-"+goos+"-"+goarch+".cdx.json", "its bill of materials (CycloneDX)", bill); err != nil {
		return err
	}
	if !image || goos != "linux" || dynoxide == nil {
		return nil
	}
	packed, err = r.image(platform, text, dynoxide, notices)
	if err != nil {
		return err
	}
	return r.write("workspace-"+r.version+"-image-"+goos+"-"+goarch+".tar", "the image for "+platform+" (OCI layout; docker load accepts it)", packed)
}

// build builds the command-line program and returns the path of the binary.
func (r *release) build(ctx context.Context, platform string, bundled bool) (string, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	program := filepath.Join(r.tmp, goos+"-"+goarch, "workspace")
	if goos == "windows" {
		program += ".exe"
	}
	ldflags := fmt.Sprintf("-s -w -X main.release=%s -X main.commit=%s", r.version, r.commit)
	if bundled {
		ldflags += " -X growthworkspace/shared/localdb.bundled=yes"
	}
	_, err := outputIn(ctx, "", append([]string{"GOOS=" + goos, "GOARCH=" + goarch}, buildVariables...),
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", program, "./scripts/workspace")
	return program, err
}

// readme returns the content of an archive's README.txt.
func (r *release) readme(platform string, bundled bool) string {
	start := "Start it with the engine next to it; nothing else is needed:"
	if !bundled {
		start = "This archive has no local engine, because the registry had none to pin for this platform. `serve`\n" +
			"installs one with npm (Node.js 22 or later), or DynamoDB Local with Java 17 and Maven:"
	}
	program := "./workspace"
	if strings.HasPrefix(platform, "windows/") {
		program = `.\workspace.exe`
	}
	return fmt.Sprintf(`Company Growth Workspace %s for %s

%s

    %s serve

Open the address of the studio that it prints. If the system reports that it cannot execute the
program, this archive is for another platform: take the one that is named after yours.

`, r.version, platform, start, program)
}
