package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestField(t *testing.T) {
	const object = ` { "a" : 1,"b":"x\"},\\" ,"c":{"a":[2,{"d":"}"}]}, "e":[1,2] ,"f":null}`
	for key, want := range map[string]string{
		"a": `1`, "b": `"x\"},\\"`, "c": `{"a":[2,{"d":"}"}]}`, "e": `[1,2]`, "f": `null`, "d": ``,
	} {
		if got := string(field([]byte(object), key)); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

func TestNeutralAnswersLines(t *testing.T) {
	n, err := newNeutral(toolCount)
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"jsonrpc":"2.0","id":1,"method":"server/discover"}
{"jsonrpc":"2.0","id":"two","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"method":"tools/call","params":{"_meta":{"name":"no"},"arguments":{"text":"h\"i"},"name":"echo"},"id":3,"jsonrpc":"2.0"}
{"jsonrpc":"2.0","id":4,"method":"ping"}
`
	const want = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}
{"jsonrpc":"2.0","id":"two","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"neutral","version":"1"}}}
{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"h\"i"}]}}
{"jsonrpc":"2.0","id":4,"result":{}}
`
	var out bytes.Buffer
	if err := n.serveLines(strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("answered\n%swant\n%s", out.String(), want)
	}
}

func TestCatalog(t *testing.T) {
	data, err := catalog(toolCount)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
	}
	if len(names) != toolCount || !names["echo"] || !names["big"] {
		t.Errorf("%d tools with different names, want %d", len(names), toolCount)
	}
	last := list.Tools[toolCount-1]
	if n := len(last.Description); n < 120 || n > 180 {
		t.Errorf("a description of %d bytes, want about 150", n)
	}
	if n := len(last.InputSchema); n < 350 || n > 450 {
		t.Errorf("a schema of %d bytes, want about 400", n)
	}
}
