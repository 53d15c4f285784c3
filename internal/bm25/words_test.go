package bm25

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  -- !? ": "", "createIssue": "create issue createissue", "create_issue": "create issue",
		"create-issue": "create issue", "CreateNewIssue": "create new issue", "getUserByID": "get user by id",
		"GET /users/{userId}": "get users user id userid", "HTTPServer": "http server httpserver",
		"parseJSON": "parse json parsejson", "list URLs, IDs and APIs": "list urls ids and apis",
		"getURLsOfPage": "get urls of page", "GitHub": "git hub github", "OAuth": "oauth auth",
		"OAuth2": "oauth2 oauth auth", "getOAuth2Token": "get oauth2 oauth auth token", "s3": "s3",
		"getS3Object": "get s3 object", "list_v2": "list v2", "EC2": "ec2", "K8S": "k8s", "SHA256": "sha256 sha",
		"3DModel": "3d model", "2FA": "2fa", "ip": "ip", "A": "a", "iPhone": "iphone phone",
		"e-mail E-Mail x-ray": "email mail email mail xray ray", "get-a-page get_a-page": "get a page get a page",
		"vs.": "vs", "don't user's users’": "dont users users", "'quoted'": "quoted",
		"café Über ŁÓDŹ straße": "cafe uber lodz strasse", "cafe\u0301": "cafe", "ＦＵＬＬ": "full", "œuvre": "oeuvre",
		"Привет Йод Ёлка": "привет иод елка", "删除发票": "删除 除发 发票", "删": "删", "用GitHub搜索": "用 git hub github 搜索",
		"데이터베이스": "데이 이터 터베 베이 이스", "カレンダー": "カレ レン ンダ ダー", "a\xffb": "a b", "soft\u00adhyphen": "softhyphen",
		"zero\u200bwidth": "zerowidth", "https://a.example/x?y=z1": "https a example x y z1", "C++ and C#": "c and c",
		"2.5": "2 5", "-": "", "a-": "a", "1-a": "1 a", "🙂": "",
	} {
		assert.Equal(t, strings.Join(Words(text), " "), want, "%q", text)
	}
}

func TestWordsBounds(t *testing.T) {
	assert.Equal(t, len(Words(strings.Repeat("createIssue ", 10_000))), MaxWords, "words")
	for _, text := range []string{strings.Repeat("a", 1<<18), strings.Repeat("aB", 1<<17), strings.Repeat("\u0301", 1<<17), strings.Repeat("中", 1<<17)} {
		got := Words(text)
		assert.False(t, len(got) > MaxWords, "%d are more than %d", len(got), MaxWords)
		for _, w := range got {
			assert.False(t, utf8.RuneCountInString(w) > maxToken, "a word of %d bytes is too long", len(w))
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{"getUserByID", "OAuth2Token", "URLs", "e-mail", "don't", "ß", "删除 a", "a\xff", "İı", "ǅ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		assert.False(t, len(words) > MaxWords, "%d are more than %d", len(words), MaxWords)
		for _, w := range words {
			assert.True(t, w != "" && utf8.ValidString(w) && !strings.ContainsAny(w, " \n_-./'") && w == strings.ToLower(w), "%q is a word", w)
			stem := Stem(w)
			assert.True(t, stem != "" && len(stem) <= len(w)+2, "%q is a stem of %q", stem, w)
			assert.True(t, len(Words(w)) > 0, "%q has words", w)
		}
	})
}
