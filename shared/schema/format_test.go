package schema_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the time zone data against which the names are checked

	"growthworkspace/shared/schema"
)

// Ensure each format accepts exactly the valid values. A time zone must be a name in the IANA
// database, including its links. A language must be an existing ISO 639-1 code.
func TestFormatNames(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string]map[string]bool{
		"timezone": {
			"Europe/Berlin": true, "UTC": true, "Etc/GMT+12": true, "America/Argentina/Buenos_Aires": true, "Asia/Calcutta": true, "US/Pacific": true, "Zulu": true,
			"Africa/Abidjan": true, "GMT0": true, "": false, "Local": false, "local": false, "europe/berlin": false, "Europe": false, "Europe/": false, "Mars/Olympus": false, "CEST": false,
			"+02:00": false, "Europe/Berlin\nEurope/Paris": false, "\n": false, " UTC": false, "UTC\x00": false, "../UTC": false, strings.Repeat("a", 10000): false,
		},
		"language": {
			"de": true, "en": true, "aa": true, "zu": true, "iu": true,
			"": false, "DE": false, "De": false, "english": false, "xx": false, "ger": false, "de-DE": false, " ": false, "  ": false, "e ": false, " d": false, "sh": false, "iw": false,
		},
		"origin": {
			"https://example.com": true, "http://localhost:3000": true, "https://a.b-c.example:65535": true, "http://127.0.0.1:1": true, "https://xn--bcher-kva.example": true,
			"https://" + strings.Repeat("a.", 126) + "a:10000": true, "https://" + strings.Repeat("a", 64) + ".example": false,
			"": false, "example.com": false, "https://": false, "https://example.com/": false, "https://example.com/feedback": false, "https://example.com?a": false, "https://example.com#a": false,
			"https://Example.com": false, "HTTPS://example.com": false, "https://*.example.com": false, "*": false, "null": false, "ftp://example.com": false, "https://example.com:": false,
			"https://example.com:0": false, "https://example.com:080": false, "https://example.com:65536": false, "https://example.com:99999": false, "https://user@example.com": false,
			"https://example..com": false, "https://-a.example": false, "https://example.com\n": false, "https://bücher.example": false, " https://example.com": false, "https://example.com.": false,
		},
		"web": {
			"https://example.com": true, "http://example.com/": true, "https://example.com.": true, "https://example.com:/a": true, "https://EXAMPLE.com:65535": true, "https://my_site.example.com": true,
			"http://localhost:1/": true, "http://127.0.0.1": true, "http://[::1]:80/": true, "https://xn--bcher-kva.example/a//b?c=d@e:f#g@h": true, "https://example.com/user:password@b": true,
			"https://" + strings.Repeat("a.", 126) + "a": true, "https://" + strings.Repeat("a.", 127) + "a": false, "https://" + strings.Repeat("a", 64) + ".example": false,
			"https://": false, "https://?a": false, "HTTPS://example.com": false, "": false, "https://.": false, "https://..": false, "https://a..b": false, "https://.a": false, "https://a..": false,
			"https://-a.example": false, "https://a-.example": false, "https://a,b": false, "https://a%2Fb": false, "https://b%C3%BCcher.example": false, "https://[::1": false, "https://[::g]": false, "https://[127.0.0.1]": false,
			"https://a.b:99999": false, "https://a.b:65536": false, "https://a.b:0": false, "https://a.b:http": false, "https://a.b:-1": false,
			"https://user@a.b": false, "https://user:password@a.b": false, "https://:@a.b": false, "https://@a.b": false, "https://user:password@": false,
		},
	} {
		for text, valid := range texts {
			if problem := schema.CheckFormat(format, text); (problem == "") != valid {
				t.Errorf("%s %.100q: problem %q, want it to be valid: %t", format, text, problem, valid)
			}
		}
	}
}

// Ensure the message about an invalid web address says what is wrong, and never contains the
// address's password.
func TestProblemOfWebAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://": "must be an http or https address with a host, for example https://example.com", "https://a..b": "must have a valid host, for example https://example.com",
		"https://a.b:99999": "must have a port between 1 and 65535", "https://user:secret@a..b:0": "must not have a user name or a password",
	} {
		if got := schema.CheckFormat("web", text); got != want {
			t.Errorf("%s: problem %q, want %q", text, got, want)
		}
	}
}

// Ensure every name in schema.Zones is a time zone in Go's own database.
func TestZonesExist(t *testing.T) {
	t.Parallel()
	names := strings.Fields(schema.Zones)
	for _, name := range names {
		if _, err := time.LoadLocation(name); err != nil || schema.CheckFormat("timezone", name) != "" {
			t.Errorf("%s is not a time zone of Go, or is refused: %v", name, err)
		}
	}
	if len(names) < 590 {
		t.Errorf("%d names", len(names))
	}
}
