package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"growthworkspace/infra"
	"growthworkspace/shared/filelock"
)

// prepare builds the Lambda functions and the CDK app. It installs the CDK's command line program
// if necessary. The folder with the builds stays locked until the program exits, because the CDK
// and the checks read it.
func (d *deployer) prepare(ctx context.Context) error {
	goarch := map[string]string{"arm64": "arm64", "x86_64": "amd64"}
	arch, _ := d.parameters.lookup(infra.ParamArchitecture)
	if arch == "" {
		arch = "arm64" // the architecture of a new stack
	}
	if err := d.lockBuilds(); err != nil {
		return err
	}
	if err := d.command(ctx, d.root, []string{"GOARCH=" + goarch[arch]}, "bash", "scripts/build"); err != nil {
		return fmt.Errorf("the functions could not be built, and nothing was deployed: %w", err)
	}
	if err := d.command(ctx, d.root, nil, "go", "build", "-trimpath", "-o", filepath.Join(d.tmp, "app"), "./infra/cdk"); err != nil {
		return fmt.Errorf("the CDK app could not be built, and nothing was deployed: %w", err)
	}
	if err := d.installCDK(ctx); err != nil {
		return fmt.Errorf("the CDK's command line could not be installed, and nothing was deployed: check the network and npm's registry: %w", err)
	}
	return nil
}

// lockBuilds locks the folder with the builds. Without the lock, another run in the same clone
// could replace the builds with builds for a different architecture while they are being deployed.
func (d *deployer) lockBuilds() (err error) {
	dist := filepath.Join(d.root, "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return fmt.Errorf("create the folder of the builds: %w", err)
	}
	if d.lock, err = filelock.Try(filepath.Join(dist, ".lock")); err != nil {
		return fmt.Errorf("lock the folder of the builds: %w", err)
	}
	if d.lock == nil {
		return fmt.Errorf("nothing was done: another scripts/deploy builds in %s: wait until it has ended, or use another clone", dist)
	}
	return nil
}

func (d *deployer) cdkFolder() string { return filepath.Join(d.cache, "aws-cdk-"+cdkVersion) }

// installCDK installs the CDK's command line program into a temporary folder and then renames the
// folder, so that an interrupted installation is never used.
func (d *deployer) installCDK(ctx context.Context) error {
	final := d.cdkFolder()
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	if err := os.MkdirAll(d.cache, 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(d.cache, ".installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := d.command(ctx, part, nil, "npm", "install", "--prefix", part, "--no-save", "--no-audit", "--no-fund",
		"--ignore-scripts", "--loglevel=error", "aws-cdk@"+cdkVersion); err != nil {
		return err
	}
	if err := os.Rename(part, final); err != nil {
		if _, missing := os.Stat(final); missing != nil {
			return err
		}
		// A concurrent process has installed it in the meantime.
	}
	return nil
}

// cdk runs the CDK's command line program with the app.
func (d *deployer) cdk(ctx context.Context, args ...string) error {
	name, dir := args[0], filepath.Join(d.root, "infra", "cdk")
	args = append([]string{"--ci", "--no-notices"}, args...)
	switch name {
	case "bootstrap":
		dir = d.tmp // leave the folder of the app, where bootstrap would run the app
	case "deploy", "import":
		args = append(args, "--app", d.cloud())
	default:
		args = append(args, "--app", filepath.Join(d.tmp, "app"), "--context", "stack="+d.stack, "--context", "dist="+filepath.Join(d.root, "dist"))
		if d.synthDir == "" {
			args = append(args, "--output", d.cloud())
		}
	}
	if d.profile != "" {
		args = append(args, "--profile", d.profile)
	}
	var env []string
	if d.account != nil {
		env = append(env, "AWS_REGION="+d.account.config.Region, "AWS_DEFAULT_REGION="+d.account.config.Region)
	}
	if err := d.command(ctx, dir, env, filepath.Join(d.cdkFolder(), "node_modules", ".bin", "cdk"), args...); err != nil {
		return fmt.Errorf("cdk %s: %w", name, err)
	}
	return nil
}

// cloud returns the folder of the CDK's cloud assembly, which contains the stack's template and the
// files that the CDK uploads with it.
func (d *deployer) cloud() string { return filepath.Join(d.tmp, "cloud") }

// synthesiseTemplate writes the cloud assembly of the new version and returns its template.
func (d *deployer) synthesiseTemplate(ctx context.Context) (template, error) {
	if err := d.cdk(ctx, "synth", d.stack, "--quiet"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(d.cloud(), d.stack+".template.json"))
	if err != nil {
		return nil, fmt.Errorf("the CDK wrote no template: %w", err)
	}
	return parseTemplate(text)
}

// useTemplate replaces the template in the cloud assembly. The CDK uploads a template under its
// digest, so useTemplate also updates the digest.
func (d *deployer) useTemplate(t template) error {
	file, text := d.stack+".template.json", t.text()
	manifest := filepath.Join(d.cloud(), d.stack+".assets.json")
	assets, err := os.ReadFile(manifest)
	if err != nil {
		return fmt.Errorf("the CDK wrote no list of what it uploads: %w", err)
	}
	var list struct {
		Files map[string]struct{ Source struct{ Path string } }
	}
	if err := json.Unmarshal(assets, &list); err != nil {
		return fmt.Errorf("the CDK's list of what it uploads: %w", err)
	}
	sum := sha256.Sum256(text)
	for digest, f := range list.Files {
		if f.Source.Path != file {
			continue
		}
		for _, name := range []string{manifest, filepath.Join(d.cloud(), "manifest.json")} {
			before, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(name, bytes.ReplaceAll(before, []byte(digest), []byte(hex.EncodeToString(sum[:]))), 0o600); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(d.cloud(), file), text, 0o600)
	}
	return fmt.Errorf("the CDK's list of what it uploads does not have %s", file)
}

// command runs a program and shows its output. When ctx is done, it sends SIGINT to the program and
// gives it some time to exit.
func (d *deployer) command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, d.errOut, d.errOut
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s was interrupted", filepath.Base(name))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}
