// Package webhook sends messages to a URL, signed according to Standard Webhooks
// (https://www.standardwebhooks.com).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// Secret is a key for signing messages. The receiver has the same key.
type Secret []byte

// String hides the secret in logs.
func (Secret) String() string { return secretPrefix + "…" }

const (
	secretPrefix   = "whsec_"
	secretBytesMin = 24
	secretBytesMax = 64
)

// ParseSecrets parses one or more secrets, separated by white space. Every message is signed with
// each of them, so that a receiver can change its secret without missing a message.
func ParseSecrets(text string) (out []Secret, err error) {
	for _, word := range strings.Fields(text) {
		encoded, found := strings.CutPrefix(word, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || len(secret) < secretBytesMin || len(secret) > secretBytesMax {
			return nil, fmt.Errorf("must be %s and the base64 of %d to %d bytes", secretPrefix, secretBytesMin, secretBytesMax)
		}
		out = append(out, secret)
	}
	if len(out) == 0 {
		return nil, errors.New("is empty")
	}
	return out, nil
}

// sign returns the signature of a message.
func (s Secret) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Message is the body of a webhook.
type Message struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"` // when the change happened
	Data      json.RawMessage `json:"data"`
}

// Endpoint is the URL of a receiver, with the secrets shared with it.
type Endpoint struct {
	url     string
	secrets []Secret
	timeout time.Duration
	http    *http.Client
	now     func() time.Time
}

// NewEndpoint returns the endpoint at a URL. The URL must be https, or http on this machine. now
// returns the time for a signature.
func NewEndpoint(address string, secrets []Secret, timeout time.Duration, now func() time.Time) (*Endpoint, error) {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http":
		return nil, errors.New("must be a URL such as https://example.com/hook")
	case at.User != nil:
		return nil, errors.New("must not contain a user name or a password")
	case at.Scheme == "http" && !client.Loopback(address):
		return nil, errors.New("must begin with https, unless it is on this machine")
	}
	return &Endpoint{address, secrets, timeout, &http.Client{
		// With a transport of its own, nothing else in the process can close its connections.
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, now}, nil
}

// StatusError is the error for a response whose status is neither 2xx nor 410 Gone.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // 0 if the response does not give it in seconds
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the webhook responds with %d %s", e.Status, http.StatusText(e.Status))
	if e.Status >= 300 && e.Status < 400 {
		text += "; a redirect is not followed"
	}
	return text
}

// ErrGone means that the receiver wants no more messages: its response is 410 Gone.
var ErrGone = errors.New("the webhook responds with 410 Gone: it wants no more messages")

// bodyBytesMax is the maximum number of bytes to read from a response's body. Reading the body lets
// its connection be reused.
const bodyBytesMax = 64 << 10

// Send sends a message. The caller must use the same id for every attempt, so that the receiver can
// recognise a message that it already has. Send returns nil after a response with a status of 2xx.
// The error is ErrGone, a *StatusError or a network error. It does not contain the URL, because a
// webhook's URL is often a secret.
func (e *Endpoint) Send(ctx context.Context, id string, m Message) error {
	body, err := schema.Encode(m)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, e.timeout)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request: %w", stripURL(err))
	}
	timestamp := strconv.FormatInt(e.now().Unix(), 10)
	signatures := make([]string, len(e.secrets))
	for i, s := range e.secrets {
		signatures[i] = s.sign(id, timestamp, body)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "workspace")
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", timestamp)
	request.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	response, err := e.http.Do(request)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the webhook does not respond within %s", e.timeout)
	}
	if err != nil {
		return fmt.Errorf("the webhook does not respond: %w", stripURL(err))
	}
	_, _ = io.CopyN(io.Discard, response.Body, bodyBytesMax) // only the status matters
	_ = response.Body.Close()
	switch {
	case response.StatusCode >= 200 && response.StatusCode < 300:
		return nil
	case response.StatusCode == http.StatusGone:
		return ErrGone
	}
	seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16) // seconds is also 0 if the header is a date
	return &StatusError{response.StatusCode, time.Duration(seconds) * time.Second}
}

// stripURL returns the cause of an error, without the URL that the HTTP client adds.
func stripURL(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}
