package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// extensionSkills is the extension by which servers offer skills: a method of its
// own that lists them, and resources that hold their files.
const extensionSkills = "io.modelcontextprotocol/skills"

// A skill is an entry of skills/list.
type skill struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

func withSkills(do func(context.Context, *mcp.Client, []skill) error) Play {
	opts := &mcp.ClientOptions{Extensions: map[string]map[string]any{extensionSkills: nil}}
	return with(opts, func(ctx context.Context, c *mcp.Client, _ *Given) error {
		raw, err := c.Request(ctx, "skills/list", nil, nil)
		if err != nil {
			return err
		}
		var list struct {
			Skills []skill `json:"skills"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		if len(list.Skills) == 0 {
			return errors.New("no skills")
		}
		return do(ctx, c, list.Skills)
	})
}

// listSkills reads none of the skills' files: they are not needed yet.
func listSkills(context.Context, *mcp.Client, []skill) error { return nil }

// loadSkills reads all files of all skills, and stops at the first that is not
// what the list says.
func loadSkills(ctx context.Context, c *mcp.Client, skills []skill) error {
	for _, s := range skills {
		for _, file := range s.Resources {
			text, err := file.read(ctx, c)
			if err == nil && file.URI == s.URI {
				err = s.matches(text)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file.URI, err)
			}
		}
	}
	return nil
}

// read returns the contents of a file if they are those of the list.
func (f skillFile) read(ctx context.Context, c *mcp.Client) (string, error) {
	res, err := c.ReadResource(ctx, f.URI, nil)
	if err != nil {
		return "", err
	}
	if len(res.Contents) != 1 {
		return "", fmt.Errorf("%d contents", len(res.Contents))
	}
	text := res.Contents[0].Text
	sum := sha256.Sum256([]byte(text))
	switch {
	case len(text) != f.Size:
		return "", fmt.Errorf("%d bytes, listed with %d", len(text), f.Size)
	case "sha256:"+hex.EncodeToString(sum[:]) != f.Digest:
		return "", errors.New("the digest is not the listed one")
	}
	return text, nil
}

// matches reports whether the head of a skill's main file says what the list says.
func (s skill) matches(text string) error {
	head, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok {
		return errors.New("no frontmatter")
	}
	fields := make(map[string]string)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[key] = value
	}
	if !maps.Equal(fields, s.Frontmatter) {
		return errors.New("the frontmatter is not the listed one")
	}
	return nil
}
