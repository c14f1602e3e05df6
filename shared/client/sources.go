package client

import (
	"embed"
	"io/fs"
)

//go:embed *.go LICENSE
var sources embed.FS

// Sources returns the files of this package, tests included, and the text of their license. The
// command `workspace client go` writes them into a caller's module.
func Sources() fs.FS { return sources }
