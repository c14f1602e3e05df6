package optimise_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

const findingsMax = 4 << 20

// incompressibleFindings returns findings of exactly n bytes that compression hardly reduces.
func incompressibleFindings(n int) string {
	random := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	if _, err := r.Read(random); err != nil {
		panic(err)
	}
	return `"` + base64.RawStdEncoding.EncodeToString(random)[:n-2] + `"`
}

// realisticFindings returns realistic findings of about n bytes.
func realisticFindings(n int) string {
	var out strings.Builder
	for i := 0; out.Len() < n; i++ {
		fmt.Fprintf(&out, `,{"url":"https://example.com/page/%d","issues":[{"rule":"title-length","severity":"low","message":"the title has %d characters"}]}`, i, i*7%90)
	}
	return "[" + out.String()[1:] + "]"
}

func getFindings(t *testing.T, s *apitest.Service, key, auditID string) string {
	t.Helper()
	r := s.Call(t, key, "get_optimise_audit", map[string]any{"auditId": auditID})
	if r.Status != 200 {
		t.Fatalf("get %s: status %d, want 200: %s", auditID, r.Status, r.Body)
	}
	var a struct{ Findings json.RawMessage }
	r.Decode(t, &a)
	return string(a.Findings)
}

// storedChunks returns the sizes of an audit's chunks by sort key.
func storedChunks(t *testing.T, s *apitest.Service, auditID string) map[string]int {
	t.Helper()
	type chunk struct {
		SK   string `store:"sk"`
		Data []byte `store:"data"`
	}
	collection := table.Collection{Partition: table.Partition(s.CompanyID, "optimise", "findings", auditID), Consistent: true}
	chunks, err := table.ReadAll[chunk](t.Context(), s.Table, collection)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, c := range chunks {
		sizes[c.SK] = len(c.Data)
	}
	return sizes
}

// Ensure any JSON value of up to 4 MB can be imported as findings and read again unchanged, except
// for insignificant whitespace.
func TestFindings(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := s.IssueKey(t)
	deep := strings.Repeat(`[{"a":`, 249) + "1" + strings.Repeat("}]", 249) // 499 levels of nesting, including the record itself
	for name, c := range map[string]struct {
		given, want string
		chunks      int
	}{
		"null":           {"null", "null", 0},
		"false":          {"false", "false", 1},
		"zero":           {"-0.0", "-0.0", 1},
		"text":           {`""`, `""`, 1},
		"empty object":   {"{}", "{}", 1},
		"empty array":    {" [ ] ", "[]", 1},
		"39 digits":      {`{"n":123456789012345678901234567890123456789,"e":1e400}`, `{"n":123456789012345678901234567890123456789,"e":1e400}`, 1},
		"space":          {"{ \"a b\" :\n[1 , 2] }", `{"a b":[1,2]}`, 1},
		"escapes":        {`"\u00e9\/<&>\ud83d\ude00\u2028é😀"`, `"\u00e9\/<&>\ud83d\ude00\u2028é😀"`, 1},
		"deep":           {deep, deep, 1},
		"compressible":   {realisticFindings(1_000_000), realisticFindings(1_000_000), -1},
		"incompressible": {incompressibleFindings(findingsMax), incompressibleFindings(findingsMax), 11},
	} {
		t.Run(name, func(t *testing.T) {
			importRecords(t, s, "audit", `{"id":"aud_1","findings":`+c.given+`}`)
			if got := getFindings(t, s, key, "aud_1"); got != c.want {
				t.Errorf("%.300s, want %.300s", got, c.want)
			}
			sizes := storedChunks(t, s, "aud_1")
			for sk, size := range sizes {
				if size > 300_000 {
					t.Errorf("%s has %d bytes", sk, size)
				}
			}
			if c.chunks >= 0 && len(sizes) != c.chunks {
				t.Errorf("%d chunks, want %d", len(sizes), c.chunks)
			}
		})
	}
}

// Ensure findings of more than 4 MB, not counting insignificant whitespace, are rejected with an
// error that contains their path.
func TestFindingsTooLarge(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	k := transferType(t, start(t), "audit")
	check := func(findings string) string {
		_, problems := k.Check(json.RawMessage(`{"id":"aud_1","findings":` + findings + `}`))
		return strings.Join(problems, "; ")
	}
	if problem := check(strings.Repeat(" ", 100) + incompressibleFindings(findingsMax)); problem != "" {
		t.Errorf("the longest findings: problem %q, want none", problem)
	}
	want := "record.findings: must have at most 4194304 bytes as compact JSON, has 4194305"
	if problem := check(incompressibleFindings(findingsMax + 1)); problem != want {
		t.Errorf("findings of a byte too many: problem %q, want %q", problem, want)
	}
	if problem := check(`{"a":1,"a":2}`); !strings.Contains(problem, "is repeated") {
		t.Errorf("a repeated key: %q", problem)
	}
}

// Ensure an audit uses only the chunks that it refers to, and that a new import deletes the chunks
// of the previous one.
func TestFindingsReplaced(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "audit", `{"id":"aud_1","findings":`+incompressibleFindings(900_000)+`}`, `{"id":"aud_10","findings":"other"}`)
	if n := len(storedChunks(t, s, "aud_1")); n != 3 {
		t.Errorf("%d chunks, want 3", n)
	}
	importRecords(t, s, "audit", `{"id":"aud_1","findings":"old"}`, `{"id":"aud_1","findings":"new"}`)
	if n := len(storedChunks(t, s, "aud_1")); n != 1 {
		t.Errorf("%d chunks, want 1", n)
	}
	type chunk struct {
		Data []byte `store:"data"`
	}
	for _, generation := range []string{"gen_0", "gen_zzz"} { // left behind by aborted imports; they sort before and after the current generation
		k := table.Key{PK: table.Partition(s.CompanyID, "optimise", "findings", "aud_1"), SK: table.JoinKey(generation, "000")}
		if err := s.Table.BatchPut(t.Context(), []table.Item{s.Table.NewItem(table.Keys{Key: k}, chunk{[]byte("junk")})}); err != nil {
			t.Fatal(err)
		}
	}
	if got := getFindings(t, s, key, "aud_1"); got != `"new"` {
		t.Errorf(`findings %s, want "new"`, got)
	}
	importRecords(t, s, "audit", `{"id":"aud_1"}`)
	if got := getFindings(t, s, key, "aud_1"); got != "null" || len(storedChunks(t, s, "aud_1")) != 2 {
		t.Errorf("findings %s and %d chunks, want null and 2", got, len(storedChunks(t, s, "aud_1")))
	}
	if got := getFindings(t, s, key, "aud_10"); got != `"other"` {
		t.Errorf(`findings of aud_10 %s, want "other"`, got)
	}
}

// Ensure a reader gets the new audit with the new findings if an import runs between the read of
// the audit and the read of its chunks. The two reads run in parallel, so either can come first.
func TestFindingsReplacedWhileReading(t *testing.T) {
	t.Parallel()
	for _, lastCall := range []string{"Query", "GetItem"} {
		t.Run(lastCall+" last", func(t *testing.T) {
			t.Parallel()
			writer := start(t)
			replacement := optimise.Audit{AuditSummary: optimise.AuditSummary{ID: "aud_1", Summary: new("new")}, Findings: json.RawMessage(`"new"`)}
			audits := transferType(t, writer, "audit")
			responded := make(chan struct{}, 8)
			var once sync.Once
			b := apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
				if c.Action == lastCall && strings.Contains(c.Body, writer.CompanyID) {
					once.Do(func() {
						<-responded // the other read is done
						if err := audits.Write(t.Context(), writer.CompanyID, []any{replacement}); err != nil {
							t.Error(err)
						}
					})
				}
				response, err := c.Send()
				if err == nil {
					responded <- struct{}{}
				}
				return response, err
			})
			reader := optimise.NewStore(apitest.NewWithTransport(t, optimise.Operations, b).Table)
			importRecords(t, writer, "audit", `{"id":"aud_1","summary":"old","findings":"old"}`)
			ctx, m := apitest.NewRequest(t)
			a, err := reader.Audits.Get(ctx, writer.CompanyID, "aud_1")
			if err != nil {
				t.Fatal(err)
			}
			if *a.Summary != "new" || string(a.Findings) != `"new"` {
				t.Errorf(`summary %q and findings %s, want the new ones`, *a.Summary, a.Findings)
			}
			if m.Usage().Calls != 4 {
				t.Errorf("%d calls, want both reads twice", m.Usage().Calls)
			}
		})
	}
}

// Ensure a missing chunk causes an internal error, not a not_found or an audit without findings.
func TestMissingFindingsChunk(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit", `{"id":"aud_1","findings":`+incompressibleFindings(900_000)+`}`)
	for sk := range storedChunks(t, s, "aud_1") {
		if strings.HasSuffix(sk, "#001") {
			if err := s.Table.BatchDelete(t.Context(), []table.Key{{PK: table.Partition(s.CompanyID, "optimise", "findings", "aud_1"), SK: sk}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Run(t, []apitest.Scenario{{Name: "lost", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_1"}, Want: 500, WantCode: "internal", WantMessage: "safe to retry"}})
}

// Ensure findings that cannot be decompressed cause an internal error, not an audit without
// findings.
func TestFindingsDamaged(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit", `{"id":"aud_1","findings":[1,2,3]}`)
	for sk := range storedChunks(t, s, "aud_1") {
		keys := table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "optimise", "findings", "aud_1"), SK: sk}}
		if err := s.Table.BatchPut(t.Context(), []table.Item{s.Table.NewItem(keys, struct {
			Data []byte `store:"data"`
		}{[]byte("damaged")})}); err != nil {
			t.Fatal(err)
		}
	}
	s.Run(t, []apitest.Scenario{{Name: "damaged", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_1"}, Want: 500, WantCode: "internal"}})
}

// Ensure an import that is aborted before it writes the audits leaves the stored audits and their
// findings intact.
func TestFindingsOfAbortedImport(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit", `{"id":"aud_1","summary":"old","findings":"old"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writes := 0
	b := apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if c.Action == "BatchWriteItem" {
			writes++
		}
		if writes == 2 { // the chunks are written, the audits are not
			cancel()
			return nil, ctx.Err()
		}
		return c.Send()
	})
	crashing := apitest.NewWithTransport(t, optimise.Operations, b)
	replacement := optimise.Audit{AuditSummary: optimise.AuditSummary{ID: "aud_1"}, Findings: json.RawMessage(`"new"`)}
	if err := transferType(t, crashing, "audit").Write(ctx, s.CompanyID, []any{replacement}); err == nil {
		t.Fatal("the import was not aborted")
	}
	if n := len(storedChunks(t, s, "aud_1")); n != 2 {
		t.Errorf("%d chunks, want the current one and the unused one", n)
	}
	if got := getFindings(t, s, s.IssueKey(t), "aud_1"); got != `"old"` {
		t.Errorf(`findings %s, want "old"`, got)
	}
}
