package convert

import (
	"fmt"
	"io"
	"os"

	"growthworkspace/shared/tabular"
)

// Input is a file to convert. It can be read several times and at any position.
type Input = tabular.Input

// NewInput returns an Input whose content is in memory.
func NewInput(name string, content []byte) Input { return tabular.NewInput(name, content) }

// Inputs are the open files of a command.
type Inputs struct {
	List  []Input
	Bytes int64 // the total size of the files

	files  []*os.File // the user's files
	spools []*os.File // temporary copies of inputs that can be read only once
}

// OpenInputs opens files. The name "-" stands for standard input. OpenInputs copies standard input
// and pipes to private temporary files.
func OpenInputs(names []string, stdin io.Reader) (*Inputs, error) {
	inputs := &Inputs{}
	for _, name := range names {
		var err error
		if name == "-" {
			err = inputs.spool("standard input", stdin)
		} else {
			err = inputs.open(name)
		}
		if err != nil {
			inputs.Close()
			return nil, err
		}
	}
	return inputs, nil
}

func (i *Inputs) open(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.files = append(i.files, f)
	st, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case st.IsDir():
		return fmt.Errorf("%s is a folder: name its files", name)
	case !st.Mode().IsRegular(): // a pipe can be read only once
		return i.spool(name, f)
	}
	i.add(Input{ReaderAt: f, Name: name, Size: st.Size()})
	return nil
}

// spool copies an input to a temporary file.
func (i *Inputs) spool(name string, in io.Reader) error {
	f, err := newTempFile()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.spools = append(i.spools, f)
	size, err := io.Copy(f, in)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.add(Input{ReaderAt: f, Name: name, Size: size})
	return nil
}

func (i *Inputs) add(in Input) {
	i.List = append(i.List, in)
	i.Bytes += in.Size
}

// Close closes all files and removes the temporary ones.
func (i *Inputs) Close() {
	for _, f := range i.files {
		_ = f.Close() // ignore the error, because the file was only read
	}
	for _, f := range i.spools {
		closeTempFile(f)
	}
}
