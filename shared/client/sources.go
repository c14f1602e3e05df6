package client

import (
	"embed"
	"io/fs"
)

//go:embed *.go LICENSE
var sources embed.FS

// Sources returns the files of this package, including its tests, and their licence.
// The command `workspace client go` writes them to a caller's module.
func Sources() fs.FS { return sources }
