// Tests of views: each in both themes, many, with much in them, and their pictures.

//go:build integration && unix

package adminpage

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// views are the paths of all views, as a busy site has them.
var views = []string{
	"/servers", "/servers/files", "/servers/broken", "/servers/weather/edit", "/add", "/tools", "/tools/weather__forecast", "/changes",
	"/connect", "/launches", "/inbox", "/logins", "/keys", "/activity", "/no-such-view",
}

// TestViews opens each view in both themes and on a narrow screen.
func TestViews(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()
	for _, path := range views {
		p.theme("light")
		p.open(path)
		p.accessible(path + " light")
		assert.True(t, p.has("[...document.querySelectorAll('.scroll')].every((e) => e.scrollWidth <= e.clientWidth)"), "%s: a table fits a wide screen", path)
		p.theme("dark")
		p.size(380, 800)
		p.open(path)
		p.accessible(path + " dark and narrow")
		if !p.has("document.scrollingElement.scrollWidth <= 380") {
			var wide string
			_ = p.Eval(`[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 381 && !e.closest('.scroll, pre, .list')).slice(0, 3).map((e) => e.outerHTML.slice(0, 200)).join('\n')`, &wide)
			t.Errorf("%s: got it wider than 380 px by %s, want no more", path, wide)
		}
		p.size(1280, 800)
	}
}

// TestManyPages opens more pages than a browser has connections: those that were left, and those out of sight, hold none.
func TestManyPages(t *testing.T) {
	_, p := openPage(t)
	for i := range 10 {
		p.open([]string{"/servers", "/keys"}[i%2])
		p.AwaitTrue("document.querySelector('.state').dataset.state === 'live'")
	}
	assert.OK(t, p.Eval("setTimeout(() => history.back()) && 0", nil))
	p.AwaitTrue("document.querySelector('.state')?.dataset.state === 'live'")
}

// maxHeap bounds the heap of a page with 10,000 tools, in bytes.
const maxHeap = 100 << 20

// TestTenThousand opens the tools of a host that has 10,000.
func TestTenThousand(t *testing.T) {
	const servers, each = 10, 1000
	var records []*config.Server
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
	p := s.openOwner()
	p.settled("/servers")
	p.open("/tools")
	p.awaitText("10,000")
	p.do("HeapProfiler.collectGarbage", nil)
	var heap struct{ UsedSize float64 }
	assert.OK(t, p.Call("Runtime.getHeapUsage", nil, &heap))
	assert.True(t, heap.UsedSize <= maxHeap, "the heap has %.0f bytes, at most %d", heap.UsedSize, maxHeap)
	assert.True(t, p.has("document.querySelectorAll('.window [role=row]').length < 100"), "the rows in the document are those in sight")
	p.Fill("main input[type=search]", "tool_3_141")
	p.AwaitTrue("document.querySelectorAll('.window [role=row]').length === 1")
	p.reach("Tools")
	p.Press("ArrowDown")
	p.Press("Enter")
	p.AwaitTitle("s3__tool_3_141 · mcpbelt")
}

var update = flag.Bool("update", false, "write the pictures of docs/images/admin")

// pictures is where the pictures are.
const pictures = "../../../docs/images/admin"

// bounds of the pictures, in bytes
const (
	maxPicture  = 150_000
	maxPictures = 2_500_000
)

// shots are the names of pictures, and the paths of their views.
var shots = map[string]string{
	"servers": "/servers", "server": "/servers/weather", "edit": "/servers/weather/edit", "add": "/add", "tools": "/tools", "tool": "/tools/weather__forecast",
	"changes": "/changes", "launches": "/launches", "inbox": "/inbox", "logins": "/logins", "keys": "/keys", "activity": "/activity?user=ada", "connect": "/connect",
}

// mask puts fixed texts in the place of what is another in each run: ports, times, IDs and how long something took.
const mask = `(() => {
	const rules = [
		[/127\.0\.0\.1:\d+/g, '127.0.0.1:8080'],
		[/\b\d+(\.\d+)? (ms|s)\b/g, '12 ms'],
		[/\b(in |)\d+ (second|minute|hour|day)s?( ago|)/g, '$1' + '5 minutes' + '$3'],
		[/^(now)$/, '5 minutes ago'],
		[/ after \d+ failures/g, ' after 3 failures'],
		[/\b\d+, \d+ MB\b/g, '4711, 20 MB'],
		[/(\/[\w.-]+)+\/adminpage\.test/g, '/usr/local/bin/files'],
		[/(\/[\w.-]+)+\/adminpage\b/g, '/srv/project'],
		[/GORACE='[^']*' HOST_TEST_SERVER=\w+ /g, ''],
		[/\b(?=\w*[a-f])[0-9a-f]{12,}\b/g, '0123456789abcdef'],
		[/\b[A-Z2-7]{12}\b/g, 'ABCDEFGHIJ23'],
		[/\b\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '2026-01-02T03:04:05Z'],
	];
	const clean = (text) => rules.reduce((t, [from, to]) => t.replace(from, to), text);
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const text = clean(walk.currentNode.data);
		if (text !== walk.currentNode.data) walk.currentNode.data = text;
	}
	for (const el of document.querySelectorAll('input, textarea')) el.value = clean(el.value);
	for (const el of document.querySelectorAll('.spark polyline')) el.setAttribute('points', '0,14 24,8 48,16 72,6 96,12');
	for (const el of document.querySelectorAll('.spark circle')) { el.setAttribute('cx', 96); el.setAttribute('cy', 12); }
	document.activeElement?.blur();
})()`

// TestScreenshots checks that there is a picture of each view in both themes, which is not too large. With
// -update it takes them.
func TestScreenshots(t *testing.T) {
	if *update {
		takePictures(t)
	}
	var sum int64
	for name := range shots {
		for _, theme := range []string{"light", "dark"} {
			info, err := os.Stat(filepath.Join(pictures, name+"-"+theme+".webp"))
			if err != nil {
				t.Errorf("picture: got %v, want one", err)
				continue
			}
			assert.True(t, info.Size() <= maxPicture, "%s has %d bytes, at most %d", info.Name(), info.Size(), maxPicture)
			sum += info.Size()
		}
	}
	assert.True(t, sum <= maxPictures, "all pictures have %d bytes, at most %d", sum, maxPictures)
}

func takePictures(t *testing.T) {
	s := openBusy(t)
	p := s.openOwner()
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin") // which a hint shows
	assert.OK(t, os.MkdirAll(pictures, 0o755))
	for name, path := range shots {
		for _, theme := range []string{"light", "dark"} {
			p.theme(theme)
			p.open(path)
			assert.OK(t, p.Eval(mask, nil))
			var shot struct{ Data string }
			assert.OK(t, p.Call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 80}, &shot))
			data := assert.Value(base64.StdEncoding.DecodeString(shot.Data))(t)
			assert.False(t, len(data) == 0, "%s", name)
			assert.OK(t, os.WriteFile(filepath.Join(pictures, name+"-"+theme+".webp"), data, 0o644))
		}
	}
}
