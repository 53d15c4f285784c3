package registry_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
)

var errPicky = errors.New("takes no arguments")

type picky struct{}

func (*picky) UnmarshalJSON([]byte) error { return errPicky }

// The cause of an error stays within reach of errors.Is and errors.As.
func TestErrorsKeepTheirCause(t *testing.T) {
	_, err := echo[picky](t).Call(t.Context(), nil)
	if !errors.Is(err, errPicky) || err.Error() != `arguments of tool "tool": takes no arguments` {
		t.Errorf("error of an UnmarshalJSON: %v", err)
	}

	_, err = returns[any](t, math.Inf(1)).Call(t.Context(), nil)
	var unsupported *json.UnsupportedValueError
	if !errors.As(err, &unsupported) || err.Error() != `result of tool "tool": json: unsupported value: +Inf` {
		t.Errorf("error of a result: %v", err)
	}

	cause := errors.New("too big")
	err = &registry.DefinitionError{Tool: "tool", Field: "InputSchema", Err: cause}
	if !errors.Is(err, cause) || err.Error() != `registry: tool "tool": InputSchema too big` {
		t.Errorf("error of a definition: %v", err)
	}
}
