package infra_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/version"
)

// Ensure template.yaml is what the declarations say; that it reads as the same tree is a test of infra/cdk, where a
// parser of YAML is at hand.
func TestTemplateIsAsDeclared(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, infra.New().Text()) {
		t.Error("template.yaml is not what the declarations say: run go run ./scripts/gen")
	}
	if !strings.HasPrefix(string(have), "# Made by ") {
		t.Error("template.yaml does not say in its first line that it is made")
	}
}

// Ensure every request reaches the function that answers it, by API Gateway's rules: of the routes that fit, the one
// with the most literal segments, and nothing is left for the gateway to refuse by itself.
func TestRoutes(t *testing.T) {
	t.Parallel()
	const home = "/v1/companies/co_1"
	for path, want := range map[string]string{
		"/v1/companies": "company", home: "company", home + "/keys": "company", home + "/keys/current": "company",
		home + "/nothing": "company", home + "/plans": "company", "/v1": "company", "/v2/companies": "company", "/favicon.ico": "company",
		"/mcp": "mcp", "/mcp/x": "company", "/openapi.json": "openapi", "/": "openapi",
	} {
		checkRoute(t, path, want)
	}
	for _, area := range functions.All() {
		if area.Name != "company" {
			checkRoute(t, home+"/"+area.Name, area.Name)
			checkRoute(t, home+"/"+area.Name+"/a/b/c", area.Name)
		}
		for _, op := range area.Operations(nil) {
			checkRoute(t, op.Path, area.Name)
		}
	}
}

func checkRoute(t *testing.T, path, want string) {
	t.Helper()
	got, best := "", -1
	for _, f := range infra.New().Functions {
		for _, r := range f.Routes {
			if literals, ok := fits(r.Path, path); ok && literals > best {
				got, best = f.Name, literals
			}
		}
	}
	if got != want {
		t.Errorf("%s goes to %q, want %q", path, got, want)
	}
}

// fits tells whether a route takes a path, and how well: a literal segment counts most, then a parameter.
func fits(route, path string) (quality int, ok bool) {
	segments := strings.Split(path, "/")
	for i, s := range strings.Split(route, "/") {
		switch {
		case i >= len(segments):
			return 0, false
		case s == "{proxy+}":
			return quality, segments[i] != ""
		case strings.HasPrefix(s, "{"):
			quality++
		case s != segments[i]:
			return 0, false
		default:
			quality += 2
		}
	}
	return quality, len(segments) == strings.Count(route, "/")+1
}

// gatewayTypes is every type of response that a REST API makes by itself, from API Gateway's documentation.
var gatewayTypes = strings.Fields(`ACCESS_DENIED API_CONFIGURATION_ERROR AUTHORIZER_CONFIGURATION_ERROR AUTHORIZER_FAILURE
	BAD_REQUEST_BODY BAD_REQUEST_PARAMETERS DEFAULT_4XX DEFAULT_5XX EXPIRED_TOKEN INTEGRATION_FAILURE INTEGRATION_TIMEOUT
	INVALID_API_KEY INVALID_SIGNATURE MISSING_AUTHENTICATION_TOKEN QUOTA_EXCEEDED REQUEST_TOO_LARGE RESOURCE_NOT_FOUND
	THROTTLED UNAUTHORIZED UNSUPPORTED_MEDIA_TYPE WAF_FILTERED`)

// Ensure what the gateway refuses by itself wears the envelope, with the status of its code and the headers of every
// answer (decisions.md §11).
func TestGatewayResponses(t *testing.T) {
	t.Parallel()
	var found []string
	for _, r := range infra.New().GatewayResponses {
		found = append(found, r.Type)
		var body struct{ Errors []map[string]string }
		if err := json.Unmarshal([]byte(r.Body()), &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Errors) != 1 || len(body.Errors[0]) != 2 || body.Errors[0]["code"] != string(r.Code) || body.Errors[0]["message"] == "" {
			t.Errorf("%s: %s", r.Type, r.Body())
		}
		// The gateway puts values in for these, and a message that has one would tell what it should not.
		if strings.Contains(r.Body(), "$") {
			t.Errorf("%s: %s", r.Type, r.Body())
		}
		if status, ok := fault.Codes()[r.Code]; !ok || r.Status() != strconv.Itoa(status) {
			t.Errorf("%s: %s with status %s", r.Type, r.Code, r.Status())
		}
		headers := r.Headers()
		for name, want := range map[string]string{
			"Service-Version": "'" + version.Current + "'", "Content-Type": "'application/json'", "Cache-Control": "'no-store'",
			"Service-Request-Id": "context.requestId",
		} {
			if headers[name] != want {
				t.Errorf("%s: %s is %s", r.Type, name, headers[name])
			}
		}
		if after := strings.Trim(headers["Retry-After"], "'"); (after != "") != (r.Status() == "429") || after == "0" {
			t.Errorf("%s, %s: Retry-After is %s", r.Type, r.Status(), after)
		}
		if (headers["WWW-Authenticate"] != "") != (r.Status() == "401") {
			t.Errorf("%s, %s: WWW-Authenticate is %s", r.Type, r.Status(), headers["WWW-Authenticate"])
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, gatewayTypes) {
		t.Errorf("the responses are %v", found)
	}
}

// Ensure the access log is one line of JSON that has neither the query nor a header, and so no key.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var line map[string]string
	if err := json.Unmarshal([]byte(infra.AccessLog()), &line); err != nil {
		t.Fatal(err)
	}
	for name, value := range line {
		if !strings.HasPrefix(value, "$context.") || strings.Contains(strings.ToLower(value), "header") || strings.Contains(value, "authorizer") || value == "$context.requestOverride.querystring" {
			t.Errorf("%s is %s", name, value)
		}
	}
	for _, name := range []string{"requestId", "status", "refusal", "path"} {
		if line[name] == "" {
			t.Errorf("the log has no %s", name)
		}
	}
}

// Ensure alarms and dashboard look at metrics that the functions' log lines have.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	m := infra.New()
	written := metricsOfALine(t)
	for _, a := range m.Alarms {
		for _, metric := range a.Metrics {
			if reflect.DeepEqual(metric.Namespace, infra.StackNamespace()) && metric.Name != infra.GatewayThrottled && !slices.Contains(written, metric.Name) {
				t.Errorf("%s looks at %s, which no line has", a.ID, metric.Name)
			}
		}
	}
	var body struct {
		Widgets []struct{ X, Y, Width, Height int }
	}
	text := m.Dashboard()[0].Value.(infra.List)[0].(string)
	for _, name := range regexp.MustCompile(`"GrowthWorkspace/\$\{AWS::StackName\}","(\w+)"|MetricName=\\"(\w+)`).FindAllStringSubmatch(text, -1) {
		if found := name[1] + name[2]; found != infra.GatewayThrottled && !slices.Contains(written, found) {
			t.Errorf("the dashboard looks at %s, which no line has", found)
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil || len(body.Widgets) == 0 {
		t.Fatalf("%d widgets, %v", len(body.Widgets), err)
	}
	taken := map[[2]int]bool{}
	for _, w := range body.Widgets {
		if at := [2]int{w.X, w.Y}; taken[at] || w.X+w.Width > 24 {
			t.Errorf("a widget at %v", at)
		} else {
			taken[at] = true
		}
	}
}

// metricsOfALine are the names of the metrics that the log line of a request has.
func metricsOfALine(t *testing.T) (names []string) {
	t.Helper()
	var out bytes.Buffer
	api.LogLine{Status: 200}.Write(slog.New(slog.NewJSONHandler(&out, nil)), api.Metrics{Detail: api.ByOperation})
	var line struct {
		Metadata struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for _, d := range line.Metadata.CloudWatchMetrics {
		for _, m := range d.Metrics {
			names = append(names, m.Name)
		}
	}
	return names
}

// Ensure every threshold of an alarm and every reference is to a parameter that there is.
func TestThresholdsAreParameters(t *testing.T) {
	t.Parallel()
	m := infra.New()
	for _, a := range m.Alarms {
		if !slices.ContainsFunc(m.Parameters, func(p infra.Parameter) bool { return p.Name == a.Threshold.Name }) {
			t.Errorf("%s has no parameter %s", a.ID, a.Threshold.Name)
		}
	}
}
