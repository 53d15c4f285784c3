package toolset_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// manyTools returns a registry with n tools of servers of 40, each for a verb and a
// thing, such as delete_invoice.
func manyTools(t testing.TB, n int) *belt {
	t.Helper()
	verbs := []string{"create", "get", "list", "update", "delete", "search", "archive", "restore", "export", "import", "share", "copy", "approve", "assign", "count", "lock", "merge", "tag", "validate", "watch"}
	things := []string{"invoice", "ticket", "event", "customer", "contract", "repository", "folder", "message", "channel", "page", "report", "dataset", "branch", "campaign", "coupon", "device", "employee", "warehouse", "shipment", "quote", "meeting", "lead", "image", "playlist", "survey"}
	servers := []string{"billing", "helpdesk", "calendar", "crm", "legal", "forge", "drive", "mail", "chat", "wiki", "ledger", "lake", "builds", "ads"}
	tools := make(map[string][]registry.Tool)
	for i := range n {
		verb, thing := verbs[i%len(verbs)], things[i/len(verbs)%len(things)]
		name := verb + "_" + thing
		server := servers[i/len(verbs)%len(things)%len(servers)]
		if round := i / (len(verbs) * len(things)); round > 0 {
			server, name = fmt.Sprintf("%s%d", server, round), fmt.Sprintf("%s_v%d", name, round)
		}
		tool := serverTool(server, name, fmt.Sprintf("Use this to %s one %s or more of the %s service. Returns what has become of each.", verb, thing, server))
		tool.def.InputSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
			"%[1]s_id":{"type":"string","description":"The id of the %[1]s to %[2]s, as another tool has returned it"},
			"dry_run":{"type":"boolean","description":"Only say what would happen"},
			"fields":{"type":"array","items":{"type":"string"},"description":"What to return of the %[1]s; by default all"}},"required":["%[1]s_id"]}`, thing, verb))
		tools[server] = append(tools[server], tool)
	}
	r := newBelt(t, nil, nil)
	for server, tools := range tools {
		mustReplace(t, r, server, tools...)
	}
	return r
}

// TestSearchSpellings: a tool is found first among 500, however it is asked for.
func TestSearchSpellings(t *testing.T) {
	r := manyTools(t, 500)
	for query, want := range map[string]string{
		"deleteInvoice":                        "billing__delete_invoice",
		"DeleteInvoice":                        "billing__delete_invoice",
		"DELETE_INVOICE":                       "billing__delete_invoice",
		"delete-invoice":                       "billing__delete_invoice",
		"delete.invoice":                       "billing__delete_invoice",
		"billing:delete_invoice":               "billing__delete_invoice",
		"billing__delete_invoice":              "billing__delete_invoice",
		"deleteinvoice":                        "billing__delete_invoice",
		"delete invoice":                       "billing__delete_invoice",
		"remove invoices":                      "billing__delete_invoice",
		"removing an invoice":                  "billing__delete_invoice",
		"erase the invoice":                    "billing__delete_invoice",
		"Please delete these invoices for me!": "billing__delete_invoice",
		"delte invioce":                        "billing__delete_invoice",
		"ＤＥＬＥＴＥ ｉｎｖｏｉｃｅ":                       "billing__delete_invoice",
		"délète invoïce":                       "billing__delete_invoice",
		"search tickets":                       "helpdesk__search_ticket",
		"find ticket":                          "helpdesk__search_ticket",
		"create calendar event":                "calendar__create_event",
		"add an event to the calendar":         "calendar__create_event",
		"which tickets are there":              "helpdesk__list_ticket",
		"pictures":                             "chat__list_image",
		"number of shipments":                  "legal__count_shipment",
		"get rid of an invoice":                "billing__delete_invoice",
		"how many shipments":                   "legal__count_shipment",
		"fetch repo":                           "forge__get_repository",
		"new directory":                        "drive__create_folder",
	} {
		if got := found(t, r, toolset.Query{Text: query}); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, want %s first", query, got, want)
		}
	}
}
