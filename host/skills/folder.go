package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/yamljson"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Bounds of the program's own folders.
const (
	maxEntries  = 10_000   // of one of Options.Folders, with all below it
	maxOwnBytes = 16 << 20 // of a file
)

// ownSkills returns the skills of a folder of the program. Seen are the names that there were already, with their
// folders; failed is told what is no skill.
func ownSkills(folder string, seen map[string]string, failed map[string]error) (all []Skill) {
	entries := 0
	err := fs.WalkDir(os.DirFS(folder), ".", func(at string, e fs.DirEntry, err error) error {
		if entries++; err == nil && entries > maxEntries {
			err = &mcp.LimitError{Limit: "files of a folder of skills", Max: maxEntries}
		}
		if err != nil || e.Name() != mcp.SkillFile {
			return err
		}
		s, err := ownSkill(folder, path.Dir(at))
		if err == nil && seen[s.Name] != "" {
			err = fmt.Errorf("the name %s is that of the skill in %s, too", s.Name, plain.Quote(seen[s.Name]))
		}
		if err != nil {
			failed[filepath.Join(folder, at)] = fmt.Errorf("skills: %s: %w", plain.Quote(filepath.Join(folder, at)), err)
			return nil
		}
		seen[s.Name] = s.folder
		all = append(all, *s)
		return nil
	})
	if err != nil {
		failed[folder] = fmt.Errorf("skills: folder %s: %w", plain.Quote(folder), err)
	}
	return all
}

// ownSkill returns the skill of a folder below one of the program's.
func ownSkill(folder, at string) (*Skill, error) {
	its, err := filepath.Abs(filepath.Join(folder, at))
	if err != nil {
		return nil, err
	}
	s := &Skill{folder: its}
	data, err := readOwn(s, mcp.SkillFile)
	if err != nil {
		return nil, err
	}
	front, err := frontmatter(data)
	if err != nil {
		return nil, err
	}
	var said struct{ Name, Description string }
	if err := json.Unmarshal(front, &said); err != nil {
		return nil, errors.New("the front matter must have a name and a description, which are texts")
	}
	if err := mcp.CheckSkill(said.Name, said.Description); err != nil {
		return nil, err
	}
	if name := filepath.Base(its); name != said.Name {
		return nil, fmt.Errorf("its name is %s, and that of its folder %s: they must be the same", said.Name, plain.Quote(name))
	}
	uri := (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(its, mcp.SkillFile))}).String()
	s.Skill = content.Skill{Name: said.Name, Skill: &mcp.Skill{URI: uri, Name: said.Name, Description: said.Description, Frontmatter: front}}
	return s, fs.WalkDir(os.DirFS(its), ".", func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(s.Files) < maxEntries {
			s.Files = append(s.Files, mcp.SkillResource{Path: file})
		}
		return err
	})
}

// readOwn reads a file of a skill of the program. Nothing outside of its folder is read.
func readOwn(s *Skill, file string) ([]byte, error) {
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(file)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case info.Size() > maxOwnBytes:
		err = &mcp.LimitError{Limit: "bytes of a file of a skill", Max: maxOwnBytes}
	default:
		return root.ReadFile(file)
	}
	return nil, fmt.Errorf("skills: file %s: %w", plain.Quote(file), err)
}

// frontmatter returns the YAML that a SKILL.md begins with, as JSON.
func frontmatter(data []byte) (json.RawMessage, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	block, _, closed := bytes.Cut(append(rest, '\n'), []byte("\n---\n"))
	if !ok || !closed {
		return nil, errors.New("it does not begin with front matter between two lines ---")
	}
	doc, err := yamljson.Parse(append(block, '\n'))
	if err != nil {
		return nil, fmt.Errorf("its front matter: %w", err)
	}
	if doc.Root.Kind != jsonc.Object {
		return nil, errors.New("its front matter is no object")
	}
	return doc.Root.JSON(), nil
}
