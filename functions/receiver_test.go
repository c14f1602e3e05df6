package functions_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	methodReceiver = regexp.MustCompile(`(?m)^func \((\w+) \*?(\w+)`)
	nameWord       = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]+|$)|[a-z0-9]+`)
)

// followsType reports whether a receiver's name follows the name of its type: it begins one of the
// words of that name, or consists of their initials, or ends the name. Inputs are named `in`
// everywhere.
func followsType(receiver, typeName string) bool {
	if receiver == "in" && (strings.HasSuffix(typeName, "Input") || strings.HasSuffix(typeName, "Body")) {
		return true
	}
	words := nameWord.FindAllString(typeName, -1)
	initials := ""
	for _, word := range words {
		initials += strings.ToLower(word[:1])
	}
	for i := range words {
		rest := strings.ToLower(strings.Join(words[i:], ""))
		if strings.HasPrefix(rest, strings.ToLower(receiver)) || strings.HasPrefix(initials[i:], receiver) {
			return true
		}
	}
	return len(receiver) > 2 && strings.HasSuffix(strings.ToLower(typeName), receiver)
}

// Ensure receivers follow their types, and all methods of a type name their receiver alike.
func TestReceivers(t *testing.T) {
	t.Parallel()
	receivers := map[string]string{}
	eachGoFile(t, func(name string, _ []string, text string) {
		for _, m := range methodReceiver.FindAllStringSubmatch(text, -1) {
			receiver, typeName := m[1], m[2]
			if receiver == "_" {
				continue
			}
			if !followsType(receiver, typeName) {
				t.Errorf("%s: the receiver %s does not follow its type %s", name, receiver, typeName)
			}
			id := path.Dir(name) + " " + typeName
			if other := receivers[id]; other != "" && other != receiver {
				t.Errorf("%s: the receiver of %s is %s here and %s elsewhere", name, typeName, receiver, other)
			}
			receivers[id] = receiver
		}
	})
}
