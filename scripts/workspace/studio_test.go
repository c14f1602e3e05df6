package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// startStudio runs `studio --json` until the test ends and returns its address.
func startStudio(t *testing.T, args ...string) (url string, logs *lockedBuffer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	out, in := io.Pipe()
	logs = &lockedBuffer{}
	go func() {
		ended <- run(ctx, "workspace", append([]string{"studio", "--json"}, args...), strings.NewReader(""), in, logs)
		_ = in.Close()
	}()
	reader := bufio.NewReader(out)
	line, err := reader.ReadBytes('\n')
	var first map[string]string
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil || len(first) != 1 || first["url"] == "" {
		t.Fatalf("studio: %v: %q %s", err, line, logs)
	}
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("studio ended with %d: %s", code, logs)
		}
		if rest, _ := io.ReadAll(reader); len(rest) > 0 { // reading from this pipe cannot fail
			t.Errorf("more than one line: %q", rest)
		}
	})
	return first["url"], logs
}

// openInBrowser opens an address with a browser that keeps cookies.
func openInBrowser(t *testing.T, url string) (status int, body string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := browser.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Ensure the studio uses the same service and key as other commands, and marks the demo company. It
// prints its address and never the key.
func TestStudio(t *testing.T) {
	t.Parallel()
	s, data := useServer(t)
	url, logs := startStudio(t, "--base-url", s.BaseURL, "--data", data)
	status, body := openInBrowser(t, url)
	if status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", status, body)
	}
	requireContains(t, body, "Mossgrove", `<span class="mark">demo</span>`, strings.TrimPrefix(s.BaseURL, "http://"), "Sign-ups")
	if strings.Contains(body, s.Key) || strings.Contains(logs.String(), s.Key) {
		t.Error("the key is in the page or the log")
	}
	bare, _, _ := strings.Cut(url, "?")
	if status, _ := openInBrowser(t, bare); status != http.StatusForbidden {
		t.Error("without the token:", status)
	}
}

// Ensure `serve` starts a studio for the demo company, and stops the studio with the server.
func TestServeHasAStudio(t *testing.T) {
	t.Parallel()
	s := startServer(t, dataFolder(t))
	status, body := openInBrowser(t, s.StudioURL)
	requireContains(t, body, "Mossgrove", `<span class="mark">demo</span>`, "Sign-ups")
	if status != http.StatusOK || strings.Contains(body, s.Key) {
		t.Error(status, "or the key is in the page")
	}
	s.stop(t)
	host, _, _ := strings.Cut(strings.TrimPrefix(s.StudioURL, "http://"), "/")
	if conn, err := net.Dial("tcp", host); err == nil {
		_ = conn.Close()
		t.Error("the studio outlives the server")
	}
	if strings.Contains(s.logs.String(), s.Key) || strings.Contains(s.logs.String(), "token") {
		t.Error("a secret is in the log")
	}
}

// Ensure the studio refuses settings with which other machines could see its pages or the key.
func TestStudioRefuses(t *testing.T) {
	data := t.TempDir()
	requireContains(t, runRefused(t, 1, "", "studio", "--data", data, "--base-url", "http://127.0.0.1:1"), "no key for http://127.0.0.1:1")
	t.Setenv(keyVariable, "made-up")
	requireContains(t, runRefused(t, 1, "", "studio", "--data", data, "--base-url", "http://127.0.0.1:1", "--addr", "0.0.0.0:0"), "0.0.0.0:0", "ssh -L")
	requireContains(t, runRefused(t, 1, "", "studio", "--data", data, "--base-url", "http://api.example.com"), "is not encrypted")
}
