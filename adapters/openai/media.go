package openai

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// dataURL returns data as the API takes it.
func dataURL(p profile.Part) string {
	return "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// fileName returns what a file is called, which the API wants to know: the last part
// of its address, if that is a name of such a file.
func fileName(p profile.Part) string {
	const plain = "file.pdf" // it takes no files of other types
	u, err := url.Parse(p.URI)
	if err != nil {
		return plain
	}
	name := path.Base(u.Path)
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' || r == 0x7f || r == 0xfffd })
	if odd || len(name) > 255 || !strings.EqualFold(path.Ext(name), ".pdf") || len(name) == len(".pdf") {
		return plain
	}
	return name
}
