package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestAnsweredBy(t *testing.T) {
	far := strings.Repeat("x", 300)
	for text, want := range map[string][]int64{
		`{"jsonrpc":"2.0","id":5,"result":`:                            {5, 5}, // from either end
		`{"jsonrpc":"2.0","id" : "5","error":`:                         {5, 5},
		`{"jsonrpc":"2.0","id":5,"result":"` + far + `"`:               {5},
		`{"result":"` + far + `","jsonrpc":"2.0","id":5}`:              {5},
		`{"result":{"id":1,"t":"` + far + `"},"jsonrpc":"2.0","id":5}`: {1, 5},
		`{"jsonrpc":"2.0","id":null,"result":`:                         nil,
		`{"jsonrpc":"2.0","id":99999999999999999999,"result":`:         nil,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","par`:           nil,
		`{"id":5,"result":`:                                            nil,
		`{"jsonrpc":"2.0","result":`:                                   nil,
		``:                                                             nil,
	} {
		assert.Equal(t, fmt.Sprint(answeredBy([]byte(text))), fmt.Sprint(want), "%.60s", text)
	}
}
