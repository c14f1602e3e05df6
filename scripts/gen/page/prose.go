package page

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
)

func escaped(text string) string { return html.EscapeString(text) }

var codeSpan = regexp.MustCompile("`([^`]+)`")

// prose is a line of Markdown as the declarations and the guide have it: text, and code between backticks.
func prose(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(escaped(text), "<code>$1</code>"))
}

// chapter is a part of the guide.
type chapter struct {
	ID, Title string
	Body      template.HTML
	Extra     string // the template that shows what the page adds, empty for none
	Scopes    []scope
	Lists     []listLimits
	Quotas    []quota
	Versions  []string
	Envelope  template.HTML
}

// chapters splits the guide at its headings. What comes before the first is the introduction.
func chapters(markdown string) (intro template.HTML, out []chapter, err error) {
	parts := strings.Split("\n"+markdown, "\n## ")
	if intro, err = blocks(parts[0]); err != nil {
		return "", nil, err
	}
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		body, err := blocks(rest)
		if err != nil {
			return "", nil, err
		}
		out = append(out, chapter{ID: anchor(title), Title: title, Body: body})
	}
	return intro, out, nil
}

// anchor spells `Rate limits` as rate-limits.
func anchor(title string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(title), "-"), "-")
}

// blocks are paragraphs and tables. It refuses other Markdown, which the page would show as it is.
func blocks(markdown string) (template.HTML, error) {
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(markdown), "\n\n") {
		switch {
		case strings.HasPrefix(block, "|"):
			out.WriteString(table(block))
		case strings.ContainsAny(block[:min(1, len(block))], "#-*>1") || strings.Contains(block, "```"):
			return "", fmt.Errorf("the guide has Markdown that the page does not know: %s", block)
		default:
			out.WriteString("<p>" + string(prose(strings.ReplaceAll(block, "\n", " "))) + "</p>\n")
		}
	}
	return template.HTML(out.String()), nil
}

// table is a Markdown table. Its first column is a row's heading, which others can link to by its text.
func table(block string) string {
	var out strings.Builder
	out.WriteString("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	for i, line := range strings.Split(block, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		switch i {
		case 0:
			out.WriteString("<thead><tr>")
			for _, c := range cells {
				out.WriteString("<th scope=\"col\">" + string(prose(strings.TrimSpace(c))) + "</th>")
			}
			out.WriteString("</tr></thead>\n<tbody>\n")
		case 1: // dashes
		default:
			for j, c := range cells {
				text := strings.TrimSpace(c)
				if j == 0 {
					out.WriteString(`<tr id="code-` + anchor(text) + `"><th scope="row">` + string(prose(text)) + "</th>")
					continue
				}
				out.WriteString("<td>" + string(prose(text)) + "</td>")
			}
			out.WriteString("</tr>\n")
		}
	}
	out.WriteString("</tbody></table></div>\n")
	return out.String()
}
