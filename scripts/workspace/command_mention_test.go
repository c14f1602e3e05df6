package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
)

// mentionPattern matches a command line of this program in text that the studio shows. The match
// ends at the next tag, backtick or newline.
var mentionPattern = regexp.MustCompile("\\bworkspace [^<`\\n]+")

// flagPattern matches a flag in a command line.
var flagPattern = regexp.MustCompile(`--([a-z][a-z-]*)`)

// actionPattern matches an action in a Go template, such as {{.Name}}.
var actionPattern = regexp.MustCompile(`\{\{[^}]*\}\}`)

// Ensure each command line that the studio shows names an existing command and existing flags. The
// studio must not import the packages of the command line. So this test searches the studio's
// templates and the string literals in its Go code.
func TestStudioNamesCommands(t *testing.T) {
	t.Parallel()
	found := 0
	err := fs.WalkDir(os.DirFS("../studio"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, text := range visibleStrings(t, name) {
			for _, line := range mentionPattern.FindAllString(text, -1) {
				found++
				checkMention(t, name, line)
			}
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d commands in the texts of the studio, %v", found, err)
	}
}

// visibleStrings returns the strings in a studio file that a page may show: the whole template, or
// the string literals in Go code.
func visibleStrings(t *testing.T, name string) (out []string) {
	t.Helper()
	content, err := os.ReadFile(path.Join("../studio", name))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case path.Ext(name) == ".html":
		return []string{html.UnescapeString(strings.ReplaceAll(string(content), "\\\n", ""))}
	case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Error(err)
				}
				out = append(out, text)
			}
			return true
		})
	}
	return out
}

// checkMention checks that a command and its flags exist. line begins with the name of the program.
func checkMention(t *testing.T, name, line string) {
	t.Helper()
	command := rootCommand(&terminal.Terminal{})
	for _, word := range strings.Fields(line)[1:] {
		var next *cobra.Command
		for _, child := range command.Commands() {
			if child.Name() == strings.TrimRight(word, ".,:") {
				next = child
			}
		}
		if next == nil {
			break
		}
		command = next
	}
	if !command.HasParent() || command.HasSubCommands() {
		t.Errorf("%s: there is no command %q", name, line)
		return
	}
	command.InheritedFlags() // as a side effect, adds the flags of the parent commands to Flags
	for _, f := range flagPattern.FindAllStringSubmatch(actionPattern.ReplaceAllString(line, " "), -1) {
		if command.Flags().Lookup(f[1]) == nil {
			t.Errorf("%s: %q has no flag --%s: %q", name, command.CommandPath(), f[1], line)
		}
	}
}
