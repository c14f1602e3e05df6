package tabular

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Elements maps the path of an array in a JSON file, such as "data.children", to a function to call
// with each element. number counts the elements in the whole file, from 1.
type Elements map[string]func(number int, element json.RawMessage) error

// elementBytesMax is the maximum size of an element. Each element is read into memory.
const elementBytesMax = 16 << 20

// jsonDepthMax is the maximum nesting depth of a file, because each level takes memory.
// encoding/json has the same limit.
const jsonDepthMax = 10_000

// EachElement reads a JSON file and calls the functions in elements. It keeps only one element in
// memory at a time. The file may contain several values, one after another or in an array. Paths
// are relative to each of these values. found reports whether the file contains any of the arrays.
func EachElement(in Input, elements Elements) (found bool, err error) {
	text, err := in.Text()
	if err != nil {
		return false, err
	}
	limit := &limitedReader{in: text}
	w := elementWalk{d: json.NewDecoder(limit), limit: limit, elements: elements, numbers: map[string]int{}}
	w.d.UseNumber()
	for values := 0; ; values++ {
		err := w.value("")
		switch {
		case errors.Is(err, io.EOF) && values > 0:
			return w.found, nil
		case errors.Is(err, io.EOF):
			return false, errors.New("is empty")
		case err != nil:
			return w.found, w.explain(err)
		}
	}
}

type elementWalk struct {
	d        *json.Decoder
	limit    *limitedReader
	elements Elements
	numbers  map[string]int
	depth    int // the nesting depth after the last token
	found    bool
}

var errTooDeep = errors.New("the JSON is nested too deeply")

// visitError is an error that a function in Elements returned. All other errors are about the JSON.
type visitError struct{ error }

func (e visitError) Unwrap() error { return e.error }

// explain adds the position to an error about the JSON.
func (w *elementWalk) explain(err error) error {
	var visitErr visitError
	switch {
	case errors.As(err, &visitErr):
		return visitErr.error
	case IsEncodingError(err):
		return err
	case errors.Is(err, errTooLong):
		return fmt.Errorf("after byte %d: an element has more than %d MB", w.d.InputOffset(), elementBytesMax>>20)
	case errors.Is(err, errTooDeep):
		return fmt.Errorf("after byte %d: the JSON is nested more than %d levels deep", w.d.InputOffset(), jsonDepthMax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("is truncated: the JSON ends after byte %d", w.d.InputOffset())
	}
	return fmt.Errorf("is not JSON after byte %d: %w", w.d.InputOffset(), err)
}

func (w *elementWalk) value(path string) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return w.array(path)
	case json.Delim('{'):
		return w.object(path)
	}
	return nil
}

// token reads a token of at most elementBytesMax bytes.
func (w *elementWalk) token() (json.Token, error) {
	w.limit.left = elementBytesMax
	token, err := w.d.Token()
	switch token {
	case json.Delim('['), json.Delim('{'):
		if w.depth++; w.depth > jsonDepthMax {
			return nil, errTooDeep
		}
	case json.Delim(']'), json.Delim('}'):
		w.depth--
	}
	return token, err
}

// more reports whether the array or object has another element. It also returns false if reading
// fails.
func (w *elementWalk) more() bool {
	w.limit.left = elementBytesMax
	return w.d.More()
}

func (w *elementWalk) object(path string) error {
	for w.more() {
		token, err := w.token()
		if err != nil {
			return unexpectedEnd(err)
		}
		name, _ := token.(string)
		if path != "" {
			name = path + "." + name
		}
		if w.leadsToElements(name) {
			err = w.value(name)
		} else {
			err = w.skip()
		}
		if err != nil {
			return unexpectedEnd(err)
		}
	}
	_, err := w.token()
	return unexpectedEnd(err)
}

func (w *elementWalk) array(path string) error {
	visit := w.elements[path]
	w.found = w.found || visit != nil
	for w.more() {
		if visit == nil {
			if err := w.value(path); err != nil {
				return unexpectedEnd(err)
			}
			continue
		}
		var element json.RawMessage
		w.limit.left = elementBytesMax
		if err := w.d.Decode(&element); err != nil {
			return unexpectedEnd(err)
		}
		w.numbers[path]++
		if err := visit(w.numbers[path], element); err != nil {
			return visitError{err}
		}
	}
	_, err := w.token()
	return unexpectedEnd(err)
}

// skip reads a value and discards it.
func (w *elementWalk) skip() error {
	for depth := w.depth; ; {
		if _, err := w.token(); err != nil {
			return err
		}
		if w.depth == depth {
			return nil
		}
	}
}

// leadsToElements reports whether one of the arrays is at path or below it.
func (w *elementWalk) leadsToElements(path string) bool {
	for wanted := range w.elements {
		if wanted == path || strings.HasPrefix(wanted, path+".") {
			return true
		}
	}
	return false
}

// unexpectedEnd turns io.EOF into io.ErrUnexpectedEOF, for a file that ends inside a value.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var errTooLong = errors.New("the element is too long")

// limitedReader is a reader that fails when more than `left` bytes are read.
type limitedReader struct {
	in   io.Reader
	left int
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooLong
	}
	n, err := r.in.Read(p)
	r.left -= n
	return n, err
}
