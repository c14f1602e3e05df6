package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/localdb"
)

var commitTime = time.Date(2026, 8, 11, 12, 0, 0, 0, time.UTC)

// Ensure the bytes of an archive depend only on its files and the time of the commit, and programs
// in it are executable.
func TestArchives(t *testing.T) {
	t.Parallel()
	files := []entry{{name: "LICENSE", text: []byte("text")}, {name: "workspace", text: bytes.Repeat([]byte("program"), 1000), mode: 0o755}}
	for name, archive := range map[string]func(string, []entry, time.Time) ([]byte, error){"tar.gz": tarGz, "zip": zipArchive} {
		first, err1 := archive("workspace-v1", files, commitTime)
		second, err2 := archive("workspace-v1", files, commitTime)
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: two archives of the same files differ, or %v", name, err)
		}
		got := map[string]os.FileMode{}
		if name == "zip" {
			r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.File {
				got[f.Name] = f.Mode()
			}
		} else {
			for _, f := range untar(t, gunzip(t, first)) {
				got[f.name] = os.FileMode(f.mode)
			}
		}
		if len(got) != 2 || got["workspace-v1/LICENSE"] != 0o644 || got["workspace-v1/workspace"] != 0o755 {
			t.Errorf("%s: %v, want two files with their modes", name, got)
		}
	}
}

func gunzip(t *testing.T, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func untar(t *testing.T, text []byte) (files []entry) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(commitTime) {
			t.Errorf("%s has the time %s, want that of the commit", h.Name, h.ModTime)
		}
		files = append(files, entry{h.Name, content, h.Mode, h.Uid})
	}
}

// Ensure every reference in an image contains the digest and the size of its blob. The image must
// contain what the program needs: the engine, certificates, and a volume that the program's user
// owns. Every folder that the program writes to must be in that volume.
func TestImage(t *testing.T) {
	t.Parallel()
	r := &release{version: "v1.2.3", commit: "abc", time: commitTime}
	text, err := r.image("linux/amd64", []byte("workspace"), []byte("dynoxide"), []byte("notices"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.image("linux/amd64", []byte("workspace"), []byte("dynoxide"), []byte("notices"))
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("two images of the same programs differ, or %v", err)
	}
	blobs := map[string][]byte{}
	for _, f := range untar(t, text) {
		blobs[f.name] = f.text
		if sum, ok := strings.CutPrefix(f.name, "blobs/sha256/"); ok {
			if got := sha256.Sum256(f.text); hex.EncodeToString(got[:]) != sum {
				t.Errorf("%s has another digest", f.name)
			}
		}
	}
	follow := func(d descriptor, v any) []byte {
		t.Helper()
		blob := blobs["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if len(blob) != d.Size {
			t.Errorf("%s: %d bytes, want %d", d.Digest, len(blob), d.Size)
		}
		if err := json.Unmarshal(blob, v); v != nil && err != nil {
			t.Fatal(err)
		}
		return blob
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(blobs["index.json"], &index); err != nil || len(index.Manifests) != 1 || index.Manifests[0].Platform["architecture"] != "amd64" {
		t.Fatalf("the index: %v: %s", err, blobs["index.json"])
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	follow(index.Manifests[0], &manifest)
	var config struct {
		Config struct {
			User    string
			Env     []string
			Cmd     []string
			Volumes map[string]any
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	follow(manifest.Config, &config)
	layer := gunzip(t, follow(manifest.Layers[0], nil))
	if len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != digest(layer) {
		t.Errorf("the layer is %s, and the configuration has %v", digest(layer), config.RootFS.DiffIDs)
	}
	files := map[string]entry{}
	for _, f := range untar(t, layer) {
		files[f.name] = f
	}
	if files["workspace"].mode != 0o755 || files["dynoxide"].mode != 0o755 || files["data/"].mode != 0o700 || files["data/"].user != imageUser {
		t.Errorf("the files are %v", files)
	}
	if _, ok := config.Config.Volumes["/data"]; !ok || config.Config.User != "65532:65532" {
		t.Errorf("volumes %v of user %s", config.Config.Volumes, config.Config.User)
	}
	for _, v := range config.Config.Env {
		if name, value, _ := strings.Cut(v, "="); name != "PATH" && !strings.HasPrefix(value, "/data") {
			t.Errorf("%s is outside of the volume", v)
		}
	}
	pool := x509.NewCertPool()
	roots := files["etc/ssl/certs/ca-certificates.crt"].text
	if n := bytes.Count(roots, []byte("BEGIN CERTIFICATE")); !pool.AppendCertsFromPEM(roots) || n < 100 {
		t.Errorf("%d certificates, want more than 100", n)
	}
	if block, _ := pem.Decode(roots); block == nil {
		t.Error("no certificates")
	}
}

// Ensure an engine is accepted only if the package and the binary match their pinned digests.
func TestUnpackEngine(t *testing.T) {
	t.Parallel()
	packed, err := tarGz("package", []entry{{name: "package.json", text: []byte("{}")}, {name: "dynoxide", text: []byte("binary"), mode: 0o755}}, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	whole, binary := sha512.Sum512(packed), sha256.Sum256([]byte("binary"))
	pinned := localdb.Package{Name: "@dynoxide/x", Integrity: "sha512-" + base64.StdEncoding.EncodeToString(whole[:]), SHA256: hex.EncodeToString(binary[:])}
	if got, err := unpackEngine(packed, pinned, "linux"); err != nil || string(got) != "binary" {
		t.Errorf("%q, %v; want the binary", got, err)
	}
	for want, spoil := range map[string]func(*localdb.Package, *[]byte, *string){
		"has the digest sha512-":                      func(_ *localdb.Package, packed *[]byte, _ *string) { *packed = append(*packed, 0) },
		"package/dynoxide of @dynoxide/x has the dig": func(p *localdb.Package, _ *[]byte, _ *string) { p.SHA256 = strings.Repeat("0", 64) },
		"has no package/dynoxide.exe":                 func(_ *localdb.Package, _ *[]byte, goos *string) { *goos = "windows" },
	} {
		p, text, goos := pinned, bytes.Clone(packed), "linux"
		spoil(&p, &text, &goos)
		if _, err := unpackEngine(text, p, goos); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Ensure the template of a release refers to built functions, and to no function that SAM must
// build.
func TestPackagedTemplate(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("../../functions/*/lambda")
	if err != nil {
		t.Fatal(err)
	}
	text := packagedTemplate(string(template))
	for _, f := range folders {
		if want := "CodeUri: " + filepath.Base(filepath.Dir(f)) + ".zip\n"; strings.Count(text, want) != 1 {
			t.Errorf("%q is not in the template", want)
		}
	}
	if strings.Contains(text, "BuildMethod") || strings.Count(text, "CodeUri:") != len(folders) {
		t.Error("the template still builds functions")
	}
}

// Ensure the public key verifies a signature only for the files that were signed.
func TestSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := &release{out: filepath.Join(dir, "out"), signingKey: key, log: io.Discard}
	if err := errors.Join(os.Mkdir(r.out, 0o755), r.write("b", "", []byte("B")), r.write("a", "", []byte("A")), r.writeSums(t.Context())); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	want := "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd  a\ndf7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c  b\n"
	if err != nil || string(sums) != want {
		t.Errorf("%s, %v; want %s", sums, err, want)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(dir, "allowed_signers")
	if err := os.WriteFile(signers, append([]byte("release "), public...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{{string(sums), true}, {strings.Replace(string(sums), "  a", "  c", 1), false}} {
		verify := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "release", "-n", signatureNamespace, "-s", filepath.Join(r.out, sumsName+".sig"))
		verify.Stdin = strings.NewReader(c.text)
		if out, err := verify.CombinedOutput(); (err == nil) != c.ok {
			t.Errorf("verified %v, want %v: %s", err == nil, c.ok, out)
		}
	}
	r.signingKey = filepath.Join(dir, "missing")
	if err := r.writeSums(t.Context()); err == nil || !strings.Contains(err.Error(), r.signingKey) {
		t.Errorf("error %v, want one that names the key", err)
	}
}

// Ensure the installer unpacks an undamaged archive for this machine, and fails for any other
// archive with an error that says what to do.
func TestInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	uname := "#!/bin/sh\ncase $1 in -s) echo Linux ;; *) echo x86_64 ;; esac\n" // the machine that the test pretends to run on
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "uname"), []byte(uname), 0o755)); err != nil {
		t.Fatal(err)
	}
	r := &release{out: dir, log: io.Discard}
	for _, name := range []string{"workspace-v1-linux-amd64", "workspace-v1-linux-amd64-no-engine", "workspace-v1-linux-arm64-no-engine", "workspace-v1-darwin-amd64-no-engine"} {
		packed, err := tarGz(name, []entry{{name: "workspace", text: []byte(name), mode: 0o755}}, commitTime)
		if err := errors.Join(err, r.write(name+".tar.gz", "", packed)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.write("install.sh", "", installer); err != nil {
		t.Fatal(err)
	}
	var sums []string
	for _, f := range r.files {
		text, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		sums = append(sums, hex.EncodeToString(sum[:])+"  "+f.name+"\n")
	}
	all := strings.Join(sums, "")
	for _, c := range []struct{ name, sums, want string }{
		{"workspace-v1-linux-amd64.tar.gz", all, "Start it with: " + dir + "/to/workspace-v1-linux-amd64/workspace serve"},
		{"workspace-v1-linux-amd64-no-engine.tar.gz", all, "Start it with: " + dir + "/to/workspace-v1-linux-amd64-no-engine/workspace serve"},
		{"workspace-v1-linux-arm64-no-engine.tar.gz", all, "is not for this machine, which is linux/amd64: take the archive whose name has linux-amd64"},
		{"workspace-v1-darwin-amd64-no-engine.tar.gz", all, "is not for this machine, which is linux/amd64"},
		{"x-linux-amd64.tar.gz", all, "x-linux-amd64.tar.gz is not a name of a release: give the archive the name back that SHA256SUMS lists, such as workspace-v1.0.0-linux-amd64.tar.gz"},
		{"workspace-v1-linux-amd64 (1).tar.gz", all, "is not a name of a release"},
		{"workspace-v2-linux-amd64.tar.gz", all, "there is no file"},
		{"workspace-v1-linux-amd64.tar.gz", "", "SHA256SUMS does not name"},
		{"workspace-v1-linux-amd64.tar.gz", strings.Repeat("0", 64) + "  workspace-v1-linux-amd64.tar.gz\n", "is damaged: its SHA-256 is "},
	} {
		if err := os.WriteFile(filepath.Join(dir, sumsName), []byte(c.sums), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", filepath.Join(dir, "install.sh"), filepath.Join(dir, c.name), filepath.Join(dir, "to"))
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) || (err == nil) != strings.HasPrefix(c.want, "Start") {
			t.Errorf("%s: %v: %s; want %q", c.name, err, out, c.want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "to", "workspace-v1-linux-amd64", "workspace")); err != nil || string(text) != "workspace-v1-linux-amd64" {
		t.Errorf("unpacked %q, %v", text, err)
	}
}

// Ensure wrong arguments and uncommitted changes cause errors that say what to do.
func TestErrUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the version must be like v1.2.3"},
		{[]string{"1.2.3"}, "the version must be like v1.2.3"},
		{[]string{"v1.2.3", "--platforms", "plan9/amd64"}, `"plan9/amd64" is not one of linux/amd64`},
		{[]string{"v1.2.3", "more"}, `unknown argument "more"`},
	} {
		if code, err := run(t.Context(), c.args, io.Discard); code != 2 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %d, %v; want 2 and %q", c.args, code, err, c.want)
		}
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.WriteFile("new", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, err := run(t.Context(), []string{"v1.2.3"}, io.Discard); code != 1 || err == nil || !strings.Contains(err.Error(), "commit them first\n?? new") {
		t.Errorf("%d, %v; want 1 and the file", code, err)
	}
}
