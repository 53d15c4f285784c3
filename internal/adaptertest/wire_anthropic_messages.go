package adaptertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	IsError      bool            `json:"is_error"`
	Content      json.RawMessage `json:"content"`
	CacheControl json.RawMessage `json:"cache_control"`
	Source       struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	Caller struct {
		ToolID string `json:"tool_id"`
	} `json:"caller"`
}

// blocks reads content, which is text or blocks.
func (a *anthropicReader) blocks(content json.RawMessage) ([]anthropicBlock, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []anthropicBlock{{Type: "text", Text: text}}, a.text(text)
	}
	var blocks []anthropicBlock
	if err := json.Unmarshal(content, &blocks); err != nil || len(blocks) == 0 {
		return nil, fmt.Errorf("messages must have non-empty content: %s", content)
	}
	for _, b := range blocks {
		if b.CacheControl != nil {
			a.breakpoints++
		}
		if b.Type == "text" {
			if err := a.text(b.Text); err != nil {
				return nil, err
			}
		}
	}
	return blocks, nil
}

func (a *anthropicReader) text(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("text content blocks must contain non-whitespace text")
	}
	return nil
}

// messages reads the conversation. The message behind calls has their results first.
func (a *anthropicReader) messages(messages []anthropicMessage) error {
	for i, m := range messages {
		blocks, err := a.blocks(m.Content)
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		if len(a.open) > 0 && m.Role != "user" {
			return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v", i-1, a.open)
		}
		switch m.Role {
		case "user":
			err = a.user(blocks)
		case "assistant":
			err = a.assistant(blocks)
		default:
			err = fmt.Errorf("role %q", m.Role)
		}
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(a.open) > 0 {
		return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %v", a.open)
	}
	return nil
}

func (a *anthropicReader) assistant(blocks []anthropicBlock) error {
	a.open = map[string]string{}
	for _, b := range blocks {
		delete(a.begun, b.ToolUseID)
		delete(a.begun, b.Caller.ToolID)
		switch b.Type {
		case "tool_use":
			if !anthropicID.MatchString(b.ID) || a.ids[b.ID] {
				return fmt.Errorf("the id %q is none, or is not unique", b.ID)
			}
			if !providercheck.AnthropicName.MatchString(b.Name) {
				return fmt.Errorf("tool_use.name %q does not match %s", b.Name, providercheck.AnthropicName)
			}
			if !bytes.HasPrefix(b.Input, []byte("{")) || !json.Valid(b.Input) {
				return fmt.Errorf("tool_use.input is no dictionary: %s", b.Input)
			}
			a.ids[b.ID], a.open[b.ID] = true, b.Name
		case "tool_search_tool_result":
			if err := a.found(b.Content); err != nil {
				return err
			}
		case "server_tool_use":
			a.begun[b.ID] = true
		case "text", "thinking":
		default:
			return fmt.Errorf("a block %q of the assistant", b.Type)
		}
	}
	return nil
}

// found refuses what a search has found that is not there.
func (a *anthropicReader) found(content json.RawMessage) error {
	var result struct {
		References []struct {
			Name string `json:"tool_name"`
		} `json:"tool_references"`
	}
	if err := json.Unmarshal(content, &result); err != nil {
		return err
	}
	for _, r := range result.References {
		if !slices.ContainsFunc(a.Tools, func(t Tool) bool { return t.Name == r.Name }) {
			return fmt.Errorf("the tool %q that was found is not among the tools", r.Name)
		}
	}
	return nil
}

func (a *anthropicReader) user(blocks []anthropicBlock) error {
	var texts []string
	for i, b := range blocks {
		switch b.Type {
		case "tool_result":
			name, ok := a.open[b.ToolUseID]
			if !ok {
				return fmt.Errorf("content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %q", i, b.ToolUseID)
			}
			if i > 0 && blocks[i-1].Type != "tool_result" {
				return fmt.Errorf("content.%d: tool_result blocks stand before all others", i)
			}
			delete(a.open, b.ToolUseID)
			result, err := a.result(b)
			if err != nil {
				return fmt.Errorf("content.%d: %w", i, err)
			}
			result.Name = name
			a.Results = append(a.Results, result)
		case "text":
			texts = append(texts, b.Text)
		default:
			m, err := anthropicMedia(b)
			if err != nil {
				return fmt.Errorf("content.%d: %w", i, err)
			}
			a.Media = append(a.Media, m)
		}
	}
	if len(a.open) > 0 {
		return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %v", a.open)
	}
	if len(a.begun) > 0 && slices.ContainsFunc(blocks, func(b anthropicBlock) bool { return b.Type != "tool_result" }) {
		return fmt.Errorf("`server_tool_use` ids were found without a corresponding result: %v", a.begun)
	}
	if texts != nil {
		a.Users = append(a.Users, strings.Join(texts, "\n"))
	}
	return nil
}

func (a *anthropicReader) result(b anthropicBlock) (Result, error) {
	result := Result{CallID: b.ToolUseID, Failed: b.IsError}
	if b.Content == nil {
		return result, nil
	}
	blocks, err := a.blocks(b.Content)
	if err != nil {
		return result, err
	}
	var texts []string
	for _, inner := range blocks {
		if inner.Type == "text" {
			texts = append(texts, inner.Text)
			continue
		}
		if b.IsError {
			return result, errors.New("all content must be type `text` if `is_error` is true")
		}
		m, err := anthropicMedia(inner)
		if err != nil {
			return result, err
		}
		result.Media = append(result.Media, m)
	}
	result.Text = strings.Join(texts, "\n")
	return result, nil
}

func anthropicMedia(b anthropicBlock) (Media, error) {
	types := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	switch b.Type {
	case "image":
	case "document":
		types = []string{"application/pdf"}
	default:
		return Media{}, fmt.Errorf("a block %q", b.Type)
	}
	if b.Source.Type != "base64" || len(b.Source.Data) > 5<<20 {
		return Media{}, fmt.Errorf("a source of type %q with %d bytes", b.Source.Type, len(b.Source.Data))
	}
	data, err := base64.StdEncoding.DecodeString(b.Source.Data)
	if err != nil {
		return Media{}, err
	}
	return mediaOf(b.Source.MediaType, data, types...)
}
