// Tests of index.go, call_tool.go, summary.go and tokens.go, from inside.

package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

type bareTool struct{ def *registry.Definition }

func (t *bareTool) Definition() *registry.Definition { return t.def }

func (t *bareTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// newFinder returns a registry with its Finder.
func newFinder(t *testing.T, of *registry.Options) (*registry.Registry, *Finder) {
	t.Helper()
	r := registry.New(of)
	return r, assert.Value(New(r, nil))(t)
}

// offer replaces the tools of a server.
func offer(t *testing.T, r *registry.Registry, server string, names ...string) {
	t.Helper()
	var tools []registry.Tool
	for _, n := range names {
		tools = append(tools, &bareTool{&registry.Definition{InputSchema: json.RawMessage(`{}`), Origin: registry.Origin{Server: server, Tool: n}}})
	}
	assert.Value(r.Replace(registry.Server{Name: server}, tools))(t)
}

// The index holds what is listed, and nothing of what is gone.
func TestSearchIndexHoldsWhatIsListed(t *testing.T) {
	r, f := newFinder(t, &registry.Options{Ledger: ledger.New(nil)})
	for _, names := range []string{"b d f", "b d f held_back", "d", "b d f", "b f", ""} {
		offer(t, r, "s", strings.Fields(names)...)
		assert.Value(f.Search(t.Context(), Query{Text: "x"}))(t)
		assert.Equal(t, f.index.words.Len(), len(strings.Fields(strings.TrimSuffix(names, " held_back"))), "%q: tools in the index", names)
	}
}

// What a misspelt word means is asked for a few words only: it takes all words of the
// index to tell.
func TestFewMisspeltWords(t *testing.T) {
	words := bm25.New(bm25.Options{})
	words.Put("a", []string{"invoice"})
	words.Put("b", []string{"pay"})
	text := "pay invoyce invoicce invvoice inoice invice invoie invoixe invpice incoice"
	for i, term := range toolrank.NewQuery(text).In(words)[1:] {
		assert.Equal(t, slices.ContainsFunc(term.Alternatives, func(a bm25.Alternative) bool { return a.Text == "invoice" }), i < toolrank.MaxNear, "word %d", i)
	}
}

// Who waited while others followed a later snapshot does not turn the index back.
func TestSearchIndexNeverGoesBack(t *testing.T) {
	r := registry.New(nil)
	before := r.Snapshot()
	assert.OK(t, r.Add(&bareTool{&registry.Definition{Name: "pay", InputSchema: json.RawMessage(`{}`)}}))
	ix := newSearchIndex(r.Names(), nil)
	for _, s := range []*registry.Snapshot{before, r.Snapshot(), before} {
		assert.OK(t, ix.follow(t.Context(), s))
	}
	assert.Equal(t, ix.version, r.Snapshot().Version(), "version")
	assert.Equal(t, ix.words.Len(), 1, "version")
}

// The words of a tool are bounded together, and what says most comes first.
func TestWordsOfATool(t *testing.T) {
	def := &registry.Definition{
		Name: "a_b", Title: strings.Repeat("title ", 5), Description: strings.Repeat("said ", 100),
		InputSchema: json.RawMessage(`{"properties":{"x":{"description":"of the parameter"}}}`), Origin: registry.Origin{Server: "c", Tool: "a_b"},
	}
	var lengths []int
	for _, words := range toolrank.Words(docOf(def, names.ServerTool), 20) {
		lengths = append(lengths, len(words))
	}
	// Of name, title, description, names of parameters, what is said of them, their values,
	// server, what the host says.
	assert.Equal(t, fmt.Sprint(lengths), "[2 5 11 1 0 0 1 0]", "words")
}

// What was in quarantine when a search began is not found by it, though the index
// knows by now that a person has approved it.
func TestSearchKeepsToItsSnapshot(t *testing.T) {
	accepted := ledger.New(&ledger.Options{Mode: ledger.Review})
	r := registry.New(&registry.Options{Ledger: accepted})
	offer(t, r, "s", "pay")
	held := r.Snapshot()
	assert.OK(t, accepted.Accept(t.Context(), "ann", accepted.Pending("s")...))
	for want, snapshot := range []*registry.Snapshot{held, r.Snapshot()} {
		s := &search{finder: &Finder{registry: r}, snapshot: snapshot, kept: map[string]registry.Tool{}}
		assert.Equal(t, len(s.keep(t.Context(), []bm25.Hit{{ID: "s__pay"}, {ID: "gone"}}, 5)), want, "tools in snapshot %d", want)
	}
}

// aTool returns a definition with parameters.
func aTool(name, parameters string) registry.Tool {
	return &bareTool{&registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":` + parameters + `}`)}}
}

func TestTargetOfACall(t *testing.T) {
	r := registry.New(nil)
	assert.Value(New(r, nil))(t)
	assert.OK(t, r.Add(aTool("create_issue", `{"title":{},"body":{}}`), aTool("rename", `{"name":{},"to":{}}`)))
	call := newRelay(r)
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ args, name, inner, err string }{
		// As it should be: the bytes stay.
		{args: `{"name":"x","arguments":{ "b" : 1e2,"a":[ ] }}`, name: "x", inner: `{ "b" : 1e2,"a":[ ] }`},
		{args: `{"arguments":{"a":12345678901234567890},"name":"x"}`, name: "x", inner: `{"a":12345678901234567890}`},
		{args: `{"name":"x"}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":null}`, name: "x", inner: `{}`},
		// Within a string.
		{args: `{"name":"x","arguments":"{\"a\":\"\\u00e9\"}"}`, name: "x", inner: `{"a":"\u00e9"}`},
		{args: `{"name":"x","arguments":""}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":" null "}`, name: "x", inner: `{}`},
		{args: `{"name":"x","arguments":"{not JSON"}`, name: "x", inner: `{not JSON`}, // the tool's arguments are checked anyway
		{args: `{"name":"x","arguments":"hello"}`, err: `"arguments" must be an object, not a string`},
		{args: `{"name":"x","arguments":"\"{}\""}`, err: `"arguments" must be an object, not a string`},
		{args: `{"name":"x","arguments":["a"]}`, err: `"arguments" must be an object, not an array`},
		{args: `{"name":"x","arguments":3}`, err: `"arguments" must be an object, not a number`},
		// Beside the name.
		{args: `{"name":"create_issue","title":"a","body": [1, 2]}`, name: "create_issue", inner: `{"title":"a","body":[1, 2]}`},
		{args: `{"body":"b","name":"CreateIssue"}`, name: "CreateIssue", inner: `{"body":"b"}`},
		{args: `{"name":"create_issue","args":{"title":"secret"}}`, err: `"args" must not stand beside "name"; the arguments of the tool belong into "arguments": {"name":"create_issue","arguments":{…}}`},
		{args: `{"name":"create_issue","title":"secret","arguments":{}}`, err: `"title" must not stand`},
		{args: `{"name":"create_issue","title":"secret","arguments":null}`, err: `"title" must not stand`},
		{args: `{"name":"rename","to":"secret"}`, err: `"to" must not stand`},
		{args: `{"name":"nothing","title":"secret"}`, err: `"title" must not stand`},
		// Without a name.
		{args: ``, err: `"name" is missing`},
		{args: `{}`, err: `"name" is missing`},
		{args: `{"name":" "}`, err: `"name" is missing`},
		{args: `{"arguments":{"name":"x"}}`, err: `"name" is missing`},
		{args: `{"name":7}`, err: `"name" must be a string, not a number`},
		{args: `{"name":null}`, err: `"name" must be a string, not null`},
		{args: `{"name":{}}`, err: `"name" must be a string, not an object`},
		// What can be read in two ways.
		{args: `{"name":"x","name":"y"}`, err: `name`},
		{args: `{"name":"x","arguments":{},"arguments":{"a":1}}`, err: `arguments`},
		{args: `{"name":"x","arguments":{"a":1,"a":2}}`, err: `a`},
		{args: "{\"name\":\"x\xff\"}", err: `UTF-8`},
		{args: `{"name":"x","arguments":{"a":` + deep + `}}`, err: `nest`},
		{args: `[]`, err: `must be a JSON object, not an array`},
		{args: `{"name":"x"`, err: `not valid JSON`},
	} {
		if c.err == "" {
			name, inner, err := call.Target(json.RawMessage(c.args))
			assert.OK(t, err, "%s", c.args)
			assert.Equal(t, name, c.name, "%s", c.args)
			assert.Equal(t, string(inner), c.inner, "%s", c.args)
			continue
		}
		_, err := r.Call(t.Context(), callToolName, json.RawMessage(c.args))
		var wrong *registry.ArgumentsError
		if !errors.As(err, &wrong) || wrong.Tool != callToolName || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want an *registry.ArgumentsError with %s", c.args, err, c.err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds a value: %v", c.args, err)
		}
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s", c.args)
	}
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{`{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":"{}"}`, `{"name":"create_issue","title":1}`, `{`} {
		f.Add([]byte(seed))
	}
	r := registry.New(nil)
	assert.OK(f, r.Add(aTool("create_issue", `{"title":{},"body":{}}`)))
	call := newRelay(r)
	f.Fuzz(func(t *testing.T, args []byte) {
		if !json.Valid(args) || args[0] != '{' {
			return // which a registry refuses
		}
		name, inner, err := call.Target(args)
		if err != nil {
			return
		}
		if strings.TrimSpace(name) == "" || !strings.HasPrefix(strings.TrimLeft(string(inner), " \t\r\n"), "{") {
			t.Errorf("%q: %q, %q", args, name, inner)
		}
	})
}

func TestSummary(t *testing.T) {
	words := strings.Repeat("word ", 60)
	for _, c := range []struct{ title, description, want string }{
		{"", "", ""},
		{"Title", "", "Title"},
		{"Title", " \n\t ", "Title"},
		{"Title", "Does it.", "Does it."},
		{"", "Does\n\n it\tall. \r\n", "Does it all."},
		{"", "First sentence of " + words[:50] + "end. Second one, which is long: " + words, "First sentence of " + words[:50] + "end. …"},
		{"", "As in v1.2 or e.g. here. " + words, strings.TrimSpace(("As in v1.2 or e.g. here. " + words)[:199]) + "…"},
		{"", words, strings.TrimSpace(words[:199]) + "…"},
		{"", strings.Repeat("字", 300), strings.Repeat("字", 200) + "…"},
		{"", strings.Repeat("字", 99) + "。" + strings.Repeat("字", 200), strings.Repeat("字", 99) + "。 …"},
		{"", "⚠\ufe0f Take care.", "⚠ Take care."},
		{"", "a\x00b\u202ec\u2028d\u200be\xff", "a<U+0000>b<U+202E>c d<U+200B>e\ufffd"},
	} {
		assert.Equal(t, summaryOf(&registry.Definition{Title: c.title, Description: c.description}), c.want, "%q, %.60q", c.title, c.description)
	}
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			got := summaryOf(&registry.Definition{Title: tool.Title, Description: tool.Description})
			n := utf8.RuneCountInString(got)
			assert.Between(t, n, 0, maxHitSummary+2, "%s/%s, characters", s.Name, tool.Name)
			assert.False(t, n == 0, "%s/%s, characters", s.Name, tool.Name)
			assert.Equal(t, plain.Text(got), got, "%s/%s, characters", s.Name, tool.Name)
			assert.Lacks(t, got, "\n", "%s/%s, characters", s.Name, tool.Name)
		}
	}
}

func TestBriefHints(t *testing.T) {
	for annotations, want := range map[string]string{
		``:                       "",
		`{"readOnlyHint":true}`:  "read-only",
		`{"openWorldHint":true}`: "may destroy",
		`{"destructiveHint":false,"idempotentHint":true}`: "",
	} {
		d := registry.Definition{RawAnnotations: []byte(annotations)}
		assert.Equal(t, strings.Join(briefHints(d.Hints()), ", "), want, "%s", annotations)
	}
}

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
			assert.Between(t, share, 0.65, 1.4, "%s/%s, tokens are estimated", s.Name, tool.Name)
			low, high = min(low, share), max(high, share)
			want, got, tools = want+tool.Tokens, got+n, tools+1
		}
	}
	share := float64(got) / float64(want)
	t.Logf("%d definitions: %d tokens are estimated, %d counted: %.3f in all, from %.2f to %.2f each", tools, got, want, share, low, high)
	assert.Between(t, share, 0.95, 1.1, "in all")
}

// Texts of all kinds, with what o200k_base makes of them. What is not English may
// be taken for more, but hardly for less.
func TestEstimateOfTexts(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
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
		{"Tạo một vấn đề mới trong kho lưu trữ. Tiêu đề là bắt buộc và có thể dùng định dạng trong nội dung.", 29},
	} {
		got := estimateTokensIn([]byte(c.text))
		assert.Between(t, float64(got), 0.5*float64(c.want), math.MaxInt, "%d tokens are estimated, %d counted", got, c.want)
		assert.Between(t, got, 0, 5*c.want/2, "%d tokens are estimated, %d counted", got, c.want)
	}
}

// What is counted is what the recorded counts are of.
func TestDefinitionText(t *testing.T) {
	def := &registry.Definition{Name: "a", Title: "A", Description: "é\n\"<b>\"", InputSchema: json.RawMessage("{ \"type\": \"object\" }"), OutputSchema: json.RawMessage(`{}`)}
	const want = `{"name":"a","description":"é\n\"<b>\"","inputSchema":{"type":"object"}}`
	assert.Equal(t, string(appendDefinition(nil, def)), want)
}
