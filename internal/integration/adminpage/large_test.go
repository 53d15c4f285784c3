//go:build integration && unix

package adminpage

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// maxHeap bounds the heap of a page with 10,000 tools, in bytes.
const maxHeap = 100 << 20

// TestTenThousand opens the tools of a host that has 10,000. With -v it prints how fast that was.
func TestTenThousand(t *testing.T) {
	const servers, each = 10, 1000
	var records []*record.Record
	for i := range servers {
		server := newServer(fmt.Sprint("s", i))
		for j := range each {
			addTool(server, fmt.Sprintf("tool_%d_%d", i, j), fmt.Sprintf("Does the thing number %d of the server number %d, and says what came of it.", j, i), pathSchema, "done")
		}
		records = append(records, remote(fmt.Sprint("s", i), serveHTTP(t, server)))
	}
	s := open(t, records...)
	for i := range servers {
		hosttest.Until(t, s.host, fmt.Sprint("s", i), "with its tools", func(st host.Status) bool { return st.Tools == each })
	}
	p := s.tab(chromium.Start(t))
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		new MutationObserver((_, o) => { if (document.querySelector('.window [role=row]')) { o.disconnect(); requestAnimationFrame(() => requestAnimationFrame(() => { window.rowsAt = performance.now(); })); } })
			.observe(document, {childList: true, subtree: true});`})
	p.signIn(s.owner)
	p.settled("/servers")
	p.open("/tools")
	p.awaitText("10,000")
	p.AwaitTrue("window.rowsAt")
	var took struct{ First, Rows, Filter, Scroll float64 }
	assert.OK(t, p.Eval(`(async () => {
		const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const field = document.querySelector('main input[type=search]');
		const type = async (text) => { const began = performance.now(); field.value = text; field.dispatchEvent(new Event('input', {bubbles: true})); await frames(); return performance.now() - began; };
		let filter = 0;
		for (const text of ['t', 'to', 'tool 7', 'number 77', 'nothing at all', '']) filter = Math.max(filter, await type(text));
		const began = performance.now();
		document.querySelector('.window').scrollTop = 200000;
		await frames();
		const scroll = performance.now() - began;
		return {first: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0, rows: window.rowsAt, filter, scroll};
	})()`, &took))
	p.do("HeapProfiler.collectGarbage", nil)
	var heap struct{ UsedSize float64 }
	assert.OK(t, p.Call("Runtime.getHeapUsage", nil, &heap))
	t.Logf("10,000 tools: first paint %.0f ms, rows %.0f ms, filter at most %.0f ms, scroll %.0f ms, heap %.1f MB",
		took.First, took.Rows, took.Filter, took.Scroll, heap.UsedSize/(1<<20))
	if heap.UsedSize > maxHeap {
		t.Errorf("heap: got %.0f bytes, want at most %d", heap.UsedSize, maxHeap)
	}
	if !p.has("document.querySelectorAll('.window [role=row]').length < 100") {
		t.Error("rows in the document: got 100 or more, want those in sight")
	}
	p.Fill("main input[type=search]", "tool_3_141")
	p.AwaitTrue("document.querySelectorAll('.window [role=row]').length === 1")
	p.reach("Tools")
	p.Press("ArrowDown")
	p.Press("Enter")
	p.AwaitTitle("s3__tool_3_141 · mcpbelt")
}
