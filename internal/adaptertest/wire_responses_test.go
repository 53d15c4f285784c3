package adaptertest

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestResponsesRefuses has requests that OpenAI answers with status 400.
func TestResponsesRefuses(t *testing.T) {
	const (
		user    = `{"role":"user","content":"hi"}`
		thought = `{"type":"reasoning","id":"rs_1_0","summary":[],"encrypted_content":"x"}`
		call    = `{"type":"function_call","id":"fc_1_1","call_id":"c1","name":"find","arguments":"{}"}`
		found   = `{"type":"tool_search_output","tools":[{"type":"function","name":"find","defer_loading":true}]}`
		answer  = `{"type":"function_call_output","call_id":"c1","output":"x"}`
	)
	tool := func(more string) string {
		return `{"type":"function","name":"find","strict":false,"parameters":{"type":"object","properties":{}}` + more + `}`
	}
	input := func(items ...string) string { return `"input":[` + strings.Join(items, ",") + `]` }
	tools := func(tools ...string) string { return input(user) + `,"tools":[` + strings.Join(tools, ",") + `]` }
	for request, want := range map[string]string{
		input(user):                        "",
		`"input":"hi"`:                     "",
		input(user, thought, call, answer): "",
		tools(tool(``)):                    "",
		tools(tool(`,"defer_loading":true`), `{"type":"tool_search"}`):                             "",
		tools(tool(`,"allowed_callers":["programmatic"]`), `{"type":"programmatic_tool_calling"}`): "",
		input(user) + `,"tool":[]`:                       "additional properties",
		input(user) + `,"previous_response_id":"resp_9"`: "not found",
		input(user, thought, call):                       "without a result",
		input(user, thought, answer):                     "of no call",
		input(user, thought, call, answer, answer):       "of no call",
		input(user, thought, user):                       "following item",
		input(user, thought):                             "following item",
		input(user, thought, found, call, answer):        "no namespace",
		input(user, thought, found, strings.Replace(call, `"arguments"`, `"namespace":"find","arguments"`, 1), answer): "",
		input(user, call, answer):                                                                                                                   "reasoning",
		input(user, thought, call, user, answer):                                                                                                    "without a result",
		input(user, thought, strings.Replace(call, `"{}"`, `{}`, 1), answer):                                                                        "want string",
		input(user, thought, call, strings.Replace(answer, `"x"`, `" "`, 1)):                                                                        "/output'",
		input(user, thought, call, strings.Replace(answer, `"x"`, `[]`, 1)):                                                                         "minItems",
		input(user, thought, call, strings.Replace(answer, `"x"`, `[{"type":"output_text","text":"x"}]`, 1)):                                        "/output/0",
		input(user, thought, call, strings.Replace(answer, `"x"`, `[{"type":"input_image","image_url":"data:image/png;base64,eA=="}]`, 1)):          "image/png that is",
		input(user, thought, call, strings.Replace(answer, `"x"`, `[{"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0="}]`, 1)): "/output/0",
		input(user, thought, strings.Replace(call, `"arguments"`, `"caller":{"type":"program","caller_id":"p"},"arguments"`, 1), answer):            "the caller",
		input(user, `{"type":"tool_search_output","created_by":"x","tools":[]}`):                                                                    "additional properties",
		input(user, `{"type":"of_the_future"}`):                                                                                                     "/type",
		tools():                                                                                                                                     "minItems",
		tools(tool(``), tool(``)):                                                                                                                   "twice",
		tools(tool(`,"defer_loading":true`)):                                                                                                        "no tool_search",
		tools(tool(`,"allowed_callers":["x"]`)):                                                                                                     "/allowed_callers",
		tools(tool(`,"allowed_callers":["programmatic"]`)):                                                                                          "no programmatic_tool_calling",
		tools(tool(`,"output_schema":{"type":"array"}`)):                                                                                            "/output_schema",
		tools(tool(`,"parametersJsonSchema":{}`)):                                                                                                   "additional properties",
		tools(`{"type":"tool_search"}`, `{"type":"tool_search"}`):                                                                                   "second",
		tools(strings.Replace(tool(``), `"strict":false`, `"strict":true`, 1)):                                                                      "additionalProperties",
		tools(strings.Replace(tool(``), `"strict":false,`, ``, 1)):                                                                                  "missing",
		tools(strings.Replace(tool(``), `find`, strings.Repeat("x", 65), 1)):                                                                        "/name",
		tools(strings.Replace(tool(``), `"type":"object"`, `"type":["object"]`, 1)):                                                                 "/parameters/type",
	} {
		body := `{"model":"m",` + request + `}`
		if !json.Valid([]byte(body)) {
			t.Fatal(body)
		}
		_, err := (&OpenAIResponses{}).Read(httptest.NewRequest("POST", "/responses", nil), []byte(body))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", request, err, want)
		}
	}
}
