package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Bedrock is the Converse API of Amazon Bedrock, and ConverseStream, as far as
// conversations with tools need it. Its rules are those of the API's reference and of the
// errors that people met in 2025 and 2026. The signature of a request is not checked.
type Bedrock struct{}

type bedrockRequest struct {
	Messages                          []bedrockMessage
	System                            []bedrockText
	InferenceConfig                   json.RawMessage
	ToolConfig                        *bedrockTools
	GuardrailConfig                   json.RawMessage
	AdditionalModelRequestFields      json.RawMessage
	AdditionalModelResponseFieldPaths json.RawMessage
	PromptVariables                   json.RawMessage
	RequestMetadata                   json.RawMessage
	PerformanceConfig                 json.RawMessage
	ServiceTier                       json.RawMessage
	OutputConfig                      json.RawMessage
}

type bedrockText struct{ Text *string }

type bedrockMessage struct {
	Role    string
	Content []bedrockBlock
}

// A bedrockBlock is a union: one member is there.
type bedrockBlock struct {
	Text       *string
	Image      *bedrockMedia
	Document   *bedrockMedia
	ToolUse    *bedrockUse
	ToolResult *bedrockResult
	JSON       json.RawMessage
	Reasoning  json.RawMessage `json:"reasoningContent"`
}

type bedrockMedia struct {
	Format, Name string
	Source       struct{ Bytes []byte }
}

type bedrockUse struct {
	ToolUseID, Name string
	Input           json.RawMessage
	Type            string
}

type bedrockResult struct {
	ToolUseID, Status string
	Content           []bedrockBlock
}

type bedrockTools struct {
	Tools      []json.RawMessage
	ToolChoice json.RawMessage
}

type bedrockSpec struct {
	Name, Description string
	InputSchema       struct{ JSON json.RawMessage }
}

var (
	bedrockLabel = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*$`)
	bedrockPath  = regexp.MustCompile(`^/model/([^/]+)/converse(-stream)?$`)
)

// Read reads a request.
func (Bedrock) Read(r *http.Request, body []byte) (*Request, error) {
	path := bedrockPath.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPost || path == nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		return nil, fmt.Errorf("%s %s is no signed call of Converse", r.Method, r.URL.Path)
	}
	var in bedrockRequest
	if err := decodeAll(body, &in); err != nil {
		return nil, err
	}
	b := &bedrockReader{
		native: strings.Contains(path[1], "claude") || strings.Contains(path[1], "nova"),
		out:    &Request{Stream: path[2] != ""}, ids: map[string]bool{}, labels: map[string]bool{},
	}
	if err := b.tools(in.ToolConfig); err != nil {
		return nil, err
	}
	if len(in.Messages) == 0 {
		return nil, errors.New("a conversation must have a message")
	}
	for i := range in.Messages {
		if err := b.message(&in.Messages[i], i%2 == 0); err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(b.open) > 0 {
		return nil, fmt.Errorf("expected toolResult blocks for the ids %q", b.open)
	}
	if len(in.Messages)%2 == 0 {
		return nil, errors.New("a conversation must end with a user message")
	}
	if len(b.ids) > 0 && in.ToolConfig == nil {
		return nil, errors.New("the toolConfig field must be defined when using toolUse and toolResult content blocks")
	}
	return b.out, nil
}

// A bedrockReader reads one conversation.
type bedrockReader struct {
	native bool // the model takes images and status in results, and more beside them
	out    *Request
	ids    map[string]bool
	labels map[string]bool
	open   []string // calls of the message before, in order
}

func (b *bedrockReader) tools(config *bedrockTools) error {
	if config == nil {
		return nil
	}
	if len(config.Tools) == 0 {
		return errors.New("toolConfig.tools must have a tool")
	}
	for i, raw := range config.Tools {
		var t struct{ ToolSpec bedrockSpec }
		err := json.Unmarshal(raw, &t)
		if err == nil {
			err = b.out.declare(Tool{Name: t.ToolSpec.Name, Description: t.ToolSpec.Description, Schema: t.ToolSpec.InputSchema.JSON}, providercheck.Bedrock(raw))
		}
		if err != nil {
			return fmt.Errorf("toolConfig.tools.%d: %w", i, err)
		}
	}
	return nil
}

func (b *bedrockReader) message(m *bedrockMessage, ofUser bool) error {
	if want := map[bool]string{true: "user", false: "assistant"}[ofUser]; m.Role != want {
		return fmt.Errorf("the role is %q, and not %q: roles must alternate, and a user begins", m.Role, want)
	}
	if len(m.Content) == 0 {
		return errors.New("the content is empty")
	}
	called := b.open
	b.open = nil
	var images, documents, texts, results int
	for i := range m.Content {
		block := &m.Content[i]
		switch {
		case block.ToolUse != nil && !ofUser:
			if err := b.use(block.ToolUse); err != nil {
				return err
			}
		case block.ToolResult != nil && ofUser:
			n, err := b.result(block.ToolResult, &called)
			if err != nil {
				return err
			}
			images += n
			results++
		case block.Text != nil:
			if strings.TrimSpace(*block.Text) == "" {
				return errors.New("text content blocks must be non-empty")
			}
			if texts++; ofUser && documents == 0 && images == 0 && len(m.Content) == 1 {
				b.out.Users = append(b.out.Users, *block.Text)
			}
		case block.Image != nil && ofUser:
			if images++; !b.media(block.Image, &b.out.Media) {
				return errors.New("the image cannot be processed: its bytes are not of its format")
			}
		case block.Document != nil && ofUser:
			documents++
			if err := b.document(block.Document); err != nil {
				return err
			}
		case block.Reasoning != nil && !ofUser:
		default:
			return fmt.Errorf("content.%d is a block that cannot stand in the message of a %s", i, m.Role)
		}
	}
	switch {
	case len(called) > 0:
		return fmt.Errorf("expected toolResult blocks for the ids %q", called)
	case !b.native && results > 0 && results != len(m.Content):
		return errors.New("conversation blocks and tool result blocks cannot be provided in the same turn")
	case images > 20 || documents > 5:
		return errors.New("too many images or documents")
	case documents > 0 && texts == 0:
		return errors.New("a document needs a text block beside it")
	}
	return nil
}

func (b *bedrockReader) use(u *bedrockUse) error {
	switch {
	case !providercheck.BedrockName.MatchString(u.Name), !providercheck.BedrockName.MatchString(u.ToolUseID):
		return fmt.Errorf("toolUse %q %q: name or id fail to satisfy the constraint [a-zA-Z0-9_-]+", u.Name, u.ToolUseID)
	case b.ids[u.ToolUseID]:
		return fmt.Errorf("the toolUse id %q is there twice", u.ToolUseID)
	case !strings.HasPrefix(string(u.Input), "{"):
		return errors.New("the format of the value at toolUse.input is invalid; provide a json object")
	}
	b.ids[u.ToolUseID] = true
	b.open = append(b.open, u.ToolUseID)
	return nil
}

// result reads a result of one of the calls, and returns how many images it has.
func (b *bedrockReader) result(r *bedrockResult, called *[]string) (images int, err error) {
	if len(*called) == 0 || (*called)[0] != r.ToolUseID {
		return 0, fmt.Errorf("the toolResult %q is not that of the next of the calls %q", r.ToolUseID, *called)
	}
	*called = (*called)[1:]
	if len(r.Content) == 0 {
		return 0, errors.New("the content of a toolResult cannot be empty")
	}
	if r.Status != "" && (!b.native || r.Status != "error" && r.Status != "success") {
		return 0, fmt.Errorf("this model doesn't support the status %q of a toolResult", r.Status)
	}
	out := Result{CallID: r.ToolUseID, Failed: r.Status == "error"}
	var texts []string
	for _, block := range r.Content {
		switch {
		case block.Text != nil:
			if strings.TrimSpace(*block.Text) == "" {
				return 0, errors.New("text content blocks must be non-empty")
			}
			texts = append(texts, *block.Text)
		case block.JSON != nil:
			if !strings.HasPrefix(string(block.JSON), "{") {
				return 0, errors.New("the format of the value at toolResult.json is invalid; provide a json object")
			}
			texts = append(texts, string(block.JSON))
		case block.Image != nil:
			images++
			if !b.native {
				return 0, errors.New("this model doesn't support the image field for user messages; remove image and try again")
			}
			if !b.media(block.Image, &out.Media) {
				return 0, errors.New("the image cannot be processed: its bytes are not of its format")
			}
		default:
			return 0, errors.New("a block of a toolResult is empty, or of a kind that the model does not support")
		}
	}
	out.Text = strings.Join(texts, "\n")
	b.out.Results = append(b.out.Results, out)
	return images, nil
}

// media reports whether an image is what its format says.
func (b *bedrockReader) media(m *bedrockMedia, to *[]Media) bool {
	kind := "image/" + m.Format
	*to = append(*to, Media{Type: kind, Data: m.Source.Bytes})
	return http.DetectContentType(m.Source.Bytes) == kind
}

func (b *bedrockReader) document(m *bedrockMedia) error {
	switch {
	case len(m.Name) > 200 || !bedrockLabel.MatchString(m.Name):
		return fmt.Errorf("the document file name %q can only contain alphanumeric characters, single blanks, hyphens, parentheses and square brackets", m.Name)
	case b.labels[m.Name]:
		return fmt.Errorf("messages contain the document name %q twice", m.Name)
	case m.Format != "pdf" || !bytes.HasPrefix(m.Source.Bytes, []byte("%PDF-")):
		return errors.New("the document is not of its format")
	}
	b.labels[m.Name] = true
	b.out.Media = append(b.out.Media, Media{Type: "application/pdf", Data: m.Source.Bytes})
	return nil
}
