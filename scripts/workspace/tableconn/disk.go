package tableconn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// diskFullText is in SQLite's error for a full disk, which an engine passes on.
const diskFullText = "disk is full"

// diskTransport sends requests to the engine of a data folder. The engine's response to a write on a
// full disk has the status 500. diskTransport changes it to 503, with an error that names the
// folder: the engine has written nothing, and the requests succeed again as soon as there is space.
type diskTransport struct {
	http.RoundTripper

	folder string
}

// RoundTrip implements http.RoundTripper.
func (d diskTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := d.RoundTripper.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusInternalServerError {
		return res, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(body), diskFullText) {
		message := fmt.Sprintf("the disk of the data folder %s is full: free some space", d.folder)
		if body, err = json.Marshal(map[string]string{"__type": "ServiceUnavailable", "message": message}); err != nil {
			return nil, err
		}
		res.StatusCode, res.Status, res.ContentLength = http.StatusServiceUnavailable, "503 Service Unavailable", int64(len(body))
		res.Header.Del("Content-Length")
		res.Header.Del("X-Amz-Crc32") // the checksum of the engine's body
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
