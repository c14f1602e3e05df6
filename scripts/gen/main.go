// Command gen writes the files that are made from the declared operations, or checks that they are what would be
// written:
//
//	go run ./scripts/gen
//	go run ./scripts/gen -check
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"growthworkspace/functions"
	"growthworkspace/shared/openapi"
)

// generated are the files, and what makes each. A path is one from the repository's root.
var generated = []struct {
	path string
	make func() ([]byte, error)
}{
	{"functions/openapi/openapi.json", document},
	{"README.md", readme},
}

func main() {
	check := flag.Bool("check", false, "write nothing; fail when a file is not what would be written")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./scripts/gen [-check]\n\nRun it in the repository's root.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("there is no go.mod here: run it in the repository's root")
	}
	var stale []error
	for _, file := range generated {
		want, err := file.make()
		if err != nil {
			return err
		}
		have, err := os.ReadFile(file.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		switch {
		case bytes.Equal(have, want):
		case check:
			stale = append(stale, fmt.Errorf("%s is not what the declarations say: run go run ./scripts/gen", file.path))
		default:
			if err := os.WriteFile(file.path, want, 0o644); err != nil {
				return err
			}
			fmt.Println("wrote", file.path)
		}
	}
	return errors.Join(stale...)
}

func document() ([]byte, error) {
	text, err := os.ReadFile("functions/openapi/source.json")
	if err != nil {
		return nil, err
	}
	source, err := openapi.ParseSource(text)
	if err != nil {
		return nil, err
	}
	return openapi.Build(functions.Operations(nil), source)
}
