package webhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Ensure signatures follow the specification. The first test vector is from the Standard Webhooks
// libraries. The second one was computed with openssl dgst.
func TestSign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ secret, id, timestamp, body, want string }{
		{prefix + vectorKey, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		{testSecret, "chg_1", "1786440600", `{"type":"feedback.created","timestamp":"2026-08-11T09:30:00.000Z","data":{"id":"chg_1"}}`, "v1,AIIDMt2SDCkdu1KjGxQLl2cIQHM0uWoCVO8MHJ/5Bg8="},
	} {
		secrets, err := ParseSecrets(c.secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := secrets[0].sign(c.id, c.timestamp, []byte(c.body)); got != c.want {
			t.Errorf("%s: signature %s, want %s", c.id, got, c.want)
		}
	}
}

// The prefix is separate so that secret scanners do not report the secrets.
const (
	prefix     = "whsec_"
	testSecret = prefix + "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	vectorKey  = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// Ensure ParseSecrets refuses text without a secret, and secrets that are too short or too long.
// The error must not contain the text.
func TestParseSecrets(t *testing.T) {
	t.Parallel()
	if secrets, err := ParseSecrets(testSecret + "\n" + prefix + vectorKey + "\n"); err != nil || len(secrets) != 2 || strings.Contains(secrets[0].String(), "AAEC") {
		t.Errorf("two secrets: %v, %v", secrets, err)
	}
	for _, text := range []string{"", " \n", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", prefix, prefix + "AAECAwQFBgcICQoLDA0ODxAREhMUFRY=", prefix + strings.Repeat("AAAA", 22), strings.TrimSuffix(testSecret, "=")} {
		if _, err := ParseSecrets(text); err == nil || len(text) > 10 && strings.Contains(err.Error(), text[6:]) {
			t.Errorf("%q: %v, want an error without the text", text, err)
		}
	}
}

// Ensure only an https URL, or an http URL on this machine, is accepted.
func TestNewEndpoint(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://example.com/hook": true, "http://127.0.0.1:1/hook": true, "http://localhost/hook": true, "http://[::1]:1": true,
		"http://example.com/hook": false, "http://127.0.0.1.example.com": false, "ftp://example.com": false, "/hook": false, "": false, "https://a:b@example.com": false, "http://192.168.0.1": false,
	} {
		if _, err := NewEndpoint(address, nil, time.Second, time.Now); (err == nil) != ok {
			t.Errorf("%s: %v, want accepted: %t", address, err, ok)
		}
	}
}

// Ensure a request has the three headers, one signature for each secret, and the body that was
// signed.
func TestSend(t *testing.T) {
	t.Parallel()
	var got http.Header
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, body = r.Header, string(text)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	secrets, err := ParseSecrets(testSecret + " " + prefix + vectorKey)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC) }
	e, err := NewEndpoint(server.URL, secrets, time.Minute, now)
	if err == nil {
		err = e.Send(t.Context(), "chg_1", Message{"feedback.created", "2026-08-11T09:30:00.000Z", []byte(`{"id":"chg_1"}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"feedback.created","timestamp":"2026-08-11T09:30:00.000Z","data":{"id":"chg_1"}}`; body != want {
		t.Errorf("body %s, want %s", body, want)
	}
	for name, want := range map[string]string{"Webhook-Id": "chg_1", "Webhook-Timestamp": "1786440600", "Content-Type": "application/json"} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
	first, second, _ := strings.Cut(got.Get("Webhook-Signature"), " ")
	if first != "v1,AIIDMt2SDCkdu1KjGxQLl2cIQHM0uWoCVO8MHJ/5Bg8=" || !strings.HasPrefix(second, "v1,") || second == first {
		t.Errorf("signatures %q", got.Get("Webhook-Signature"))
	}
}

// Ensure every response other than 2xx is an error. Send must not follow a redirect, and no error
// may contain the URL.
func TestSendRefused(t *testing.T) {
	t.Parallel()
	followed := false
	mux := http.NewServeMux()
	mux.HandleFunc("/secret/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/secret/target", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/secret/target", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.HandleFunc("/secret/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/secret/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/secret/silent", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	send := func(address string, timeout time.Duration) error {
		e, err := NewEndpoint(address, []Secret{make(Secret, 24)}, timeout, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		err = e.Send(t.Context(), "chg_1", Message{Type: "a", Data: []byte("{}")})
		if err == nil || strings.Contains(err.Error(), "/secret") {
			t.Errorf("%s: %v, want an error without the URL", address, err)
		}
		return err
	}
	if err := send(server.URL+"/secret/gone", time.Minute); !errors.Is(err, ErrGone) {
		t.Errorf("410: %v", err)
	}
	var refused *StatusError
	if err := send(server.URL+"/secret/busy", time.Minute); !errors.As(err, &refused) || refused.RetryAfter != 7*time.Second {
		t.Errorf("503: %v", err)
	}
	if err := send(server.URL+"/secret/moved", time.Minute); !errors.As(err, &refused) || refused.Status != 307 || followed {
		t.Errorf("307: %v, followed: %t", err, followed)
	}
	if err := send(server.URL+"/secret/silent", time.Millisecond); !strings.Contains(err.Error(), "within 1ms") {
		t.Errorf("no response: %v", err)
	}
	server.Close()
	_ = send(server.URL+"/secret/closed", time.Minute)
}
