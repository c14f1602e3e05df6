package schema_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the names are checked against the zones

	"growthworkspace/shared/schema"
)

// Ensure a time zone is a name of the IANA database, links included, and a language a code of ISO 639-1 that exists.
func TestNames(t *testing.T) {
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
		"web": {"https://example.com": true, "http://example.com/": true, "https://": false, "https://?a": false, "HTTPS://example.com": false, "": false},
	} {
		for text, valid := range texts {
			if wrong := schema.CheckFormat(format, text); (wrong == "") != valid {
				t.Errorf("%s %.100q: %q", format, text, wrong)
			}
		}
	}
}

// Ensure every name of the list is a time zone that Go's own database has.
func TestZonesExist(t *testing.T) {
	t.Parallel()
	names := strings.Fields(schema.Zones)
	for _, name := range names {
		if _, err := time.LoadLocation(name); err != nil || schema.CheckFormat("timezone", name) != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(names) < 590 {
		t.Errorf("%d names", len(names))
	}
}
