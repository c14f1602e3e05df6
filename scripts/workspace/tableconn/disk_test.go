package tableconn

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Ensure a full disk makes the service unavailable, with an error that names the data folder. Other
// failures of the engine stay internal errors.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for message, isFull := range map[string]bool{
		"commit failed (backend: database or disk is full) and rollback also failed (backend: cannot rollback - no transaction is active)": true,
		"backend: database disk image is malformed": false,
	} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Crc32", "1")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"` + message + `"}`))
		}))
		t.Cleanup(engine.Close)
		c := table.New(table.Options{
			Name: "t", Region: localRegion, Endpoint: engine.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			Transport: diskTransport{http.DefaultTransport, "/data/folder"}, Now: time.Now,
		})
		_, err := table.GetItem(t.Context(), c, table.Key{PK: "p", SK: "s"})
		if err == nil || errors.Is(err, fault.ErrUnavailable) != isFull || strings.Contains(err.Error(), "the disk of the data folder /data/folder is full: free some space") != isFull {
			t.Errorf("%s: %v", message, err)
		}
	}
}
