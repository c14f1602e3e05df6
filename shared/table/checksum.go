package table

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
)

// checksumTransport is a transport that verifies the checksum of every response that has one. All
// responses from DynamoDB have one. On a mismatch, reading the body ends with errCorrupt, and the
// call is retried. The SDK's own check comes too late: it compares the checksums after the response
// was used, and only logs a mismatch.
type checksumTransport struct{ next http.RoundTripper }

const checksumHeader = "X-Amz-Crc32"

// errCorrupt means that a response differs from what DynamoDB sent.
var errCorrupt = errors.New("the response does not match its checksum")

// RoundTrip implements http.RoundTripper.
func (c checksumTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text := out.Header.Get(checksumHeader)
	if text == "" {
		return out, nil
	}
	sum, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w, which is %q", errCorrupt, text), out.Body.Close())
	}
	out.Body = &checksumBody{ReadCloser: out.Body, want: uint32(sum)}
	return out, nil
}

// checksumBody is a body that ends with an error if its bytes do not match the checksum.
type checksumBody struct {
	io.ReadCloser

	want, sum uint32
}

// Read implements io.Reader.
func (b *checksumBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum = crc32.Update(b.sum, crc32.IEEETable, p[:n])
	if errors.Is(err, io.EOF) && b.sum != b.want {
		err = errCorrupt
	}
	return n, err
}
