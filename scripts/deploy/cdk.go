package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"growthworkspace/infra"
	"growthworkspace/shared/filelock"
	"growthworkspace/shared/localdb"
)

// cdkVersion is the version of the CDK's command line program. A newer major version of the program
// does not accept the CDK module in go.mod.
const cdkVersion = "2.1148.1"

// checkTools returns an error that lists all missing tools and how to install them.
func checkTools(ctx context.Context) error {
	var missing []error
	for _, tool := range [][2]string{
		{"go", "install Go 1.26 or later: https://go.dev/dl"},
		{"node", fmt.Sprintf("install Node.js %s or later: https://nodejs.org (the CDK runs on it)", localdb.NodeVersion)},
		{"npx", "install npm, which comes with Node.js: https://nodejs.org"},
		{"bash", "install bash (scripts/build is a bash script)"},
	} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			missing = append(missing, fmt.Errorf("%s is not on PATH: %s", tool[0], tool[1]))
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	return localdb.CheckNode(ctx, "node")
}

// synthesise builds the Lambda functions, runs the CDK app, and returns the template of the new
// version. With --from, it only copies what --synth has written. The folder with the builds stays locked until the program exits, because the CDK and the
// checks read it.
func (d *deployer) synthesise(ctx context.Context) (template, error) {
	if d.from != "" { // a copy, because a step may replace the template
		if err := os.CopyFS(d.assemblyDir(), os.DirFS(d.from)); err != nil {
			return nil, fmt.Errorf("copy what --synth has written: %w", err)
		}
		return d.readTemplate()
	}
	if err := d.lockBuilds(); err != nil {
		return nil, err
	}
	arch, _ := d.parameters.lookup(infra.ParamArchitecture)
	d.announce("building the functions for " + arch)
	goarch := map[string]string{"arm64": "arm64", "x86_64": "amd64"}[arch]
	if err := d.command(ctx, d.root, []string{"GOARCH=" + goarch}, "bash", "scripts/build"); err != nil {
		return nil, fmt.Errorf("the functions could not be built, and nothing was deployed: %w", err)
	}
	d.announce("synthesising the template")
	// In the folder of the app, the CDK finds cdk.json, which names the app and its context.
	err := d.runCDK(ctx, filepath.Join(d.root, "infra", "cdk"), "synth", d.stack, "--quiet", "--output", d.assemblyDir(),
		"--context", "stack="+d.stack, "--context", "dist="+filepath.Join(d.root, "dist"))
	if err != nil {
		return nil, fmt.Errorf("the template could not be synthesised, and nothing was deployed: %w", err)
	}
	return d.readTemplate()
}

// readTemplate reads the template of the stack in the cloud assembly.
func (d *deployer) readTemplate() (template, error) {
	text, err := os.ReadFile(filepath.Join(d.assemblyDir(), d.stack+".template.json"))
	if err != nil {
		return nil, fmt.Errorf("the CDK wrote no template of the stack %s: %w", d.stack, err)
	}
	return parseTemplate(text)
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

// announce prints what the program does in the next seconds or minutes.
func (d *deployer) announce(what string) { fmt.Fprintf(d.errOut, "%s...\n", what) }

// assemblyDir returns the folder of the CDK's cloud assembly, which contains the stack's template
// and the files that the CDK uploads with it.
func (d *deployer) assemblyDir() string {
	if d.synthDir != "" {
		return d.synthDir
	}
	return filepath.Join(d.tmp, "cloud")
}

// runCDK runs the CDK's command line program in a folder. npx downloads it once, and asks the registry
// no more.
func (d *deployer) runCDK(ctx context.Context, dir string, args ...string) error {
	name := args[0]
	args = append([]string{"--yes", "--prefer-offline", "--ignore-scripts", "--loglevel=error", "aws-cdk@" + cdkVersion, "--no-notices"}, args...)
	if d.profile != "" {
		args = append(args, "--profile", d.profile)
	}
	// checkTools has checked the version of Node.js, so nothing else has to warn about it.
	env := []string{"CDK_DISABLE_CLI_TELEMETRY=true", "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED=true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20",
		"JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1", "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1"}
	if d.account != nil {
		env = append(env, "AWS_REGION="+d.account.config.Region, "AWS_DEFAULT_REGION="+d.account.config.Region)
	}
	if d.synthDir == "" {
		// Only --synth validates the template against the CDK's rules, which takes most of the time.
		// The template depends on nothing but the sources, so it need not be validated at each deploy.
		env = append(env, "CDK_VALIDATION=false")
	}
	if err := d.command(ctx, dir, env, "npx", args...); err != nil {
		return fmt.Errorf("cdk %s: %w", name, err)
	}
	return nil
}

// runOnAssembly runs the CDK's command line program on the synthesised stack.
func (d *deployer) runOnAssembly(ctx context.Context, command string, args ...string) error {
	return d.runCDK(ctx, d.tmp, append([]string{command, d.stack, "--app", d.assemblyDir()}, args...)...)
}

// replaceTemplate replaces the template in the cloud assembly. The CDK uploads a template under its
// digest, so replaceTemplate also updates the digest.
func (d *deployer) replaceTemplate(t template) error {
	file, text := d.stack+".template.json", t.text()
	assetsPath := filepath.Join(d.assemblyDir(), d.stack+".assets.json")
	assets, err := os.ReadFile(assetsPath)
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
		for _, name := range []string{assetsPath, filepath.Join(d.assemblyDir(), "manifest.json")} {
			before, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(name, bytes.ReplaceAll(before, []byte(digest), []byte(hex.EncodeToString(sum[:]))), 0o600); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(d.assemblyDir(), file), text, 0o600)
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
