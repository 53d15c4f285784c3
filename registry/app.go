package registry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// maxPage bounds the URI of an app, in bytes.
const maxPage = 2 << 10

// App returns the URI, at the tool's server, of the page on which results of the tool are shown (MCP Apps), such as
// "ui://clock/view.html"; empty if the tool has none. Package host/apps shows it.
func (d *Definition) App() string { return d.page }

// ForModels reports whether models are told of the tool and may call it (MCP Apps, Visibility).
func (d *Definition) ForModels() bool { return !d.appOnly }

// ForApps reports whether the tool may be called by the apps of its server, and by no others (MCP Apps, Visibility).
func (d *Definition) ForApps() bool { return d.Origin.Server != "" && !d.modelOnly }

// appOf reads what a server says of a tool and its apps (MCP Apps 2026-01-26). A visibility that is no list says nothing.
func appOf(meta mcp.Meta) (page string, appOnly, modelOnly bool) {
	ui, _ := meta["ui"].(map[string]any)
	page, ok := ui["resourceUri"].(string)
	if !ok {
		page, _ = meta["ui/resourceUri"].(string) // the older key
	}
	if !strings.HasPrefix(page, "ui://") || len(page) > maxPage {
		page = ""
	}
	if visibility, ok := ui["visibility"].([]any); ok {
		appOnly, modelOnly = !slices.Contains(visibility, any("model")), !slices.Contains(visibility, any("app"))
	}
	return page, appOnly, modelOnly
}

// AsApp returns a context for calls that an app of a server makes: they reach the tools of that server that are [Definition.ForApps]
// and no others, and their results stay whole, see [result.WithWhole]. Approvers, middleware and observers see them as they do all calls.
func AsApp(ctx context.Context, server string) context.Context {
	return result.WithWhole(onbehalf.AsApp(ctx, server))
}

// openTo reports whether who calls under ctx may know of the tool, if that is an app.
func (e *entry) openTo(ctx context.Context) bool {
	server, isApp := onbehalf.AppOf(ctx)
	return !isApp || e.def.ForApps() && e.def.Origin.Server == server
}

// JudgeApp returns why the ledger holds the app of a tool back, or nil: a page and what its server declares of it, as
// JSON, are accepted as tools are, see [ledger.Ledger.RecordApp]. Without a ledger all are. The error is that of a ledger
// that cannot be written.
func (r *Registry) JudgeApp(ctx context.Context, def *Definition, page []byte, declares json.RawMessage) (*ledger.Change, error) {
	if r.ledger == nil || def.Origin.Server == "" {
		return nil, nil
	}
	server := r.offering(def.Origin.Server).server
	return r.ledger.RecordApp(ctx, server.ledger(), ledger.NewAppSurface(def.called(), def.page, page, declares))
}
