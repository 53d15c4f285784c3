package genai

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Run makes the calls of an answer of the model, see [profile.Turn.Run], and returns
// what goes into the next request behind it: one content, with a response to each
// call in their order, and for models before Gemini 3 one more if there are images or
// PDFs. If a call waits for a person, there are none yet: the error is a
// [*profile.WaitingError] then. If ctx ends, Run returns its error, and the contents
// all the same, so that the conversation can go on.
//
// The chunks are one response, or all of a stream. Of several candidates the first
// counts. No call is made if the arguments of one came in pieces, which the model was asked
// for by FunctionCallingConfig.StreamFunctionCallArguments: leave it out.
//
// An answer without calls that has ended otherwise than by STOP or MAX_TOKENS, such as by
// MALFORMED_FUNCTION_CALL or SAFETY, and a prompt that was blocked, are an error that says how.
func (t *Turn) Run(ctx context.Context, chunks ...*genai.GenerateContentResponse) ([]*genai.Content, error) {
	calls, err := t.Calls(chunks...)
	if err != nil {
		return nil, err
	}
	answers, err := t.Turn.Run(ctx, calls)
	return t.Results(answers...), err
}

// Calls returns the calls in an answer of the model, in their order. A program with
// functions of its own beside those of the registry takes its calls out, gives the
// others to [profile.Turn.Run], and all answers to [Turn.Results]. It fails if the arguments
// of a call came in pieces, or as [Turn.Run] says if there are none.
func (t *Turn) Calls(chunks ...*genai.GenerateContentResponse) ([]profile.Call, error) {
	var calls []profile.Call
	all := parts(chunks)
	for i, p := range all {
		c := p.FunctionCall
		if c == nil {
			continue
		}
		if len(c.PartialArgs) > 0 || c.WillContinue != nil && *c.WillContinue || c.Name == "" && c.Args == nil {
			return nil, fmt.Errorf("genai: the arguments of a call of %q came in pieces, and no call was made; do not set StreamFunctionCallArguments", c.Name)
		}
		call := profile.Call{ID: c.ID, Name: c.Name, Incomplete: i == len(all)-1 && cutOff(chunks)}
		if c.Args != nil {
			args, err := json.Marshal(c.Args)
			if err != nil {
				return nil, fmt.Errorf("genai: the arguments of the call of %q: %w", c.Name, err)
			}
			call.Arguments = args
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, ending(chunks)
	}
	calls = profile.Gemini.WithIDs(calls)
	if t.model == "" {
		t.apart.Store(before3(version(chunks)))
	}
	return calls, nil
}

// Content returns an answer of the model for the next request: the chunks of a stream
// in one content, with the signatures of their parts. It has no parts that hold
// nothing, which the API refuses: a signature that comes in one goes with the part before.
// Nil: the first candidate has no content.
func Content(chunks ...*genai.GenerateContentResponse) *genai.Content {
	if p := parts(chunks); len(p) > 0 {
		return Append(nil, &genai.Content{Role: genai.RoleModel, Parts: p})[0]
	}
	return nil
}

// Append returns a conversation with more contents behind it, as the API takes it, see
// [profile.Repairer]: such as the [Content] of an answer, the contents of [Turn.Run], or what
// the user says. Contents without parts are left out. The contents that are given, and what
// they share memory with, stay as they are.
func Append(conversation []*genai.Content, more ...*genai.Content) []*genai.Content {
	var pieces []*genai.Content
	for _, c := range slices.Concat(conversation, more) {
		var rest []*genai.Part
		for i := 0; c != nil && i < len(c.Parts); i++ {
			if p := c.Parts[i]; isResponse(c, p) {
				pieces = append(pieces, &genai.Content{Role: c.Role, Parts: []*genai.Part{p}})
			} else {
				rest = append(rest, p)
			}
		}
		if c != nil && c.Role == genai.RoleModel {
			rest = holding(rest)
		}
		if rest != nil {
			pieces = append(pieces, &genai.Content{Role: c.Role, Parts: rest})
		}
	}
	var all []*genai.Content
	responses := false
	for _, c := range repairer().Repair(pieces) {
		is := isResponse(c, c.Parts[0])
		if is && responses {
			all[len(all)-1].Parts = append(all[len(all)-1].Parts, c.Parts...)
		} else {
			all = append(all, c)
		}
		responses = is
	}
	return all
}

func repairer() *profile.Repairer[*genai.Content] {
	return &profile.Repairer[*genai.Content]{
		Provider: profile.Gemini,
		Each: func(c *genai.Content, call, result func(profile.Call) profile.Call) *genai.Content {
			c = &genai.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
			for i, p := range c.Parts {
				part := *p
				switch {
				case p.FunctionCall != nil:
					f := *p.FunctionCall
					back := call(profile.Call{ID: f.ID, Name: f.Name})
					f.ID, f.Name, part.FunctionCall = back.ID, back.Name, &f
				case isResponse(c, p):
					f := *p.FunctionResponse
					of := result(profile.Call{ID: f.ID, Name: f.Name})
					f.ID, f.Name, part.FunctionResponse = of.ID, of.Name, &f
				}
				c.Parts[i] = &part
			}
			return c
		},
		Lost: func(c profile.Call, text string) *genai.Content {
			return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
				ID: c.ID, Name: c.Name, Response: map[string]any{"error": text},
			}}}}
		},
	}
}

// isResponse reports whether a part of a content is the response to a call of ours.
func isResponse(c *genai.Content, p *genai.Part) bool {
	return p.FunctionResponse != nil && c.Role != genai.RoleModel
}

// parts returns the parts of the first candidate that hold something.
func parts(chunks []*genai.GenerateContentResponse) []*genai.Part {
	var all []*genai.Part
	for _, c := range candidates(chunks) {
		if c.Content != nil {
			all = append(all, c.Content.Parts...)
		}
	}
	return holding(all)
}

// candidates returns the first candidate of each chunk that has one.
func candidates(chunks []*genai.GenerateContentResponse) []*genai.Candidate {
	var all []*genai.Candidate
	for _, chunk := range chunks {
		if chunk != nil && len(chunk.Candidates) > 0 && chunk.Candidates[0] != nil {
			all = append(all, chunk.Candidates[0])
		}
	}
	return all
}

// holding returns the parts that hold something. A signature of nothing goes with the part
// before, or else the one behind, if that has none.
func holding(parts []*genai.Part) []*genai.Part {
	var all []*genai.Part
	var first []byte // signature of nothing before the first part
	sign := func(i int, signature []byte) {
		if signature != nil && all[i].ThoughtSignature == nil {
			signed := *all[i]
			signed.ThoughtSignature = signature
			all[i] = &signed
		}
	}
	for _, p := range parts {
		switch last := len(all) - 1; {
		case holds(p):
			all = append(all, p)
			sign(last+1, first)
			first = nil
		case p == nil:
		case last < 0:
			first = p.ThoughtSignature
		default:
			sign(last, p.ThoughtSignature)
		}
	}
	return all
}

// holds reports whether a part has data, of which it needs some.
func holds(p *genai.Part) bool {
	return p != nil && (p.Text != "" || p.InlineData != nil || p.FileData != nil || p.FunctionCall != nil || p.FunctionResponse != nil ||
		p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.ToolCall != nil || p.ToolResponse != nil)
}

// cutOff reports whether the model came to its limit of tokens.
func cutOff(chunks []*genai.GenerateContentResponse) bool {
	return slices.ContainsFunc(candidates(chunks), func(c *genai.Candidate) bool { return c.FinishReason == genai.FinishReasonMaxTokens })
}

// ending returns an error if the model was stopped before its answer was done.
func ending(chunks []*genai.GenerateContentResponse) error {
	for _, c := range candidates(chunks) {
		switch c.FinishReason {
		case "", genai.FinishReasonUnspecified, genai.FinishReasonStop, genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		default:
			return fmt.Errorf("genai: the model gave no answer: finishReason %s: %q", c.FinishReason, c.FinishMessage)
		}
	}
	for _, chunk := range chunks {
		if chunk != nil && chunk.PromptFeedback != nil && chunk.PromptFeedback.BlockReason != "" {
			return fmt.Errorf("genai: the model gave no answer: the prompt was blocked: %s: %q", chunk.PromptFeedback.BlockReason, chunk.PromptFeedback.BlockReasonMessage)
		}
	}
	return nil
}

// version returns the name of the model that has answered.
func version(chunks []*genai.GenerateContentResponse) string {
	for _, chunk := range chunks {
		if chunk != nil && chunk.ModelVersion != "" {
			return chunk.ModelVersion
		}
	}
	return ""
}

// Results returns the answers to all calls of one answer of the model as contents for
// the next request, such as those that [profile.Turn.Wait] has returned.
func (t *Turn) Results(answers ...profile.Answer) []*genai.Content {
	if len(answers) == 0 {
		return nil
	}
	responses := &genai.Content{Role: genai.RoleUser}
	behind := &genai.Content{Role: genai.RoleUser}
	apart := t.apart.Load()
	for _, a := range answers {
		text, media := profile.Apart(t.Set().Parts(a.Result))
		key := "output"
		if a.Result.IsError {
			key = "error"
		}
		response := &genai.FunctionResponse{ID: a.Call.ID, Name: a.Call.Name, Response: map[string]any{key: text}}
		for _, m := range media {
			if apart {
				behind.Parts = append(behind.Parts, &genai.Part{Text: m.Text}, &genai.Part{InlineData: &genai.Blob{MIMEType: m.Type, Data: m.Data}})
				continue
			}
			response.Parts = append(response.Parts, &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: m.Type, Data: m.Data}})
		}
		responses.Parts = append(responses.Parts, &genai.Part{FunctionResponse: response})
	}
	if behind.Parts == nil {
		return []*genai.Content{responses}
	}
	return []*genai.Content{responses, behind}
}
