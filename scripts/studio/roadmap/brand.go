package roadmap

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Brand is the look of a board's page. No field can contain other CSS: the colours, such as
// #2f5d50, are parsed and formatted again, and the fonts are plain names. If a field is empty, the
// page uses its default.
type Brand struct {
	Accent, AccentDark string // for headings and links, on a light and on a dark page
	Ground, Ink        string // the background and the text of a light page
	Heading, Body      string // names of fonts, which the page does not load
}

// The colours of the page without a brand.
const (
	darkGround  = "#121316"
	lightGround = "#f6f7f9"
	quietInk    = "#5b6270"
	card        = "#ffffff"
)

// contrastMin is the minimum contrast between text and its background that WCAG 2 requires.
const contrastMin = 4.5

// Names under which a brand kit may store colours and fonts, in order of preference. A kit may also
// use any other names.
var (
	accentNames  = []string{"primary", "brand", "accent", "main", "secondary"}
	groundNames  = []string{"paper", "background", "ground", "surface"}
	inkNames     = []string{"ink", "text", "foreground"}
	headingNames = []string{"heading", "headings", "display", "title", "primary"}
	bodyNames    = []string{"body", "text", "base", "secondary", "primary"}
)

// ReadBrand chooses the look of the page from the colours and fonts in a brand kit. These may be
// any JSON. It makes a colour darker or lighter, or leaves it out, if text in that colour would be
// hard to read.
func ReadBrand(colors, fonts []byte) (b Brand) {
	findNamed := func(text []byte, names []string, valid func(string) bool) string {
		var all any
		if json.Unmarshal(text, &all) != nil {
			return ""
		}
		for _, name := range names {
			if value := findString(all, name, valid, 0); value != "" {
				return value
			}
		}
		return ""
	}
	isColor := func(text string) bool { _, ok := parseColor(text); return ok }
	ground := mustColor(lightGround)
	if c, ok := parseColor(findNamed(colors, groundNames, isColor)); ok && contrast(c, mustColor(quietInk)) >= contrastMin {
		b.Ground, ground = c.String(), c
	}
	if c, ok := parseColor(findNamed(colors, inkNames, isColor)); ok && contrast(c, ground) >= 7 && contrast(c, mustColor(card)) >= 7 {
		b.Ink = c.String()
	}
	if c, ok := parseColor(findNamed(colors, accentNames, isColor)); ok {
		b.Accent, b.AccentDark = ensureContrast(c, ground).String(), ensureContrast(c, mustColor(darkGround)).String()
	}
	b.Heading, b.Body = findNamed(fonts, headingNames, fontPattern.MatchString), findNamed(fonts, bodyNames, fontPattern.MatchString)
	return b
}

// fontPattern matches the name of a font.
var fontPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 -]{0,39}$`)

// findString searches value, and the values inside it, for a property or an object that has the
// given name. It returns the first valid string in one of these.
func findString(value any, name string, valid func(string) bool, depth int) string {
	if depth > 4 {
		return ""
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if found := findString(one, name, valid, depth+1); found != "" {
				return found
			}
		}
	case map[string]any:
		own, _ := v["name"].(string)
		for _, key := range sortedKeys(v) {
			if strings.EqualFold(key, name) || strings.EqualFold(own, name) && key != "name" {
				if found := firstString(v[key], valid); found != "" {
					return found
				}
			}
			if found := findString(v[key], name, valid, depth+1); found != "" {
				return found
			}
		}
	}
	return ""
}

// firstString returns a valid string: the value itself, or one of its properties, such as "hex".
func firstString(value any, valid func(string) bool) string {
	switch v := value.(type) {
	case string:
		if text := strings.TrimSpace(v); valid(text) {
			return text
		}
	case map[string]any:
		for _, key := range []string{"hex", "value", "color", "family"} {
			if text, ok := v[key].(string); ok && valid(strings.TrimSpace(text)) {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

func sortedKeys(m map[string]any) (out []string) {
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// rgb is a colour. Its components are between 0 and 255.
type rgb [3]float64

func (r rgb) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(r[0])), int(math.Round(r[1])), int(math.Round(r[2])))
}

var hexPattern = regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)

// parseColor reads a colour such as #2f5d50 or #fa0.
func parseColor(text string) (c rgb, ok bool) {
	if !hexPattern.MatchString(text) {
		return c, false
	}
	digits := text[1:]
	for i := range c {
		part := digits[i*len(digits)/3 : (i+1)*len(digits)/3]
		if len(part) == 1 {
			part += part
		}
		n, err := strconv.ParseUint(part, 16, 8)
		if err != nil {
			return c, false
		}
		c[i] = float64(n)
	}
	return c, true
}

func mustColor(text string) rgb {
	c, ok := parseColor(text)
	if !ok {
		panic("not a colour: " + text)
	}
	return c
}

// ensureContrast returns the colour, unless text in that colour would be hard to read on the
// background colour ground. In that case, it returns the nearest mixture with black or white that
// is easy to read.
func ensureContrast(c, ground rgb) rgb {
	end := rgb{}
	if luminance(ground) < 0.18 {
		end = rgb{255, 255, 255}
	}
	for step := range 21 {
		part := float64(step) / 20
		var mixed rgb
		for i := range mixed {
			mixed[i] = math.Round(c[i]*(1-part) + end[i]*part)
		}
		if contrast(mixed, ground) >= contrastMin {
			return mixed
		}
	}
	return end
}

// contrast returns the contrast of two colours as WCAG 2 defines it, from 1 to 21.
func contrast(a, b rgb) float64 {
	light, dark := luminance(a), luminance(b)
	if light < dark {
		light, dark = dark, light
	}
	return (light + 0.05) / (dark + 0.05)
}

func luminance(c rgb) float64 {
	linear := func(part float64) float64 {
		if part /= 255; part <= 0.04045 {
			return part / 12.92
		}
		return math.Pow((part+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// webAddress returns the text as an http or https URL, or "" if it is not one.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.String()
}
