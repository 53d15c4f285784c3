package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestIsBatch(t *testing.T) {
	for body, want := range map[string]bool{" \t\r\n[": true, "{[": false, "  ": false, "": false} {
		assert.Equal(t, message.IsBatch([]byte(body)), want, "%q is a batch", body)
	}
}

func TestRead(t *testing.T) {
	long := strings.Repeat("1", 1025)
	for in, want := range map[string]string{
		`"id":-1,"method":"m","params":{}`: "", `"id":"a","method":"m","params":[]`: "", `"id":{},"result":{}`: "",
		`"id":1`: "the method is missing", `"method":"` + strings.Repeat("m", 257) + `"`: "the method is missing",
		`"id":null,"method":"m"`:           "the id has to be a string or a number, of at most 1024 bytes",
		`"id":` + long + `,"method":"m"`:   "the id has to be a string or a number, of at most 1024 bytes",
		`"id":1,"method":"m","params":[1]`: "params is not an object",
		`"jsonrpc":"1.0"`:                  `the member "jsonrpc" has to be "2.0"`,
	} {
		if !strings.Contains(in, "jsonrpc") {
			in = `"jsonrpc":"2.0",` + in
		}
		_, id, err := message.Read([]byte("{" + in + "}"))
		assert.True(t, want == "" || id == nil || string(id) == "1", "%.60s: the id %s", in, id)
		got := ""
		if err != nil {
			got = err.Message
		}
		assert.Equal(t, got, want, "%.60s", in)
	}
}

// The empty list that PHP writes for an empty object has no arguments.
func TestParamsOf(t *testing.T) {
	for in, want := range map[string]string{
		``: `       `,
		`{"name":"a","uri":1,"cursor":2,"arguments":{"x":1.0},"_meta":3,"taskId":4,"inputResponses":5,"requestState":6,"z":7}`: `"a" 1 2 {"x":1.0} 3 4 5 6`,
		`{"arguments":[ ]}`: `       `, `{"arguments":[1]}`: `   [1]    `,
	} {
		var object []byte
		if in != "" {
			object = []byte(in)
		}
		p := message.ParamsOf(object)
		got := fmt.Sprintf("%s %s %s %s %s %s %s %s", p.Name, p.URI, p.Cursor, p.Arguments, p.Meta, p.TaskID, p.Responses, p.State)
		assert.Equal(t, got, want, "of %s", in)
	}
}
