package codemode_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

type invoice struct {
	ID     int `json:"id"`
	Amount int `json:"amount"`
}

// newInvoiceRegistry returns a registry with two tools of a program.
func newInvoiceRegistry(opts *registry.Options) *registry.Registry {
	r := registry.New(opts)
	list, _ := registry.With(registry.MustFunc("list_invoices", "List all invoices.", func(context.Context, struct{}) ([]invoice, error) {
		return []invoice{{1, 100}, {2, 2500}, {3, 9000}}, nil
	}), func(d *registry.Definition) { d.Annotations = &readOnly })
	_ = r.Add(list, registry.MustFunc("pay_invoice", "Pay an invoice.", func(_ context.Context, in struct {
		ID int `json:"id"`
	}) (string, error) {
		return fmt.Sprint("paid ", in.ID), nil
	}))
	return r
}

// A script takes the place of many calls. The main of this program begins with
// codemode.Child().
func ExampleRunner_Run() {
	scripts, err := codemode.New(newInvoiceRegistry(nil), nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer scripts.Close()
	report, err := scripts.Run(context.Background(), &codemode.Script{
		Code: `
			const all = await tools.list_invoices()
			const large = all.filter(i => i.amount > 1000)
			return await Promise.all(large.map(i => tools.pay_invoice({id: i.id})))`,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(report.Value), report.Err)
	// Output: ["paid 2","paid 3"] <nil>
}

// A model runs scripts by the tool code_execution.
func ExampleRunner_Tool() {
	r := newInvoiceRegistry(nil)
	scripts, _ := codemode.New(r, nil, nil)
	defer scripts.Close()
	_ = r.Add(scripts.Tool(nil))
	res, _ := r.Call(context.Background(), codemode.ToolName, []byte(`{"code":"return (await tools.list_invoices()).length"}`))
	fmt.Println(textOf(res))
	// Output: {"value":3}
}

// A person who is asked later approves a call; the script goes on then.
func ExampleRunner_Resume() {
	ctx := context.Background()
	r := newInvoiceRegistry(&registry.Options{Approver: asking})
	scripts, _ := codemode.New(r, nil, nil)
	defer scripts.Close()
	report, _ := scripts.Run(ctx, &codemode.Script{Code: `return await tools.pay_invoice({id: 2})`})
	waits := report.Waiting[0]
	fmt.Println("waits:", waits.Tool.Name, string(waits.Args))
	_, _ = r.Approve(ctx, waits.ID, nil) // on a page, say
	report, _ = scripts.Resume(ctx, report.ID, 0)
	fmt.Println(string(report.Value))
	// Output:
	// waits: pay_invoice {"id":2}
	// "paid 2"
}

// A person approves all calls of a loop at once.
func ExampleApprover() {
	r := newInvoiceRegistry(&registry.Options{Approver: codemode.Approver(asking)})
	scripts, _ := codemode.New(r, nil, &codemode.Options{
		ApprovePlan: func(_ context.Context, p *codemode.Plan) (approval.Decision, error) {
			for _, call := range p.Calls {
				fmt.Println("May I call", call.Tool.Name, string(call.Arguments))
			}
			return approval.Decision{Verdict: approval.Allow}, nil
		},
	})
	defer scripts.Close()
	report, _ := scripts.Run(context.Background(), &codemode.Script{
		Code:    `for (const i of await tools.list_invoices()) await tools.pay_invoice({id: i.id})`,
		AskOnce: true,
	})
	fmt.Println(len(report.Calls), "calls made")
	// Output:
	// May I call pay_invoice {"id":1}
	// May I call pay_invoice {"id":2}
	// May I call pay_invoice {"id":3}
	// 4 calls made
}

// The main of a program that runs scripts begins so: the sandbox is another process of it.
func ExampleChild() {
	codemode.Child()
	fmt.Println("not a sandbox")
	// Output: not a sandbox
}
