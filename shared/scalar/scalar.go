// Package scalar contains the script of Scalar, which renders an OpenAPI document in a browser. The
// service's reference and the studio's use it.
//
// The script is that of Scalar's package, compressed. These commands fetch it; the integrity of the
// package is sha512-CmyvtSM9YNTPit1ZxfYhfAp7MtE+KXUxOID4sIf8+Flfr5zFOHVAu1ww1WySszugWG/8xV4BCZuJZtHGwtQyHg==.
//
//	npm pack @scalar/api-reference@1.51.0
//	tar -xzOf scalar-api-reference-1.51.0.tgz package/dist/browser/standalone.js | gzip -9n >shared/scalar/scalar.js.gz
package scalar

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// Digest is the beginning of the SHA-256 of the script. It is part of the script's path, so
// browsers can cache the script forever. TestScript of functions/openapi fails when it does not
// match the script.
const Digest = "27bbe9a8482b9bea"

// Policy is the Content-Security-Policy of a page with the script. It allows inline styles, because
// Scalar writes its styles into the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
	"img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Settings returns Scalar's settings. The page loads nothing from other hosts, and its examples
// call the server at the base URL, because the document contains only a relative URL of its server.
func Settings(base string) map[string]any {
	return map[string]any{
		"agent":               map[string]any{"disabled": true},
		"defaultOpenFirstTag": false,
		"hideClientButton":    true,
		"mcp":                 map[string]any{"disabled": true},
		"servers":             []map[string]any{{"url": base}},
		"showDeveloperTools":  "never",
		"telemetry":           false,
		"withDefaultFonts":    false,
	}
}

//go:embed scalar.js.gz
var compressed []byte

// Script returns the script.
func Script() []byte {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // cannot fail: TestScript of functions/openapi reads the file
	}
	script, err := io.ReadAll(r)
	if err != nil {
		panic(err) // cannot fail either
	}
	return script
}
