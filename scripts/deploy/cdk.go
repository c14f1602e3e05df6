package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	d.announce("building the functions for " + arch)
	if err := d.command(ctx, d.root, []string{"GOARCH=" + goarch[arch]}, "bash", "scripts/build"); err != nil {
		return fmt.Errorf("the functions could not be built, and nothing was deployed: %w", err)
	}
	d.announce("building the CDK app")
	// With -buildvcs=false, a commit does not change the app, so go build does not link it again.
	if err := d.command(ctx, d.root, nil, "go", "build", "-trimpath", "-buildvcs=false", "-o", d.appPath(), "./infra/cdk"); err != nil {
		return fmt.Errorf("the CDK app could not be built, and nothing was deployed: %w", err)
	}
	return d.installCDK(ctx)
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

// appPath returns the path of the CDK app, which stays in the folder of the builds for the next
// deploy. scripts/build removes unknown files from this folder, but not those whose names begin
// with a dot.
func (d *deployer) appPath() string { return filepath.Join(d.root, "dist", ".cdk-app") }

func (d *deployer) cdkFolder() string { return filepath.Join(d.cache, "aws-cdk-"+cdkVersion) }

// installCDK installs the CDK's command line program into a temporary folder and then renames the
// folder, so that an interrupted installation is never used.
func (d *deployer) installCDK(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the CDK's command line could not be installed, and nothing was changed: check the network and npm's registry: %w", err)
		}
	}()
	final := d.cdkFolder()
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	d.announce("installing the CDK's command line program " + cdkVersion)
	if err := os.MkdirAll(d.cache, 0o755); err != nil {
		return err
	}
	tempDir, err := os.MkdirTemp(d.cache, ".installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tempDir)
	if err := d.command(ctx, tempDir, nil, "npm", "install", "--prefix", tempDir, "--no-save", "--no-audit", "--no-fund",
		"--ignore-scripts", "--loglevel=error", "aws-cdk@"+cdkVersion); err != nil {
		return err
	}
	if err := os.Rename(tempDir, final); err != nil {
		if _, missing := os.Stat(final); missing != nil {
			return err
		}
		// A concurrent process has installed it in the meantime.
	}
	return nil
}

// runCDK runs the CDK's command line program on the cloud assembly.
func (d *deployer) runCDK(ctx context.Context, args ...string) error {
	name := args[0]
	args = append([]string{"--ci", "--no-notices"}, args...)
	if name != "bootstrap" {
		args = append(args, "--app", d.assemblyDir())
	}
	if d.profile != "" {
		args = append(args, "--profile", d.profile)
	}
	env := []string{"AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED=true"} // checkTools has checked the version
	if d.account != nil {
		env = append(env, "AWS_REGION="+d.account.config.Region, "AWS_DEFAULT_REGION="+d.account.config.Region)
	}
	out := &cdkOutput{to: d.errOut, stack: d.stack}
	defer out.flush()
	// Run the program in the temporary folder, where it finds no cdk.json. Otherwise, it would run
	// the app that cdk.json names.
	if err := d.commandTo(ctx, out, d.tmp, env, filepath.Join(d.cdkFolder(), "node_modules", ".bin", "cdk"), args...); err != nil {
		return fmt.Errorf("cdk %s: %w", name, err)
	}
	return nil
}

// cdkOutput passes on the lines of the CDK's output, except noise, durations, and the stack's
// outputs and ARN. printOutputs prints the outputs that a reader needs.
type cdkOutput struct {
	to    io.Writer
	stack string
	part  []byte // the beginning of a line that is not complete yet
}

func (o *cdkOutput) Write(text []byte) (int, error) {
	o.part = append(o.part, text...)
	for {
		n := bytes.IndexByte(o.part, '\n')
		if n < 0 {
			return len(text), nil
		}
		line := o.part[:n+1]
		o.part = o.part[n+1:]
		if o.drops(strings.TrimSpace(string(line))) {
			continue
		}
		if _, err := o.to.Write(line); err != nil {
			return 0, err
		}
	}
}

func (o *cdkOutput) drops(line string) bool {
	switch line {
	case "", "Outputs:", "Stack ARN:", "✅  " + o.stack:
		return true
	case "Runtime process exited abnormally: waitid: no child processes": // a harmless race in the CDK's runtime for Go
		return true
	}
	for _, prefix := range []string{
		o.stack + ".", // an output
		o.stack + ": start: ", o.stack + ": success: ", o.stack + ": creating ", o.stack + ": deploying...",
		"✨", "Changeset arn:", "arn:",
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return strings.Contains(line, "feature flags are not configured") // for later versions of the CDK
}

// flush adds a line break after the last line if it is missing.
func (o *cdkOutput) flush() {
	if len(o.part) > 0 {
		_, _ = o.Write([]byte("\n"))
	}
}

// assemblyDir returns the folder of the CDK's cloud assembly, which contains the stack's template
// and the files that the CDK uploads with it.
func (d *deployer) assemblyDir() string {
	if d.synthDir != "" {
		return d.synthDir
	}
	return filepath.Join(d.tmp, "cloud")
}

// runApp runs the CDK app, which writes the cloud assembly. It runs the app as the CDK's command
// line program does, but without that program, which takes seconds to start. Findings of cdk-nag do
// not make runApp fail: the CDK's command line program, which deploys the assembly, reports them
// first.
//
// Only --synth validates the template against the CDK's default rules, which takes most of the time
// of a synthesis. The template depends on nothing but the sources, so it need not be validated at
// each deploy.
func (d *deployer) runApp(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(d.root, "infra", "cdk", "cdk.json"))
	if err != nil {
		return err
	}
	settings := struct{ Context map[string]any }{Context: map[string]any{}}
	if err := json.Unmarshal(text, &settings); err != nil {
		return fmt.Errorf("infra/cdk/cdk.json: %w", err)
	}
	maps.Copy(settings.Context, map[string]any{
		"stack": d.stack, "dist": filepath.Join(d.root, "dist"),
		// The CDK's command line program adds these.
		"aws:cdk:enable-path-metadata": true, "aws:cdk:enable-asset-metadata": true, "@aws-cdk/core:failSynthOnValidationErrors": false,
	})
	if text, err = json.Marshal(settings.Context); err != nil {
		return err
	}
	env := []string{
		"CDK_OUTDIR=" + d.assemblyDir(), "CDK_CONTEXT_JSON=" + string(text),
		// checkTools has checked the version of Node.js.
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20", "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1", "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1",
	}
	if d.synthDir == "" {
		env = append(env, "CDK_VALIDATION=false")
	}
	d.announce("synthesising the template")
	out := &cdkOutput{to: d.errOut, stack: d.stack}
	defer out.flush()
	return d.commandTo(ctx, out, d.tmp, env, d.appPath())
}

// synthesiseTemplate writes the cloud assembly of the new version and returns its template.
func (d *deployer) synthesiseTemplate(ctx context.Context) (template, error) {
	if err := d.runApp(ctx); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(d.assemblyDir(), d.stack+".template.json"))
	if err != nil {
		return nil, fmt.Errorf("the CDK wrote no template: %w", err)
	}
	return parseTemplate(text)
}

// writeDestroyAssembly writes a cloud assembly that only names the stack and the role with which
// the CDK changes it. That is enough to delete the stack.
func (d *deployer) writeDestroyAssembly() error {
	role := fmt.Sprintf("arn:${AWS::Partition}:iam::%[1]s:role/cdk-hnb659fds-deploy-role-%[1]s-%[2]s", d.account.id, d.account.config.Region)
	file := d.stack + ".template.json"
	manifest, err := json.Marshal(map[string]any{"version": "36.0.0", "artifacts": map[string]any{d.stack: map[string]any{
		"type": "aws:cloudformation:stack", "environment": "aws://" + d.account.id + "/" + d.account.config.Region,
		"properties": map[string]any{"templateFile": file, "assumeRoleArn": role},
	}}})
	if err == nil {
		err = os.Mkdir(d.assemblyDir(), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(d.assemblyDir(), "manifest.json"), manifest, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(d.assemblyDir(), file), []byte("{}"), 0o600)
	}
	return err
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

// command runs a program and shows its output.
func (d *deployer) command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	return d.commandTo(ctx, d.errOut, dir, env, name, args...)
}

// commandTo runs a program and writes its output to out. When ctx is done, it sends SIGINT to the
// program and gives it some time to exit.
func (d *deployer) commandTo(ctx context.Context, out io.Writer, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
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
