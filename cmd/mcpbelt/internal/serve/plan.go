package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

const (
	approve = "Approve all of them"
	refuse  = "Refuse"
	// maxPlan bounds what a person is asked about at one time, in bytes.
	maxPlan = 16 << 10
)

// planForm is what the user answers.
const planForm = `{"type":"object","required":["decision"],"properties":{"decision":{"type":"string","title":"Decision","enum":["` + approve + `","` + refuse + `"]}}}`

// askPlan asks the user of the client that runs a script about all of its calls.
func askPlan(ctx context.Context, p *codemode.Plan) (approval.Decision, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "May a script make these %d calls?\n", len(p.Calls))
	for _, c := range p.Calls {
		fmt.Fprintf(&text, "\n%s %s", plain.Line(c.Tool.Name), plain.Line(string(c.Arguments)))
		if text.Len() > maxPlan {
			return approval.Decision{}, errors.New("the calls are too many to be shown at one time: let the script make fewer of them")
		}
	}
	defer approval.Wait(ctx)()
	res, err := gateway.Elicit(ctx, &mcp.ElicitParams{Message: text.String(), RequestedSchema: json.RawMessage(planForm)})
	if err != nil {
		return approval.Decision{}, err
	}
	if choice, _ := res.Content["decision"].(string); res.Action != "accept" || choice != approve {
		return approval.Decision{Verdict: approval.Deny, Reason: "the user refused the calls of the script"}, nil
	}
	return approval.Decision{Verdict: approval.Allow}, nil
}
