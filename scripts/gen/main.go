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
	"path/filepath"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/shared/openapi"
	"growthworkspace/shared/page"
)

// generated is a file that is made. A path is one from the repository's root.
type generated struct {
	path string
	text []byte // nil: the file must not be there
}

// files returns all that is made, in an order in which nothing comes before what it is made from.
func files() ([]generated, error) {
	document, err := document()
	if err != nil {
		return nil, err
	}
	readme, err := readme()
	if err != nil {
		return nil, err
	}
	page, err := page.Build(functions.Operations(nil), document)
	if err != nil {
		return nil, err
	}
	out := []generated{
		{"functions/openapi/openapi.json", document}, {"functions/openapi/page.html", page.HTML},
		{"functions/openapi/page.css", page.CSS}, {"functions/openapi/page.js", page.JS},
		{operationsPage, readme}, {"template.yaml", infra.New().Text()},
	}
	events, err := events(document)
	if err != nil {
		return nil, err
	}
	client, err := client()
	return append(append(out, events...), client...), err
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
	all, err := files()
	if err != nil {
		return err
	}
	var stale []error
	for _, file := range all {
		have, err := os.ReadFile(file.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		switch {
		case err == nil == (file.text != nil) && bytes.Equal(have, file.text):
		case check:
			stale = append(stale, fmt.Errorf("%s is not what the declarations say: run go run ./scripts/gen", file.path))
		default:
			if err := file.write(); err != nil {
				return err
			}
		}
	}
	return errors.Join(stale...)
}

func (g generated) write() error {
	if g.text == nil {
		fmt.Println("removed", g.path)
		return os.Remove(g.path)
	}
	if err := os.MkdirAll(filepath.Dir(g.path), 0o755); err != nil {
		return err
	}
	fmt.Println("wrote", g.path)
	return os.WriteFile(g.path, g.text, 0o644)
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
