package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// page returns the page as a client sees it that calls the server by a name.
func page(t *testing.T, s *server, host string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.BaseURL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer.StatusCode, err)
	}
	return string(text)
}

// Ensure the page of a server that only this machine reaches greets with the demo key, and only those who call it so.
func TestPageGreets(t *testing.T) {
	t.Parallel()
	s := startServer(t, folder(t))
	if text := page(t, s, ""); !strings.Contains(text, s.Key) || !strings.Contains(text, s.CompanyID) {
		t.Error("the page has no demo key")
	}
	if text := page(t, s, "workspace.example.com"); strings.Contains(text, s.Key) || strings.Contains(text, s.CompanyID) {
		t.Error("the page shows the demo key under a name of somebody else's")
	}
	s.stop(t)
}
