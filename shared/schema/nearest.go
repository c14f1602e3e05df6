package schema

import "strings"

// Nearest returns the name that the caller most likely meant, or "" if none is near. It ignores
// letter case, hyphens and underscores. A name is near if at most a third of the letters differ, or
// if sent is the beginning or the end of the name. Of several equally near names, Nearest returns
// the first. If sent is longer than nearestBytesMax bytes, it returns "".
func Nearest(sent string, names []string) string {
	if len(sent) > nearestBytesMax {
		return ""
	}
	sent = normalizeName(sent)
	best, distanceMax := "", len(sent)/3
	for _, name := range names {
		other := normalizeName(name)
		if len(other) > len(sent)+distanceMax || len(other) < len(sent)-distanceMax {
			continue // the work grows with the square of the length
		}
		if d := distance(sent, other); d <= distanceMax && sent != "" {
			best, distanceMax = name, d-1
		}
	}
	if best != "" || len(sent) < minPartChars {
		return best
	}
	for _, name := range names {
		if other := normalizeName(name); strings.HasPrefix(other, sent) || strings.HasSuffix(other, sent) {
			return name
		}
	}
	return ""
}

// nearestBytesMax limits the time and the memory for a comparison, which grow with the square of
// the names' length. No name that a caller can store is longer.
const nearestBytesMax = 250

// minPartChars is the minimum length of a string that may match as the beginning or the end of a
// name.
const minPartChars = 4

var wordJoiners = strings.NewReplacer("-", "", "_", "")

func normalizeName(name string) string { return wordJoiners.Replace(strings.ToLower(name)) }

// distance returns the minimum number of edits that turn a into b, each of which inserts, removes
// or replaces a letter or swaps two adjacent ones. It is the Damerau–Levenshtein distance, except
// that swapped letters are not edited again.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j] is the distance between the first i letters of a and the first j of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// suggestionsMax is the number of problems after which no more names are suggested, because a
// request may contain thousands of unknown names.
const suggestionsMax = 20

// didYouMean returns the suggestion at the end of a message about an unknown name, or "" if there
// is none.
func (b *Binder) didYouMean(sent string, names []string) string {
	if len(b.Problems) >= suggestionsMax {
		return ""
	}
	if nearest := Nearest(sent, names); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
