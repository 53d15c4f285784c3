//go:build integration && unix

package adminpage

import (
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

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
	"changes": "/changes", "launches": "/launches", "inbox": "/inbox", "logins": "/logins", "keys": "/keys", "activity": "/activity?user=ada", "health": "/health",
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
			if info.Size() > maxPicture {
				t.Errorf("%s: got %d bytes, want at most %d", info.Name(), info.Size(), maxPicture)
			}
			sum += info.Size()
		}
	}
	if sum > maxPictures {
		t.Errorf("all pictures: got %d bytes, want at most %d", sum, maxPictures)
	}
}

func takePictures(t *testing.T) {
	s := openBusy(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	assert.OK(t, os.MkdirAll(pictures, 0o755))
	for name, path := range shots {
		for _, theme := range []string{"light", "dark"} {
			p.theme(theme)
			p.open(path)
			assert.OK(t, p.Eval(mask, nil))
			var shot struct{ Data string }
			assert.OK(t, p.Call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 80}, &shot))
			data, err := base64.StdEncoding.DecodeString(shot.Data)
			if err != nil || len(data) == 0 {
				t.Fatalf("%s: got %v, want a picture", name, err)
			}
			assert.OK(t, os.WriteFile(filepath.Join(pictures, name+"-"+theme+".webp"), data, 0o644))
		}
	}
}
