package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// OpenAIResponses is the wire of OpenAI's Responses API. It keeps the conversations
// for requests with previous_response_id. The zero value is ready for use.
type OpenAIResponses struct {
	mu      sync.Mutex
	count   int
	stored  map[string][]responseItem    // conversations, by the id of their last response
	pending map[*Request]responseRequest // that are not answered yet
}

type responseRequest struct {
	tools []responseTool
	items []responseItem
	store bool
}

type responseTool struct {
	Type           string          `json:"type"`
	Name           string          `json:"name,omitempty"`
	Description    string          `json:"description,omitempty"`
	Parameters     json.RawMessage `json:"parameters,omitempty"`
	Strict         *bool           `json:"strict,omitempty"`
	DeferLoading   bool            `json:"defer_loading,omitempty"`
	AllowedCallers []string        `json:"allowed_callers,omitempty"`
	OutputSchema   json.RawMessage `json:"output_schema,omitempty"`
	Execution      string          `json:"execution,omitempty"`
}

// programs reports whether only programs may call a tool.
func (t *responseTool) programs() bool {
	return len(t.AllowedCallers) > 0 && !slices.Contains(t.AllowedCallers, "direct")
}

// A responseItem is an item of the input or of the output. All kinds are in one.
type responseItem struct {
	Type      string          `json:"type,omitempty"`
	ID        string          `json:"id,omitempty"`
	Status    string          `json:"status,omitempty"`
	Role      string          `json:"role,omitempty"`
	Phase     string          `json:"phase,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Caller    *responseCaller `json:"caller,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	Summary   json.RawMessage `json:"summary,omitempty"`
	Encrypted string          `json:"encrypted_content,omitempty"`
	Execution string          `json:"execution,omitempty"`
	Tools     []responseTool  `json:"tools,omitempty"`
	Code      string          `json:"code,omitempty"`
	Print     string          `json:"fingerprint,omitempty"`
	Result    string          `json:"result,omitempty"`
}

type responseCaller struct {
	Type     string `json:"type"`
	CallerID string `json:"caller_id,omitempty"`
}

type responsePart struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	ImageURL    string            `json:"image_url"`
	Detail      string            `json:"detail"`
	Filename    string            `json:"filename"`
	FileData    string            `json:"file_data"`
	Annotations []json.RawMessage `json:"annotations"`
	Logprobs    []json.RawMessage `json:"logprobs"`
}

// Read refuses what the API would answer with status 400, unknown fields included.
func (o *OpenAIResponses) Read(r *http.Request, body []byte) (*Request, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL.Path)
	}
	var in struct {
		Model       string          `json:"model"`
		Input       json.RawMessage `json:"input"`
		Tools       *[]responseTool `json:"tools"`
		Stream      bool            `json:"stream"`
		Store       *bool           `json:"store"`
		Previous    string          `json:"previous_response_id"`
		Include     []string        `json:"include"`
		Instruction string          `json:"instructions"`
		Parallel    *bool           `json:"parallel_tool_calls"`
		Reasoning   json.RawMessage `json:"reasoning"`
	}
	if err := decodeAll(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || len(in.Input) == 0 {
		return nil, errors.New("model and input are required")
	}
	req := &Request{Stream: in.Stream}
	call := responseRequest{store: in.Store == nil || *in.Store}
	if in.Tools != nil {
		call.tools = *in.Tools
		if err := readResponseTools(req, call.tools); err != nil {
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if in.Previous != "" {
		before, ok := o.stored[in.Previous]
		if !ok {
			return nil, fmt.Errorf("previous response %q not found", in.Previous)
		}
		call.items = slices.Clone(before)
	}
	items, err := responseInput(in.Input)
	if err != nil {
		return nil, err
	}
	call.items = append(call.items, items...)
	if err := readResponseItems(req, call.items); err != nil {
		return nil, err
	}
	if o.pending == nil {
		o.pending, o.stored = map[*Request]responseRequest{}, map[string][]responseItem{}
	}
	o.pending[req] = call
	return req, nil
}

func readResponseTools(req *Request, tools []responseTool) error {
	if len(tools) == 0 {
		return errors.New("tools is empty")
	}
	seen := map[string]int{}
	var deferred, programs bool
	for _, t := range tools {
		switch t.Type {
		case "tool_search", "programmatic_tool_calling":
			if seen[t.Type]++; seen[t.Type] > 1 || t.Name != "" {
				return fmt.Errorf("a second %s, or one with a name", t.Type)
			}
			continue
		case "function":
		default:
			return fmt.Errorf("a tool of type %q", t.Type)
		}
		for _, caller := range t.AllowedCallers {
			if caller != "direct" && caller != "programmatic" {
				return fmt.Errorf("%q is allowed to call %q", caller, t.Name)
			}
			programs = programs || caller == "programmatic"
		}
		if t.OutputSchema != nil {
			var schema struct{ Type string }
			if json.Unmarshal(t.OutputSchema, &schema) != nil || schema.Type != "object" {
				return fmt.Errorf("the output schema of %q is %s", t.Name, t.OutputSchema)
			}
		}
		deferred = deferred || t.DeferLoading
		raw, err := json.Marshal(t)
		if err != nil {
			return err
		}
		told := Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters, Deferred: t.DeferLoading}
		if err := req.declare(told, providercheck.OpenAI(raw)); err != nil {
			return err
		}
	}
	if deferred && seen["tool_search"] == 0 {
		return errors.New("tools are deferred, and there is no tool_search")
	}
	if programs && seen["programmatic_tool_calling"] == 0 {
		return errors.New("programs may call tools, and there is no programmatic_tool_calling")
	}
	return nil
}

// responseInput reads the field input, which is a text or a list of items.
func responseInput(raw json.RawMessage) ([]responseItem, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []responseItem{{Type: "message", Role: "user", Content: raw}}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("input is neither text nor a list")
	}
	items := make([]responseItem, len(list))
	for i, raw := range list {
		if err := decodeAll(raw, &items[i]); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	return items, nil
}

// readResponseItems reads a conversation. Each call needs one result, behind it and
// before the next thing the user says, and what the model thought before it. A tool that
// was found by a search is in a namespace of its own name.
func readResponseItems(req *Request, items []responseItem) error {
	open := map[string]responseItem{} // calls without a result, by id
	thoughts := map[string]bool{}     // ids of responses whose reasoning is there
	found := map[string]bool{}        // names of deferred tools
	for i, item := range items {
		var err error
		switch item.Type {
		case "message", "":
			if len(open) > 0 {
				return fmt.Errorf("input[%d]: a message before the results of %d calls", i, len(open))
			}
			err = readResponseMessage(req, item)
		case "reasoning":
			if item.Encrypted == "" || item.Summary == nil {
				err = errors.New("reasoning without encrypted_content or summary")
			}
			if i == len(items)-1 || items[i+1].Role == "user" {
				err = fmt.Errorf("%s of type 'reasoning' was provided without its required following item", item.ID)
			}
			thoughts[responseOf(item.ID)] = true
		case "function_call":
			var args string
			if json.Unmarshal(item.Arguments, &args) != nil || item.CallID == "" || !providercheck.OpenAIName.MatchString(item.Name) || open[item.CallID].CallID != "" {
				err = fmt.Errorf("a call %+v", item)
			}
			if !thoughts[responseOf(item.ID)] {
				err = fmt.Errorf("call %s was provided without its required reasoning item", item.ID)
			}
			if found[item.Name] && item.Namespace == "" {
				err = fmt.Errorf("no namespace of function_call %q", item.Name)
			}
			open[item.CallID] = item
		case "function_call_output":
			call, ok := open[item.CallID]
			if !ok {
				return fmt.Errorf("input[%d]: no call %q for this output", i, item.CallID)
			}
			delete(open, item.CallID)
			if call.Caller != nil && (item.Caller == nil || *item.Caller != *call.Caller) {
				err = fmt.Errorf("the caller of %s is %+v, not %+v", item.CallID, item.Caller, call.Caller)
			}
			if err == nil {
				err = readResponseOutput(req, call, item)
			}
		case "tool_search_call":
		case "tool_search_output":
			for _, t := range item.Tools {
				found[t.Name] = found[t.Name] || t.DeferLoading
			}
		case "program":
			if item.Print == "" || item.Code == "" {
				err = errors.New("a program without its fingerprint or its code")
			}
		case "program_output":
		default:
			err = fmt.Errorf("an item of type %q", item.Type)
		}
		if err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no tool output found for function calls: %d", len(open))
	}
	return nil
}

// responseOf returns which response an item belongs to, by its id.
func responseOf(id string) string {
	_, rest, _ := strings.Cut(id, "_")
	number, _, _ := strings.Cut(rest, "_")
	return number
}

func readResponseMessage(req *Request, item responseItem) error {
	texts, media, err := responseContent(item.Content, item.Role == "assistant")
	if err != nil {
		return err
	}
	switch item.Role {
	case "user":
		if len(media) == 0 {
			req.Users = append(req.Users, strings.Join(texts, "\n"))
		}
		req.Media = append(req.Media, media...)
	case "assistant", "system", "developer":
	default:
		return fmt.Errorf("role %q", item.Role)
	}
	return nil
}

func readResponseOutput(req *Request, call, item responseItem) error {
	texts, media, err := responseContent(item.Output, false)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			return errors.New("an output with a blank text")
		}
	}
	req.Results = append(req.Results, Result{CallID: item.CallID, Name: call.Name, Text: strings.Join(texts, "\n"), Media: media})
	return nil
}

func responseContent(content json.RawMessage, said bool) (texts []string, media []Media, err error) {
	var text string
	if json.Unmarshal(content, &text) == nil && len(content) > 0 && string(content) != "null" {
		return []string{text}, nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(content, &list); err != nil || len(list) == 0 {
		return nil, nil, fmt.Errorf("neither text nor parts: %s", content)
	}
	for _, raw := range list {
		var p responsePart
		if err := decodeAll(raw, &p); err != nil {
			return nil, nil, err
		}
		var m Media
		switch {
		case p.Type == "output_text" && said, p.Type == "input_text" && !said:
			texts = append(texts, p.Text)
			continue
		case p.Type == "input_image" && !said:
			m, err = dataURL(p.ImageURL, "image/png", "image/jpeg", "image/gif", "image/webp")
		case p.Type == "input_file" && !said && p.Filename != "":
			m, err = dataURL(p.FileData, "application/pdf")
		default:
			err = fmt.Errorf("a part %q", p.Type)
		}
		if err != nil {
			return nil, nil, err
		}
		media = append(media, m)
	}
	return texts, media, nil
}
