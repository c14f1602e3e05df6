// Command gen writes every generated file in the repository: the OpenAPI document, the table of
// operations in the documentation, the MCP tool snapshots, the agent skills, llms.txt, the sample
// events, the Go client, template.yaml and the settings of the CDK construct. It adds an example to
// the fixture company for each record type that the company lacks. Run it from the repository's
// root:
//
//	go run ./scripts/gen               writes the files that are out of date
//	go run ./scripts/gen -check        writes nothing, and fails when a file is out of date
//	go run ./scripts/gen -roots FILE   refreshes the embedded TLS root certificates from a PEM file
//	go run ./scripts/gen -zones        refreshes the names of time zones from the installed Go
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail when a file is out of date")
	roots := flag.String("roots", "", "refresh "+rootsFile+" from this `file` of PEM certificates, such as /etc/ssl/certs/ca-certificates.crt")
	zones := flag.Bool("zones", false, "refresh "+zonesFile+" from the installed Go")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./scripts/gen [-check | -roots FILE | -zones]\n\nRun it in the repository's root.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || *check && (*roots != "" || *zones) || *roots != "" && *zones {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*check, *roots, *zones); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool, roots string, zones bool) error {
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("there is no go.mod here: run it in the repository's root")
	}
	if zones {
		return refreshZones(zonesFile)
	}
	if roots != "" {
		return refreshRoots(roots, rootsFile, time.Now())
	}
	all, err := generatedFiles()
	if err != nil {
		return err
	}
	var stale []error
	again := false
	for _, file := range all {
		have, err := os.ReadFile(file.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		switch {
		case err == nil == (file.text != nil) && bytes.Equal(have, file.text):
		case check:
			stale = append(stale, fmt.Errorf("%s is out of date: run go run ./scripts/gen", file.path))
		default:
			if err := file.write(); err != nil {
				return err
			}
			again = again || file.path == scopesFile
		}
	}
	if again { // this program embeds the old file, whose types the other files contain
		next := exec.Command("go", "run", "./scripts/gen")
		next.Stdout, next.Stderr = os.Stdout, os.Stderr
		return next.Run()
	}
	return errors.Join(stale...)
}
