package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The parts of template.yaml that tell SAM to build the functions. A release contains built
// functions, so writeLambda changes these parts.
var (
	builtBySAM = regexp.MustCompile(`(?m)^    Metadata:\n      BuildMethod: .*\n      BuildProperties:\n        TrimGoPath: .*\n`)
	codeURI    = regexp.MustCompile(`CodeUri: functions/([a-z]+)/lambda/`)
)

// writeLambda writes an archive that contains the zip file of each function and a template that
// refers to these files.
func (r *release) writeLambda(ctx context.Context) error {
	report, err := outputIn(ctx, "", append([]string{"GOARCH=arm64"}, buildVariables...), "./scripts/build")
	if err != nil {
		return err
	}
	template, err := os.ReadFile("template.yaml")
	if err != nil {
		return err
	}
	text := packagedTemplate(string(template))
	zips, err := filepath.Glob("dist/*.zip")
	if err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	files := []entry{{name: "LICENSE", text: licence}, {name: "template.yaml", text: []byte(text)}, {name: "digests.txt", text: []byte(report)}}
	var programs []string
	for _, path := range zips {
		name := filepath.Base(path)
		if !strings.Contains(text, "CodeUri: "+name+"\n") {
			return fmt.Errorf("the template has no function for %s", name)
		}
		packed, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, entry{name: name, text: packed})
		programs = append(programs, filepath.Join("dist", strings.TrimSuffix(name, ".zip"), "bootstrap"))
	}
	if n := strings.Count(text, "CodeUri: "); n != len(zips) {
		return fmt.Errorf("the template has %d functions, and %d were built", n, len(zips))
	}
	name := "lambda-" + r.version + "-arm64"
	archive, err := zipArchive(name, files, r.time)
	if err != nil {
		return err
	}
	if err := r.write(name+".zip", "the functions for Lambda, with a template for `sam deploy`", archive); err != nil {
		return err
	}
	bill, err := r.sbom(ctx, "lambda", "linux/arm64", false, programs...)
	if err != nil {
		return err
	}
	return r.write(name+".cdx.json", "its bill of materials (CycloneDX)", bill)
}

// packagedTemplate returns the template with references to the functions' zip files in the same
// folder.
func packagedTemplate(template string) string {
	return codeURI.ReplaceAllString(builtBySAM.ReplaceAllString(template, ""), "CodeUri: $1.zip")
}
