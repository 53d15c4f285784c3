package belt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// A Part is a block of what a server returned. Bytes that are no text are in a file.
type Part struct {
	Text  string `json:"text,omitempty"`
	File  string `json:"file,omitempty"`
	Media string `json:"media,omitempty"`
	URI   string `json:"uri,omitempty"`
}

// Save returns a block as a part, and writes its data, if it has any, into a new file of
// the folder, which is called by the name and a number.
func (b *Belt) Save(folder, name, text string, data []byte, media, uri string) (*Part, error) {
	p := &Part{Text: text, Media: media, URI: uri}
	if data == nil {
		return p, nil
	}
	folder = b.Abs(folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, &cli.Error{Exit: cli.Failed, Message: "a file of the result cannot be written: " + err.Error(), Err: err}
	}
	for n := 1; ; n++ {
		path := filepath.Join(folder, fileName(name)+"-"+strconv.Itoa(n)+extension(media))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(data)
			if err = errors.Join(err, f.Close()); err != nil {
				err = errors.Join(err, os.Remove(path))
			}
		}
		if err != nil {
			return nil, &cli.Error{Exit: cli.Failed, Message: "a file of the result cannot be written: " + err.Error(), Err: err}
		}
		p.Text, p.File = "", path
		return p, nil
	}
}

// Show writes parts as text: at a terminal safe and aligned, and else as the server sent it.
func (b *Belt) Show(parts []Part) {
	for _, p := range parts {
		text := p.Text
		if p.File != "" {
			text = "wrote " + p.File
		}
		if !b.Env.OutTerminal {
			if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			if !b.Out.AsJSON {
				b.Out.Exactly(text)
			}
			continue
		}
		b.Out.Printf("%s\n", strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "), "\n"))
	}
}

// fileName returns a text of a server as a part of a file's name.
func fileName(text string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(text, "_")
	return strings.TrimLeft(name[:min(len(name), 60)], "-_") + map[bool]string{true: "file"}[strings.Trim(name, "-_") == ""]
}

// extension returns the end of the name of a file with a media type.
func extension(media string) string {
	kind, _, _ := strings.Cut(media, ";")
	if ext := map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
		"video/mp4": ".mp4", "application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/gzip": ".gz",
		"text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/markdown": ".md",
	}[strings.ToLower(strings.TrimSpace(kind))]; ext != "" {
		return ext
	}
	return ".bin"
}
