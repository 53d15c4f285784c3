package textguard

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func show(sights []Sight) string {
	var out []string
	for _, s := range sights {
		text := fmt.Sprintf("%d:%04X@%dx%d", s.Kind, s.First, s.Start, s.Count)
		if s.Smuggles {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// Every kind is found where it is, and as often as it is there.
func TestHidden(t *testing.T) {
	bits := func(n int, runes ...rune) string {
		var out strings.Builder
		for i := range n {
			out.WriteRune(runes[i%len(runes)])
		}
		return out.String()
	}
	for text, want := range map[string]string{
		"a\x1b[2Jb\x1b[8m": "0:001B@1x2", "a\u009b31m": "0:009B@1x1", "a\u009d0;title\u009c": "0:009D@1x2",
		"a\x00b\x07\x08": "1:0000@1x3", "\x7f": "1:007F@0x1", "\v\f": "1:000B@0x2", "safe\revil": "1:000D@4x1",
		"\r\r\rab\rc\r\r\n": "1:000D@0x4", "don\u0092t": "2:0092@3x1", "\u0085": "2:0085@0x1",
		"hi\U000e0068\U000e0069": "3:E0068@2x2", "\U000e0001": "3:E0001@0x1", "\u202eevil\u202c": "4:202E@0x2",
		"a\u2066b\u2069": "4:2066@1x2", "zero\u200bwidth": "5:200B@4x1", "soft\u00adhyphen": "5:00AD@4x1",
		"\ufeffbom": "5:FEFF@0x1", "\u3164\u115f\uffa0\u1160": "5:3164@0x4", "\ue000\U000f0000": "5:E000@0x2",
		"a\u200db": "5:200D@1x1", "a\u200cb": "5:200C@1x1", "\u2800": "5:2800@0x1", "line\u2028end": "5:2028@4x1",
		"a\ufe0f": "5:FE0F@1x1", "1\ufe0f": "5:FE0F@1x1", "漢\ufe0f": "5:FE0F@3x1", "\u2064\u2062": "5:2064@0x2",
		"not UTF-8 \xff": "5:FFFD@10x1", "left\u200emark": "5:200E@4x1", "\ufdd0\uffff": "5:FDD0@0x2",
		"😀" + bits(12, 0xe0100, 0xe0101, 0xe01ef): "5:E0100@4x12!",
		"😀" + bits(9, 0xfe00, 0xfe0f):             "5:FE00@4x9!",
		bits(8, 0x200b, 0x200c):                   "5:200B@0x8!",
		bits(7, 0x200b, 0x200c):                   "5:200B@0x7",
		bits(64, 'a', 0x200b):                     "5:200B@1x32!",
		bits(40, 'a', 0x00ad):                     "5:00AD@1x20",
		bits(200, 'a', 0x00ad):                    "5:00AD@1x100",
		bits(80, 0x200e, 'a'):                     "5:200E@0x40!",
		"🏴\U000e0067\U000e0062\U000e0065":         "3:E0067@4x3",
		"🏴\U000e0075\U000e0073\U000e007f":         "3:E0075@4x3",
		"\x1b\u202e\u200b":                        "0:001B@0x1 4:202E@1x1 5:200B@4x1",
		"👩\u200d\u200d💻":                          "5:200D@4x2",
		"👩\u200dx":                                "5:200D@4x1",
		"👩\u200c💻":                                "5:200C@4x1",
	} {
		assert.Equal(t, show(Hidden(text)), want, "%+q", text)
	}
}

// What belongs to how people write is not hidden.
func TestHiddenLeavesWritingAlone(t *testing.T) {
	for _, text := range []string{
		"", "plain\ttext\r\n", "ünïcödé – “quotes”… €", "日本語テキスト、中文，한국어", "Ελληνικά Русский Հայերեն",
		"👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️‍🔥 👩🏽‍🚀 🧑🏿‍🤝‍🧑🏻 🏴‍☠️", "☀️ ✔️ ⚠️ ℹ️ ‼️ ©️ ®️ ™️ ↔️ Ⓜ️ 〰️ ㊗️ ▶︎", "1️⃣ #️⃣ *️⃣", "🇩🇪🇫🇷",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
		"می\u200cخواهم", "क्\u200dष और श्र", "ക്\u200dഷ ന്\u200d", "عربي \u200fنص\u200e 12", "עברית \u200eABC\u200f טקסט",
		"ᠠ\u180b", "葛\U000e0100", "a\u0301e\u0308", "∩\ufe00", "✋🏽", "\ufffd", "\u00a0 non\u2011breaking\u2003spaces",
	} {
		assert.Equal(t, show(Hidden(text)), "", "%+q", text)
	}
}

func FuzzHidden(f *testing.F) {
	for _, seed := range []string{"a\x1b[2J", "👩\u200d💻\ufe0f", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "क्\u200dष", "\xff\xfe", "\u200e\u05d0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, s := range Hidden(text) {
			total += s.Count
			r, _ := utf8.DecodeRuneInString(text[s.Start:])
			assert.Equal(t, r, s.First, "%+q: the character at %d", text, s.Start)
			assert.False(t, s.Count < 1, "%+q: %d is no count", text, s.Count)
		}
		assert.False(t, total > utf8.RuneCountInString(text), "%+q: %d are more than there are", text, total)
	})
}
