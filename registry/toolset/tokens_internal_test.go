package toolset

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
)

// The estimate is held against what o200k_base makes of the definitions of real
// servers.
func TestEstimateOfRealDefinitions(t *testing.T) {
	want, got, tools := 0, 0, 0
	low, high := 1.0, 1.0
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			def := &registry.Definition{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema}
			n := estimateTokensIn(appendDefinition(nil, def))
			share := float64(n) / float64(tool.Tokens)
			wantBetween(t, share, 0.75, 1.3, "%s/%s, tokens are estimated", s.Name, tool.Name)
			low, high = min(low, share), max(high, share)
			want, got, tools = want+tool.Tokens, got+n, tools+1
		}
	}
	share := float64(got) / float64(want)
	t.Logf("%d definitions: %d tokens are estimated, %d counted: %.3f in all, from %.2f to %.2f each", tools, got, want, share, low, high)
	wantBetween(t, share, 0.95, 1.1, "in all")
}

// Texts of all kinds, with what o200k_base makes of them. What is not English may
// be taken for more, but hardly for less.
func TestEstimateOfTexts(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"በማከማቻው ውስጥ አዲስ ጉዳይ ይፈጥራል። ርዕስ ያስፈልጋል።", 68},
		{"ينشئ مشكلة جديدة في المستودع. العنوان مطلوب ويمكن استخدام التنسيق في النص.", 20},
		{"သိုလှောင်ရုံတွင် ပြဿနာအသစ်တစ်ခု ဖန်တီးသည်။ ခေါင်းစဉ် လိုအပ်သည်။", 38},
		{"搜索与查询相关的文档，并按照更新时间排序返回最多十个结果。如果没有找到任何文档，则返回空列表。", 27},
		{"在儲存庫中建立一個新的議題，並指派給使用者。標題為必填欄位，內容可以使用標記語言。", 37},
		{"for (let i = 0; i < items.length; i++) {\n    if (items[i].id === userId) {\n        return items[i];\n    }\n}", 36},
		{"\"Use \\\"quotes\\\" and\\n\\n- a list\\n- of things\\n\\n```json\\n{\\\"a\\\": 1}\\n```\"", 29},
		{"Crée un nouveau ticket dans le dépôt. Le titre est requis et la description peut être mise en forme où c'est nécessaire.", 26},
		{"Erstellt einen neuen Vorgang im Repository. Der Titel ist erforderlich; für die Beschreibung können Überschriften und Aufzählungen verwendet werden.", 28},
		{"Δημιουργεί ένα νέο ζήτημα στο αποθετήριο. Ο τίτλος είναι υποχρεωτικός.", 26},
		{"יוצר בעיה חדשה במאגר. הכותרת היא חובה וניתן להשתמש בעיצוב בטקסט.", 24},
		{"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43},
		{"रिपॉज़िटरी में एक नई समस्या बनाता है। शीर्षक आवश्यक है और विवरण में मार्कडाउन का उपयोग किया जा सकता है।", 30},
		{"リポジトリに新しい課題を作成します。タイトルは必須です。本文にはマークダウンを使用できます。", 31},
		{"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"description\":\"The name\"},\"b\":{\"type\":[\"integer\",\"null\"],\"minimum\":1,\"maximum\":100}},\"required\":[\"a\"],\"additionalProperties\":false,\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", 62},
		{"저장소에 새 이슈를 만듭니다. 제목은 필수이며 본문에는 마크다운을 사용할 수 있습니다.", 29},
		{strings.Repeat("1234567890", 10), 34},
		{"Tworzy nowe zgłoszenie w repozytorium. Tytuł jest wymagany, a w treści można używać znaczników.", 31},
		{"Создаёт новую задачу в репозитории. Заголовок обязателен, в тексте можно использовать разметку.", 27},
		{"get_user_profile_by_external_identifier_and_organization_slug createOrUpdateRepositoryEnvironmentSecret", 16},
		{"களஞ்சியத்தில் ஒரு புதிய சிக்கலை உருவாக்குகிறது. தலைப்பு தேவை.", 19},
		{"สร้างปัญหาใหม่ในที่เก็บ ต้องระบุชื่อเรื่อง และสามารถใช้มาร์กดาวน์ในเนื้อหาได้", 27},
		{"Depoda yeni bir konu oluşturur. Başlık zorunludur ve içerikte biçimlendirme kullanılabilir.", 24},
		{"THIS IS AN IMPORTANT NOTICE. DO NOT USE THIS TOOL WITHOUT PERMISSION OF THE ADMINISTRATOR.", 20},
		{"550e8400-e29b-41d4-a716-446655440000 123e4567-e89b-12d3-a456-426614174000", 37},
		{"Tạo một vấn đề mới trong kho lưu trữ. Tiêu đề là bắt buộc và có thể dùng định dạng trong nội dung.", 29},
	} {
		got := estimateTokensIn([]byte(c.text))
		wantBetween(t, float64(got), 0.85*float64(c.want), math.MaxInt, "%d tokens are estimated, %d counted", got, c.want)
		wantBetween(t, got, 0, 2*c.want, "%d tokens are estimated, %d counted", got, c.want)
	}
}

func TestEstimateOfOddTexts(t *testing.T) {
	for text, want := range map[string][2]int{
		"":                              {0, 0},
		" ":                             {1, 2},
		"a":                             {1, 1},
		"\xff\xfe":                      {2, 6},
		strings.Repeat(" ", 1_000):      {1, 20},
		strings.Repeat("=", 1_000):      {10, 1_000},
		strings.Repeat("x", 1_000):      {100, 1_000},
		strings.Repeat("\U0001f600", 9): {9, 40},
	} {
		got := estimateTokensIn([]byte(text))
		wantBetween(t, got, want[0], want[1], "%.20q", text)
	}
	text := []byte(strings.Repeat("Füge ein {\"a\": 1}, 日本 ", 100))
	assert.Equal(t, testing.AllocsPerRun(10, func() { estimateTokensIn(text) }), 0, "allocations")
}

// What is counted is what the recorded counts are of.
func TestDefinitionText(t *testing.T) {
	def := &registry.Definition{Name: "a", Title: "A", Description: "é\n\"<b>\"", InputSchema: json.RawMessage("{ \"type\": \"object\" }"), OutputSchema: json.RawMessage(`{}`)}
	const want = `{"name":"a","description":"é\n\"<b>\"","inputSchema":{"type":"object"}}`
	assert.Equal(t, string(appendDefinition(nil, def)), want)
}

func BenchmarkEstimate(b *testing.B) {
	var text []byte
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			text = appendDefinition(text, &registry.Definition{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
		}
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		estimateTokensIn(text)
	}
}

// TestTokensOfServerNames: what search_tools says of servers counts like the rest of it.
func TestTokensOfServerNames(t *testing.T) {
	r := registry.New(nil)
	f := assert.Value(New(r, nil))(t)
	for i := range 40 {
		server := fmt.Sprintf("server-of-department-%d", i)
		tool := &bareTool{&registry.Definition{InputSchema: json.RawMessage(`{}`), Origin: registry.Origin{Server: server, Tool: "x"}}}
		assert.Value(r.Replace(registry.Server{Name: server}, []registry.Tool{tool}))(t)
	}
	set := f.Toolset(t.Context(), &SetOptions{Share: -1})
	want := 0
	for _, tool := range set.Tools {
		want += estimateTokensIn(appendDefinition(nil, tool.Definition()))
	}
	assert.Equal(t, set.Tokens, want, "tokens: tokens")
	wantBetween(t, want, 40*5, math.MaxInt, "tokens")
}
