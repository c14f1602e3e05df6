package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// programName is the name of the installed program.
const programName = "workspace"

// goRun is the command that the documentation uses to start the program from a clone.
const goRun = "go run ./scripts/" + programName

// ProgramCommand returns the words with which a user can start this program from a shell. Commands
// that the program suggests begin with these words.
func ProgramCommand() string {
	executable, err := os.Executable()
	if err != nil {
		return programName
	}
	installedPath, _ := exec.LookPath(programName) // "" if the program is not on PATH
	return programOf(executable, installedPath, os.Args[0])
}

// programOf returns programName if the executable is the installed program, or goRun if `go run`
// built it. Otherwise, it returns the path with which the program was started.
func programOf(executable, installedPath, arg0 string) string {
	switch {
	case builtByGoRun(executable):
		return goRun
	case sameFile(executable, installedPath):
		return programName
	}
	return QuoteArgument(arg0)
}

// ErrTemporaryProgram means that `go run` built this program in a temporary folder, which Go
// removes afterwards.
var ErrTemporaryProgram = errors.New("this program was built by go run, in a temporary folder")

// ProgramPath returns the absolute path of this program, so that other programs can start it later.
// It returns ErrTemporaryProgram if the program at that path will be removed.
func ProgramPath() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	installedPath, _ := exec.LookPath(programName) // "" if it is not on PATH
	return programPathOf(executable, installedPath)
}

// programPathOf returns the path of the installed program if it is this executable. This path may
// be a link that still works after the program is updated. Otherwise it returns the path of the
// executable.
func programPathOf(executable, installedPath string) (string, error) {
	switch {
	case builtByGoRun(executable):
		return "", ErrTemporaryProgram
	case sameFile(executable, installedPath):
		return filepath.Abs(installedPath)
	}
	return filepath.Abs(executable)
}

// QuoteArgument returns a word for a command line, in quotes if a shell would otherwise change it.
// zsh replaces a word that begins with an equals sign, and uses ^ in patterns.
func QuoteArgument(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n'\"$&;()*?[]{}#~<>|`\\!=^") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// goCachePattern matches the name of an executable's folder in the go command's cache.
var goCachePattern = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

// builtByGoRun reports whether `go run` built the executable. On its first run, the executable is
// in a temporary folder. On later runs, it is in the cache of the go command.
func builtByGoRun(executable string) bool {
	dir := filepath.Dir(executable)
	temporary := filepath.Base(dir) == "exe" && strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(dir))), "go-build")
	return temporary || goCachePattern.MatchString(filepath.Base(dir))
}

func sameFile(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// Command formats a command line of this program to suggest to the user. Every suggested command
// line comes from it.
func (t *Terminal) Command(format string, args ...any) string {
	return cmp.Or(t.Program, programName) + " " + fmt.Sprintf(format, args...)
}

// NameProgram makes the help of every command show the program's name as the user typed it. It
// changes usage lines, examples and the indented lines of descriptions, but not names in sentences.
func (t *Terminal) NameProgram(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: cmp.Or(t.Program, programName)}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	line := regexp.MustCompile(`(?m)^(  .*?)\b` + programName + ` (` + strings.Join(names, "|") + `)\b`)
	var rename func(*cobra.Command)
	rename = func(c *cobra.Command) {
		for _, text := range []*string{&c.Long, &c.Example} {
			*text = line.ReplaceAllString(*text, "${1}"+t.Command("$2"))
		}
		for _, child := range c.Commands() {
			rename(child)
		}
	}
	rename(root)
}
