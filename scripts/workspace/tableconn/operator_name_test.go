package tableconn

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/scripts/workspace/terminal"
)

// Ensure the operator's name in an AWS account is that of the command's principal, and that AWS is
// asked for it only once. If AWS does not return it, the operator's name must be the id of the
// access key, and a note must tell the user.
func TestOperatorName(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:sts::111122223333:assumed-role/Operators/ada"
	for _, c := range []struct {
		name   string
		status int
		want   string
		note   bool
	}{
		{"STS answers", http.StatusOK, arn, false},
		{"STS refuses", http.StatusForbidden, "access-key:AKIDEXAMPLE", true},
	} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("Content-Type", "text/xml")
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`, arn)
		}))
		defer server.Close()
		var notes bytes.Buffer
		operator := newOperatorName(aws.Config{
			Region: "eu-central-1", BaseEndpoint: &server.URL,
			Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "not a secret", ""),
		}, &terminal.Terminal{Err: &notes})
		for range 2 {
			if got := operator.get(t.Context()); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("%s: %d calls, want 1", c.name, calls.Load())
		}
		if told := strings.Contains(notes.String(), c.want); told != c.note {
			t.Errorf("%s: notes %q", c.name, notes.String())
		}
	}
}

// Ensure the operator's name outside AWS is the name of the machine's user.
func TestLocalOperator(t *testing.T) {
	t.Parallel()
	if name := localOperator(); !strings.HasPrefix(name, "user:") || len(name) == len("user:") {
		t.Errorf("%q, want user: and a name", name)
	}
}
