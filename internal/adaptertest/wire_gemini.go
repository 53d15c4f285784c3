package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Gemini is the wire of generateContent and streamGenerateContent, of the Gemini API
// and of Vertex AI.
type Gemini struct {
	// Before3 is a model before Gemini 3: its calls have no ids and no signatures, and
	// it takes no media within the response of a function.
	Before3 bool
}

type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
	} `json:"tools,omitempty"`
	SystemInstruction *geminiContent  `json:"systemInstruction,omitempty"`
	GenerationConfig  json.RawMessage `json:"generationConfig,omitempty"`
	ToolConfig        json.RawMessage `json:"toolConfig,omitempty"`
	SafetySettings    json.RawMessage `json:"safetySettings,omitempty"`
	CachedContent     string          `json:"cachedContent,omitempty"`
	Labels            json.RawMessage `json:"labels,omitempty"`
}

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string         `json:"text,omitempty"`
	Thought          bool            `json:"thought,omitempty"`
	ThoughtSignature []byte          `json:"thoughtSignature,omitempty"`
	InlineData       *geminiBlob     `json:"inlineData,omitempty"`
	FunctionCall     *geminiCall     `json:"functionCall,omitempty"`
	FunctionResponse *geminiResponse `json:"functionResponse,omitempty"`
}

type geminiBlob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiResponse struct {
	ID       string                     `json:"id,omitempty"`
	Name     string                     `json:"name"`
	Response map[string]json.RawMessage `json:"response"`
	Parts    []struct {
		InlineData *geminiBlob `json:"inlineData"`
	} `json:"parts,omitempty"`
}

// Read refuses what the API would answer with status 400.
func (g Gemini) Read(r *http.Request, body []byte) (*Request, error) {
	_, method, _ := strings.Cut(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], ":")
	if r.Method != http.MethodPost || method != "generateContent" && (method != "streamGenerateContent" || r.URL.Query().Get("alt") != "sse") {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL)
	}
	var in geminiRequest
	if err := decodeAll(body, &in); err != nil {
		return nil, fmt.Errorf("invalid JSON payload received: %w", err)
	}
	if len(in.Contents) == 0 {
		return nil, errors.New("contents: is not specified")
	}
	req := &Request{Stream: method == "streamGenerateContent"}
	for i, t := range in.Tools {
		if len(t.FunctionDeclarations) == 0 || len(t.FunctionDeclarations) > 512 {
			return nil, fmt.Errorf("tools[%d] has %d function_declarations, not 1 to 512", i, len(t.FunctionDeclarations))
		}
		for j, f := range t.FunctionDeclarations {
			raw, err := json.Marshal(f)
			if err == nil {
				err = req.declare(Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters}, providercheck.Gemini(raw))
			}
			if err != nil {
				return nil, fmt.Errorf("tools[%d].function_declarations[%d]: %w", i, j, err)
			}
		}
	}
	return req, g.contents(req, in.Contents)
}

// contents reads the conversation. The content behind one with calls has a response
// to each of them, and nothing else.
func (g Gemini) contents(req *Request, contents []geminiContent) error {
	var open []geminiCall
	for i, c := range contents {
		if c.Role != "user" && c.Role != "model" {
			return fmt.Errorf("contents[%d]: please use a valid role: user, model; it is %q", i, c.Role)
		}
		if len(c.Parts) == 0 {
			return fmt.Errorf("contents[%d].parts: must not be empty", i)
		}
		var calls []geminiCall
		var texts []string
		var responses, media int
		for j, p := range c.Parts {
			at := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			if err := p.check(c.Role); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			switch {
			case p.Text != nil && !p.Thought:
				texts = append(texts, *p.Text)
			case p.InlineData != nil:
				m, err := mediaOf(p.InlineData.MIMEType, p.InlineData.Data, "image/png", "image/jpeg", "image/webp", "application/pdf")
				if err != nil {
					return fmt.Errorf("%s: %w", at, err)
				}
				media++
				req.Media = append(req.Media, m)
			case p.FunctionCall != nil:
				if err := g.signed(p, len(calls) == 0); err != nil {
					return fmt.Errorf("%s: %w", at, err)
				}
				calls = append(calls, *p.FunctionCall)
			case p.FunctionResponse != nil:
				if responses == len(open) {
					return fmt.Errorf("%s: please ensure that function response turn comes immediately after a function call turn", at)
				}
				res, err := g.response(p.FunctionResponse, open[responses])
				if err != nil {
					return fmt.Errorf("%s: %w", at, err)
				}
				responses++
				req.Results = append(req.Results, *res)
			}
		}
		if responses != len(open) {
			return fmt.Errorf("contents[%d]: please ensure that the number of function response parts is equal to the number of function call parts of the function call turn: %d, %d", i, responses, len(open))
		}
		if responses > 0 && responses != len(c.Parts) {
			return fmt.Errorf("contents[%d]: function responses beside other parts", i)
		}
		if c.Role == "user" && responses == 0 && media == 0 {
			req.Users = append(req.Users, strings.Join(texts, "\n"))
		}
		open = calls
	}
	if len(open) > 0 {
		return errors.New("please ensure that each function call has a response")
	}
	return nil
}

// check refuses a part that has not exactly one kind of data.
func (p geminiPart) check(role string) error {
	set := 0
	for _, there := range []bool{p.Text != nil, p.InlineData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("required oneof field 'data' must have one initialized field, not %d", set)
	case p.Text != nil && strings.TrimSpace(*p.Text) == "":
		return errors.New("unable to submit request because it has an empty text parameter")
	case p.FunctionCall != nil && role != "model", p.FunctionResponse != nil && role != "user":
		return fmt.Errorf("a content of role %q cannot have it", role)
	}
	return nil
}

// signed refuses a call that has not what it came with.
func (g Gemini) signed(p geminiPart, first bool) error {
	c := p.FunctionCall
	if !providercheck.GeminiName.MatchString(c.Name) {
		return fmt.Errorf("function_call.name: %q", c.Name)
	}
	if len(c.Args) > 0 && c.Args[0] != '{' {
		return fmt.Errorf("function_call.args: %s", c.Args)
	}
	if g.Before3 {
		if c.ID != "" || len(p.ThoughtSignature) > 0 {
			return errors.New("the id or signature of another model")
		}
		return nil
	}
	want := ""
	if first {
		want = geminiSignature(c.ID)
	}
	if string(p.ThoughtSignature) != want {
		return fmt.Errorf("function call is missing a thought_signature in functionCall parts: %s", c.Name)
	}
	return nil
}

func geminiSignature(id string) string { return "signature of " + id }

func (g Gemini) response(r *geminiResponse, to geminiCall) (*Result, error) {
	if r.Name != to.Name || r.ID != to.ID {
		return nil, fmt.Errorf("function_response %q of %q is not that of the call %q of %q", r.ID, r.Name, to.ID, to.Name)
	}
	if len(r.Response) == 0 {
		return nil, errors.New("function_response.response: is not specified")
	}
	res := &Result{CallID: r.ID, Name: r.Name}
	for key, value := range r.Response {
		var text string
		if json.Unmarshal(value, &text) != nil {
			// References to parts, and what only looks like one, are another matter.
			return nil, fmt.Errorf("function_response.response.%s: is no text: %s", key, value)
		}
		if (key != "output" && key != "error") || len(r.Response) > 1 || strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("function_response.response: %s", value)
		}
		res.Text, res.Failed = text, key == "error"
	}
	for _, p := range r.Parts {
		if g.Before3 {
			return nil, errors.New("multimodal function responses are not supported by this model")
		}
		if p.InlineData == nil {
			return nil, errors.New("function_response.parts: no inline_data")
		}
		m, err := mediaOf(p.InlineData.MIMEType, p.InlineData.Data, "image/png", "image/jpeg", "image/webp", "application/pdf")
		if err != nil {
			return nil, err
		}
		res.Media = append(res.Media, m)
	}
	return res, nil
}

// Write answers as the API does. In a stream each call is a chunk of its own, and the
// last one has an empty text.
func (g Gemini) Write(w http.ResponseWriter, req *Request, reply Reply) {
	var parts []geminiPart
	for text := range strings.SplitAfterSeq(reply.Text, " ") {
		if text != "" {
			parts = append(parts, geminiPart{Text: &text})
		}
	}
	for i, c := range reply.Calls {
		p := geminiPart{FunctionCall: &geminiCall{ID: c.ID, Name: c.Name, Args: c.Arguments}}
		if i == 0 {
			p.ThoughtSignature = []byte(geminiSignature(c.ID))
		}
		if g.Before3 {
			p.FunctionCall.ID, p.ThoughtSignature = "", nil
		}
		parts = append(parts, p)
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, g.answer(parts, "STOP"))
		return
	}
	write := events(w)
	chunk := func(p geminiPart, reason string) { write("", g.answer([]geminiPart{p}, reason)) }
	for _, p := range parts {
		chunk(p, "")
	}
	chunk(geminiPart{Text: new(string)}, "STOP")
}

func (g Gemini) answer(parts []geminiPart, reason string) any {
	candidate := map[string]any{"content": geminiContent{"model", parts}, "index": 0}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	version := "gemini-3.5-scripted"
	if g.Before3 {
		version = "gemini-2.5-scripted"
	}
	return map[string]any{
		"candidates": []any{candidate}, "modelVersion": version, "responseId": "1",
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
}

// Refuse answers with the API's form of an error.
func (Gemini) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 400, "message": reason, "status": "INVALID_ARGUMENT"}})
}
