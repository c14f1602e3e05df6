package tabular

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// elementBytesMax is the maximum size of an element. Each element is read into memory.
const elementBytesMax = 16 << 20

// jsonDepthMax is the maximum nesting depth of a file, because each level takes memory.
// encoding/json has the same limit.
const jsonDepthMax = 10_000

// eachElement reads a JSON file and calls visit with each element of the array at a path, such as
// "data.children". It keeps only one element in memory at a time. The file may contain several
// values, one after another or in an array. The path is relative to each of these values. number
// counts the elements in the whole file, from 1. found reports whether the file contains the array.
func eachElement(in Input, path string, visit func(number int, element json.RawMessage) error) (found bool, err error) {
	text, err := in.Text()
	if err != nil {
		return false, err
	}
	limit := &limitedReader{in: text}
	w := elementWalk{d: json.NewDecoder(limit), limit: limit, path: path, visit: visit}
	w.d.UseNumber()
	values := 0
	for ; w.more(); values++ {
		if err := w.value("", true); err != nil {
			return w.found, w.explain(err)
		}
	}
	if _, err := w.token(); !errors.Is(err, io.EOF) { // reading has failed, or the file does not end here
		return w.found, w.explain(err)
	}
	if values == 0 {
		return false, errors.New("is empty")
	}
	return w.found, nil
}

type elementWalk struct {
	d      *json.Decoder
	limit  *limitedReader
	path   string // of the array
	visit  func(number int, element json.RawMessage) error
	number int // of the last element
	depth  int
	found  bool
}

var errTooDeep = errors.New("the JSON is nested too deeply")

// visitError is an error that the function visit returned. All other errors are about the JSON.
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

// value reads a value. If isKnown is false, the array is neither at the path nor below it.
func (w *elementWalk) value(path string, isKnown bool) error {
	token, err := w.token()
	start, isNested := token.(json.Delim)
	if err != nil || !isNested {
		return err
	}
	if w.depth++; w.depth > jsonDepthMax {
		return errTooDeep
	}
	isArray := isKnown && path == w.path && start == '['
	w.found = w.found || isArray
	for w.more() {
		switch {
		case isArray:
			err = w.element()
		case start == '{':
			err = w.property(path, isKnown)
		default:
			err = w.value(path, isKnown)
		}
		if err != nil {
			return err
		}
	}
	w.depth--
	_, err = w.token()
	return err
}

// property reads a property of the object at a path.
func (w *elementWalk) property(path string, isKnown bool) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	if name, _ := token.(string); isKnown {
		path = strings.TrimPrefix(path+"."+name, ".")
		isKnown = strings.HasPrefix(w.path+".", path+".")
	}
	return w.value(path, isKnown)
}

// element reads an element of the array.
func (w *elementWalk) element() error {
	var element json.RawMessage
	w.limit.left = elementBytesMax
	if err := w.d.Decode(&element); err != nil {
		return err
	}
	w.number++
	if err := w.visit(w.number, element); err != nil {
		return visitError{err}
	}
	return nil
}

// token reads a token of at most elementBytesMax bytes.
func (w *elementWalk) token() (json.Token, error) {
	w.limit.left = elementBytesMax
	return w.d.Token()
}

// more reports whether the file, array or object has another element. It also returns false if
// reading fails.
func (w *elementWalk) more() bool {
	w.limit.left = elementBytesMax
	return w.d.More()
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
