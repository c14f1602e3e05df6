package metrics

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quickParts reads the texts that encodePoint usually returns, whose strings have no escapes: a list has hundreds. ok is
// false for every other text: encoding/json then decides.
func quickParts(text string, p *Point, ingested **int64) (ok bool) {
	if strings.ContainsAny(text, "\\{ \t\r\n") || !utf8.ValidString(text) || !json.Valid([]byte(text)) || text[0] != '[' {
		return false
	}
	rest := text[1 : len(text)-1]
	for i := 0; rest != "" && i < 5; i++ {
		part := rest
		if rest[0] == '"' {
			part = rest[:strings.IndexByte(rest[1:], '"')+2]
		} else if end := strings.IndexByte(rest, ','); end >= 0 {
			part = rest[:end]
		}
		if part != "null" && !quickPart(i, part, p, ingested) {
			return false
		}
		rest = strings.TrimPrefix(rest[len(part):], ",")
	}
	return true
}

func quickPart(i int, part string, p *Point, ingested **int64) bool {
	switch i {
	case 0, 3:
		f, err := strconv.ParseFloat(part, 64)
		if i == 0 {
			p.Value = &f
		} else {
			p.BaseValue = &f
		}
		return err == nil
	case 1:
		n, err := strconv.ParseInt(part, 10, 64)
		*ingested = &n
		return err == nil
	}
	if part[0] != '"' {
		return false
	}
	s := part[1 : len(part)-1]
	if i == 2 {
		p.Currency = &s
	} else {
		p.Source = &s
	}
	return true
}
