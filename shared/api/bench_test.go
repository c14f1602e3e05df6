package api_test

import (
	"net/http/httptest"
	"testing"
)

// BenchmarkGet measures a small GET request through the whole pipeline, without a table.
func BenchmarkGet(b *testing.B) {
	s := start(&testing.T{})
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/v1/companies/"+s.companyID+"/items/itm_1", nil)
	r.Header.Set("Authorization", "Bearer "+s.key)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatalf("status %d, want 200: %s", w.Code, w.Body)
		}
		s.logs.Reset()
		s.keys.calls = s.keys.calls[:0]
	}
}
