package metrics

import (
	"strconv"
	"strings"

	"growthworkspace/shared/schema"
)

// A metric has two names, such as signups and custom.signups. The stored key is the one with a
// definition, and callers may send either. See scripts/docs/reference/metrics.md.

// customPrefix starts the stored keys of metrics that nobody has defined, and of metrics specific
// to the company.
const customPrefix = "custom."

// plainCharsMax bounds a key without the prefix custom.; the prefix may be added to it. So a stored
// key fits into a sort key.
const plainCharsMax = 120

// keyCharsMax bounds a key with the prefix.
const keyCharsMax = len(customPrefix) + plainCharsMax

// keyPattern is the pattern that API inputs declare as `metricKey`. Imports declare no inputs, so
// checkKey applies it itself. A valid key cannot contain the separator of table keys.
var keyPattern = schema.Pattern("metricKey")

// checkKey returns the problem with a metric key, or "" when it is valid.
func checkKey(key string) string {
	if !keyPattern.MatchString(key) {
		return "must match " + keyPattern.String()
	}
	return checkKeyLength(key)
}

// checkKeyLength is the part of checkKey that the schema of an input cannot state.
func checkKeyLength(key string) string {
	if len(key) <= plainCharsMax || isCustom(key) && len(key) <= keyCharsMax {
		return ""
	}
	return "must have at most " + strconv.Itoa(plainCharsMax) + " characters, or " + strconv.Itoa(keyCharsMax) +
		" when it begins with " + customPrefix + ", has " + strconv.Itoa(len(key))
}

// keyProblems returns the problem of checkKeyLength with the path of an argument. The schema of the
// input has refused longer keys.
func keyProblems(path, key string) []string {
	if wrong := checkKeyLength(key); wrong != "" && len(key) <= keyCharsMax {
		return []string{path + ": " + wrong}
	}
	return nil
}

// isCustom reports whether a key has the prefix custom.
func isCustom(key string) bool { return strings.HasPrefix(key, customPrefix) }

// customName returns the name of a metric with the prefix custom.
func customName(key string) string {
	if isCustom(key) {
		return key
	}
	return customPrefix + key
}

// aliasOf returns the second name of a metric: K for custom.K, and custom.K for K. It is "" for a
// key whose second name would be invalid (custom.1), and for a key that begins with the prefix
// twice: custom.custom.K is not a third name of K.
func aliasOf(key string) string {
	plain, custom := strings.CutPrefix(key, customPrefix)
	switch {
	case !custom:
		return customPrefix + key
	case isCustom(plain) || !keyPattern.MatchString(plain):
		return ""
	}
	return plain
}

// namesOf returns both names of a metric, or the only one.
func namesOf(key string) []string {
	if other := aliasOf(key); other != "" {
		return []string{key, other}
	}
	return []string{key}
}

// storedKey returns the key of the definition that a name means: the name itself, or the metric's
// other name if only that is defined. defined is false when neither is in known; key is then the
// name.
func storedKey(name string, known map[string]Definition) (key string, defined bool) {
	for _, key := range namesOf(name) {
		if _, ok := known[key]; ok {
			return key, true
		}
	}
	return name, false
}
