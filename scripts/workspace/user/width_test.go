package user

import "testing"

// Ensure the columns of texts in several scripts, of combining marks and of emojis are those of a
// terminal.
func TestTextWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "a": 1, "é": 1, "e\u0301": 1, "日本": 4, "한": 2, "ＡＢ": 4, "ｱ": 1, "สวัสดี": 4, "مرحبا": 5, "“x”…": 4, "€": 1, "\u200d": 0, "\t": 0,
		"❤": 1, "❤\ufe0f": 2, "1\ufe0f\u20e3": 2, "👍🏽": 2, "👩\u200d💻": 2, "🇫🇷": 2, "🏴\U000E0067\U000E007F": 2,
	} {
		if got := textWidth(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
