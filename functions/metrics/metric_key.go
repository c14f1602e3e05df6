package metrics

import (
	"strconv"
	"strings"

	"growthworkspace/shared/schema"
)

// A metric has two names, such as signups and custom.signups. Its stored key is the name that has a
// definition, and callers may send either name. See scripts/docs/reference/metrics.md.

// customPrefix is the prefix of the stored keys of metrics that nobody has defined, and of metrics
// specific to the company.
const customPrefix = "custom."

// plainKeyCharsMax limits the length of a key without customPrefix. It leaves room for adding the
// prefix, so that the stored key still fits in a sort key.
const plainKeyCharsMax = 120

// keyCharsMax limits the length of a key including customPrefix.
const keyCharsMax = len(customPrefix) + plainKeyCharsMax

// keyPattern is the pattern that API inputs declare as `metricKey`. Imports have no input schema,
// so checkKey applies it itself. A valid key cannot contain the separator of table keys.
var keyPattern = schema.Pattern("metricKey")

// checkKey returns the problem with a metric key, or "" if it is valid.
func checkKey(key string) string {
	if !keyPattern.MatchString(key) {
		return "must match " + keyPattern.String()
	}
	return checkKeyLength(key)
}

// checkKeyLength is the part of checkKey that an input schema cannot express.
func checkKeyLength(key string) string {
	if len(key) <= plainKeyCharsMax || isCustom(key) && len(key) <= keyCharsMax {
		return ""
	}
	return "must have at most " + strconv.Itoa(plainKeyCharsMax) + " characters, or " + strconv.Itoa(keyCharsMax) +
		" when it begins with " + customPrefix + ", has " + strconv.Itoa(len(key))
}

// keyProblems returns the problem found by checkKeyLength, prefixed with the path of an argument.
// The input's schema has already refused keys longer than keyCharsMax.
func keyProblems(path, key string) []string {
	if wrong := checkKeyLength(key); wrong != "" && len(key) <= keyCharsMax {
		return []string{path + ": " + wrong}
	}
	return nil
}

func isCustom(key string) bool { return strings.HasPrefix(key, customPrefix) }

// customName returns whichever of a metric's two names starts with customPrefix.
func customName(key string) string {
	if isCustom(key) {
		return key
	}
	return customPrefix + key
}

// aliasOf returns the second name of a metric: K for custom.K, and custom.K for K. It returns ""
// if the second name would be invalid, as for custom.1, or if the key starts with the prefix twice,
// because custom.custom.K is not a third name of K.
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

// namesOf returns both names of a metric, or the only one if it has no second name.
func namesOf(key string) []string {
	if other := aliasOf(key); other != "" {
		return []string{key, other}
	}
	return []string{key}
}

// storedKey returns the key of the definition that a name refers to: the name itself if it is
// defined, otherwise the metric's other name if that one is defined. If neither is defined, it
// returns the name and false.
func storedKey(name string, known map[string]Definition) (key string, defined bool) {
	for _, key := range namesOf(name) {
		if _, ok := known[key]; ok {
			return key, true
		}
	}
	return name, false
}
