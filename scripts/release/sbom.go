package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"growthworkspace/shared/localdb"
)

// billOfMaterials is a CycloneDX bill of materials. The type has the fields that this program
// changes or copies.
type billOfMaterials struct {
	Schema       string           `json:"$schema"`
	BOMFormat    string           `json:"bomFormat"`
	SpecVersion  string           `json:"specVersion"`
	Version      int              `json:"version"`
	Metadata     map[string]any   `json:"metadata"`
	Components   []map[string]any `json:"components"`
	Dependencies json.RawMessage  `json:"dependencies,omitempty"`
}

// sbom returns a bill of materials for programs. It lists every module linked into any of them, the
// standard library and, if bundled is set, the engine.
func (r *release) sbom(ctx context.Context, name, platform string, bundled bool, programs ...string) ([]byte, error) {
	lister, err := cyclonedx.install(ctx)
	if err != nil {
		return nil, err
	}
	var all billOfMaterials
	known := map[any]bool{}
	for i, program := range programs {
		text, err := output(ctx, lister, "bin", "-json", "-std", "-noserial", "-version", r.version, program)
		if err != nil {
			return nil, err
		}
		var one billOfMaterials
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return nil, fmt.Errorf("the bill of materials of %s: %w", program, err)
		}
		if i == 0 {
			all = one
			all.Components = nil
		}
		for _, c := range one.Components {
			if !known[c["bom-ref"]] {
				known[c["bom-ref"]] = true
				all.Components = append(all.Components, c)
			}
		}
	}
	if len(programs) > 1 {
		all.Dependencies = nil // the dependencies describe only the first program
	}
	if p, version := localdb.PackageFor(platform); bundled {
		ref := "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + version
		all.Components = append(all.Components, map[string]any{
			"bom-ref": ref, "type": "application", "name": p.Name, "version": version, "purl": ref, "scope": "required",
			"hashes":   []map[string]string{{"alg": "SHA-256", "content": p.SHA256}},
			"licenses": []map[string]string{{"expression": "MIT OR Apache-2.0"}},
		})
	}
	// Replace what depends on this machine: the time, and the digests of the locally built tool.
	all.Metadata["timestamp"] = r.time.Format(time.RFC3339)
	all.Metadata["tools"] = []map[string]string{{"vendor": "CycloneDX", "name": "cyclonedx-gomod", "version": cyclonedx.version}}
	if main, ok := all.Metadata["component"].(map[string]any); ok {
		main["name"] = name
	}
	out, err := json.MarshalIndent(all, "", "  ")
	return append(out, '\n'), err
}
