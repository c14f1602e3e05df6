package main

import (
	"maps"
	"path/filepath"
	"slices"

	"growthworkspace/infra"
)

// events returns the sample events, and those that are there of operations that are gone.
func events(document []byte) ([]generated, error) {
	made, err := infra.New().Events(document)
	if err != nil {
		return nil, err
	}
	var out []generated
	for _, id := range slices.Sorted(maps.Keys(made)) {
		out = append(out, generated{"events/" + id + ".json", made[id]})
	}
	found, err := filepath.Glob("events/*.json")
	for _, path := range found {
		path = filepath.ToSlash(path)
		if !slices.ContainsFunc(out, func(g generated) bool { return g.path == path }) {
			out = append(out, generated{path: path})
		}
	}
	return out, err
}
