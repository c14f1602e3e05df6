package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// page requests the server's page with this Host header.
func page(t *testing.T, s *server, host string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.BaseURL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response.StatusCode, err)
	}
	return string(text)
}

// Ensure the page shows the demo key on a loopback address, but not for a Host header with another name.
func TestPageGreets(t *testing.T) {
	t.Parallel()
	s := startServer(t, folder(t))
	if text := page(t, s, ""); !strings.Contains(text, s.Key) || !strings.Contains(text, s.CompanyID) {
		t.Error("the page has no demo key")
	}
	if text := page(t, s, "workspace.example.com"); strings.Contains(text, s.Key) || strings.Contains(text, s.CompanyID) {
		t.Error("the page shows the demo key for another host name")
	}
	s.stop(t)
}
