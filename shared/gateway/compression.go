package gateway

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// CompressionBytesMin is the size of the smallest response that the gateway compresses for clients
// that accept compression.
const CompressionBytesMin = 1024

// The content codings in which API Gateway can send a response. It also supports identity, which
// leaves the response as it is.
const (
	codingGzip    = "gzip"
	codingDeflate = "deflate"
)

// acceptedCodings returns the q-value of each coding in an Accept-Encoding header. best is the
// coding with the highest q-value: the first one if several share it, or "" if the header names no
// coding.
func acceptedCodings(header http.Header) (qualities map[string]float64, best string) {
	for field := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(field, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		quality := 1.0
		if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameters)), "q="); ok {
			var err error
			if quality, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil {
				quality = 0
			}
		}
		if coding == "" || quality <= 0 {
			continue
		}
		if qualities == nil {
			qualities = map[string]float64{}
		}
		if qualities[coding] = quality; best == "" || quality > qualities[best] {
			best = coding
		}
	}
	return qualities, best
}

// acceptsGzip reports whether a client accepts gzip at all, even if it prefers another coding.
func acceptsGzip(header http.Header) bool {
	qualities, _ := acceptedCodings(header)
	return qualities[codingGzip] > 0
}

// gatewayCoding returns the coding with which API Gateway compresses a response to a client, or ""
// if it does not compress it. API Gateway considers only the coding with the highest q-value, and
// does not compress if it does not support that coding. It ignores "*"
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-enable-compression.html,
// api-gateway-receive-response-with-compressed-payload.html). These pages don't say which coding it
// prefers if several have the same q-value. gatewayCoding returns the first.
func gatewayCoding(header http.Header) string {
	if _, best := acceptedCodings(header); best == codingGzip || best == codingDeflate {
		return best
	}
	return ""
}

// gzipWriters are reused, because a new one allocates most of a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a Lambda function has only a fraction of a core
	if err != nil {
		panic("gateway: no such level of gzip: " + err.Error())
	}
	return w
}}

// compress compresses body with coding, which must be one that gatewayCoding can return, but not
// "".
func compress(body []byte, coding string) []byte {
	var out bytes.Buffer
	if coding == codingDeflate {
		w := zlib.NewWriter(&out) // in HTTP, deflate means the zlib format (RFC 9110, 8.4.1.2)
		writeAll(w, body)
		return out.Bytes()
	}
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&out)
	writeAll(w, body)
	return out.Bytes()
}

// writeAll writes body and closes w, which writes to a buffer and therefore returns no error.
func writeAll(w io.WriteCloser, body []byte) {
	_, _ = w.Write(body)
	_ = w.Close()
}
