package catalog

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// bundled returns a bundle with a manifest, and files by name; one whose name ends in @ is a link.
func bundled(t *testing.T, manifest string, files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name, text string) {
		h := &zip.FileHeader{Name: strings.TrimSuffix(name, "@"), Method: zip.Deflate}
		if strings.HasSuffix(name, "@") {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		_, err := io.WriteString(assert.Value(w.CreateHeader(h))(t), text)
		assert.OK(t, err)
	}
	if manifest != "" {
		add("manifest.json", manifest)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) { // the same bytes each time
		add(name, files[name])
	}
	assert.OK(t, w.Close())
	return out.Bytes()
}

func newKeeper(t *testing.T) *Keeper { return &Keeper{Folder: t.TempDir(), Home: "/home/ann"} }

// The manifest of a bundle becomes the entry that it means.
func TestBundles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the paths are those of Linux")
	}
	manifest := func(run, options string) string {
		return `{"manifest_version":"0.3","name":"files","version":"1.0.0","server":{"type":"node","entry_point":"index.js","mcp_config":` + run + `},"user_config":{` + options + `}}`
	}
	for name, c := range map[string]struct {
		manifest, typed string
		given           []string
		want, says      string
	}{
		"node": {manifest: manifest(`{"command":"node","args":["${__dirname}/index.js","${HOME}${/}x","${DESKTOP}"]}`, ""), want: "node DIR/index.js /home/ann/x /home/ann/Desktop"},
		"uv":   {manifest: `{"manifest_version":"0.4","name":"files","version":"1.0.0","server":{"type":"uv","entry_point":"src/server.py"}}`, want: "uv run --directory DIR src/server.py"},
		//report: Command | Servosity/msp-skills#185, mvanhorn/cli-printing-press#3547, modelcontextprotocol/mcpb#101 | a manifest has keys that the specification does not know, or the older dxt_version, and the bundle is refused | what is not known does not matter: a bundle needs what it runs
		"other keys": {manifest: `{"dxt_version":"0.1","press_provenance":{},"name":"files","version":"1","server":{"type":"node","mcp_config":{"command":"node","args":["x"]}}}`, want: "node x"},
		"system": {manifest: manifest(`{"command":"x","args":["y"],"env":{"A":"1"},"platform_overrides":{"linux":{"command":"node","env":{"A":"2"}},"win32":{"command":"z"}}}`, ""),
			want: "node y | A: 2"},
		"another system": {manifest: `{"name":"files","compatibility":{"platforms":["darwin","win32"]},"server":{"mcp_config":{"command":"node"}}}`, says: "it is for darwin, win32, and this is linux"},
		//report: Command | CursorTouch/Windows-MCP#199 | an option of a bundle that is not needed was not set, and the server is started with ${user_config.NAME} in its variables | a variable or argument that refers to it is left out
		"left out": {manifest: manifest(`{"command":"node","args":["${user_config.dir}","x"],"env":{"D":"${user_config.dir}/y","E":"${user_config.other}"}}`, `"dir":{"type":"directory"}`),
			want: "node x | E: ${DOLLAR:-$}{user_config.other}"},
		"options": {manifest: manifest(`{"command":"node","args":["${user_config.dirs}","--max=${user_config.max}"],"env":{"RO":"${user_config.ro}","KEY":"${user_config.api_key}"}}`,
			`"dirs":{"type":"directory","multiple":true,"default":["${HOME}/a","/b"]},"max":{"type":"number","default":10},"ro":{"type":"boolean","default":true},"api_key":{"type":"string","sensitive":true,"required":true}`),
			want: "node /home/ann/a /b --max=10 | KEY: ${W_API_KEY} | RO: true"},
		"options that were given": {manifest: manifest(`{"command":"node","args":["${user_config.dirs}"]}`, `"dirs":{"multiple":true,"required":true}`), given: []string{"dirs=/x", "dirs=/y"}, want: "node /x /y"},
		"options that are typed":  {manifest: manifest(`{"command":"node","args":["${user_config.dir}"]}`, `"dir":{"title":"Folder","required":true}`), typed: "/Z\n", want: "node /Z"},
		"needed":                  {manifest: manifest(`{"command":"node","args":["${user_config.dir}"]}`, `"dir":{"required":true}`), says: "it needs to know dir"},
		"program":                 {manifest: manifest(`{"command":"bin/serve","args":["--x"]}`, ""), want: "DIR/bin/serve --x"},
		//report: Command | jacob-bd/gemini-notebook-mcp-cli#78, Servosity/msp-skills#188 | a bundle names a program that is not in it, and the client says later that the server was disconnected | the error says so when it is added
		"no program":        {manifest: manifest(`{"command":"${__dirname}/bin/other"}`, ""), says: `it has no file "${__dirname}/bin/other", which it wants to run`},
		"outside":           {manifest: manifest(`{"command":"../../bin/sh"}`, ""), says: "it has no file"},
		"half a command":    {manifest: manifest(`{"command":"/opt/${user_config.dir}/x"}`, `"dir":{}`), says: "it needs to know dir"},
		"no command":        {manifest: manifest(`{}`, ""), says: "it has no file"},
		"a secret of ours":  {manifest: manifest(`{"command":"node","env":{"A":"${GITHUB_TOKEN}"}}`, ""), want: "node | A: ${DOLLAR:-$}{GITHUB_TOKEN}"},
		"the other way":     {manifest: manifest(`{"command":"node","args":["\u202ex"]}`, ""), says: "cannot be seen"},
		"an odd default":    {manifest: manifest(`{"command":"node","args":["${user_config.dir}"]}`, `"dir":{"default":"\u001b[2J"}`), says: "cannot be seen"},
		"wrong JSON":        {manifest: `{"name":7}`, says: "its manifest.json is not as documented"},
		"no manifest":       {says: "it has no manifest.json at its top"},
		"an odd name of it": {manifest: `{"name":"\u001b[2J","server":{"mcp_config":{"command":"node"}}}`, says: "its manifest.json is not as documented"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAsker(c.typed, c.given...)
			k := newKeeper(t)
			data := bundled(t, c.manifest, map[string]string{"index.js": "", "bin/serve": "#!"})
			s, err := k.Bundle(t.Context(), a, data, "w", "/tmp/files.mcpb")
			if c.says != "" {
				assert.Fails(t, err, "the entry is %v", s)
				assert.Contains(t, err.Error(), c.says)
				return
			}
			assert.OK(t, err)
			hash := fmt.Sprintf("%x", sha256.Sum256(data))
			assert.Equal(t, strings.ReplaceAll(shown(s), filepath.Join(k.Folder, hash), "DIR"), c.want)
			assert.True(t, s.Proposed, "its launch waits")
			assert.Contains(t, s.Description, "from /tmp/files.mcpb, SHA-256 "+hash)
			assert.Equal(t, len(assert.Value(os.ReadDir(k.Folder))(t)), 0, "nothing is unpacked yet")
		})
	}
	_, err := newKeeper(t).Bundle(t.Context(), nil, []byte("no archive"), "w", "x.mcpb")
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), "it is no ZIP archive")
}

// keep unpacks a bundle that runs bin/serve.
func keep(t *testing.T, k *Keeper, files map[string]string) error {
	a, _ := newAsker("")
	_, err := k.Bundle(t.Context(), a, bundled(t, `{"name":"x","server":{"type":"binary","mcp_config":{"command":"bin/serve"}}}`, files), "w", "x.mcpb")
	assert.OK(t, err)
	return k.Keep()
}

// A bundle is unpacked into its own folder, each time as it is in the file.
func TestKeep(t *testing.T) {
	k := newKeeper(t)
	files := map[string]string{"bin/serve": "#!", "lib/": "", "lib/data": "1"}
	assert.OK(t, keep(t, k, files))
	//report: Command | modelcontextprotocol/mcpb#294, modelcontextprotocol/mcpb#13, modelcontextprotocol/mcpb#42 | the program of a bundle cannot be run once it is unpacked, since the archive or the client has lost its mode | what the manifest runs can be run, whatever the archive says
	assert.Equal(t, assert.Value(os.Stat(filepath.Join(k.dir, "bin/serve")))(t).Mode().Perm(), fs.FileMode(0o700))
	assert.Equal(t, assert.Value(os.Stat(filepath.Join(k.dir, "lib/data")))(t).Mode()&0o111, fs.FileMode(0))
	assert.OK(t, os.WriteFile(filepath.Join(k.dir, "lib/data"), []byte("changed"), 0o600))
	assert.OK(t, keep(t, k, files))
	assert.Equal(t, string(assert.Value(os.ReadFile(filepath.Join(k.dir, "lib/data")))(t)), "1")
	assert.Equal(t, len(assert.Value(os.ReadDir(k.Folder))(t)), 1, "folders")
}

// Nothing of a bundle lies outside its folder, and what is refused leaves nothing.
func TestHostileBundles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		evil  string // where the file evil lies then; empty if the bundle is refused
	}{
		//report: Command | huangjunsen0406/xiaozhi-mcphub#29 | the files of a bundle, or the name in its manifest, lead out of the folder in which it is unpacked | such a file lies inside of that folder, which is named by the hash of the bundle, and by nothing that it says; a link is refused
		"slip":          {map[string]string{"../../../evil": ""}, "evil"},
		"absolute":      {map[string]string{"/etc/evil": ""}, "etc/evil"},
		"backslash":     {map[string]string{`..\evil`: ""}, ""},
		"link":          {map[string]string{"lib@": "/etc"}, ""},
		"link and file": {map[string]string{"lib@": "/tmp", "lib/evil": ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			c.files["bin/serve"] = ""
			err := keep(t, k, c.files)
			if c.evil != "" {
				assert.OK(t, err)
				assert.Value(os.Stat(filepath.Join(k.dir, c.evil)))(t)
				return
			}
			assert.Fails(t, err)
			assert.Contains(t, err.Error(), "the bundle is not unpacked: ")
			assert.Equal(t, len(assert.Value(os.ReadDir(k.Folder))(t)), 0, "folders")
		})
	}
}

// A bundle of a registry is the file whose hash the registry says, wherever it lies.
func TestFetchedBundles(t *testing.T) {
	data := bundled(t, `{"name":"x","server":{"mcp_config":{"command":"node"}}}`, nil)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	defer files.Close()
	hash := fmt.Sprintf("%x", sha256.Sum256(data))
	r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/x.mcpb":
			http.Redirect(w, req, files.URL, http.StatusFound) // as the releases of GitHub do
		case "/file":
			http.Redirect(w, req, "file:///etc/passwd", http.StatusFound)
		case "/loop":
			http.Redirect(w, req, "/loop", http.StatusFound)
		case "/inside":
			http.Redirect(w, req, "http://10.0.0.1/", http.StatusFound)
		default:
			http.NotFound(w, req)
		}
	})
	for _, c := range []struct{ path, hash, says string }{
		{"/x.mcpb", hash, ""},
		//report: Command | goreleaser/goreleaser#6941, LeanerCloud/CUDly#1892 | a registry names a bundle without a hash, or with a hash of zeros | a bundle is used if it has the SHA-256 that the registry says, and never else
		{"/x.mcpb", "", "came no file with the SHA-256 that the registry says"},
		{"/x.mcpb", strings.Repeat("0", 64), "came no file with the SHA-256 that the registry says"},
		{"/other", hash, "with status 404 came no file"},
		{"/file", hash, "is neither https nor http"},
		{"/loop", hash, "it leads from one address to another without end"},
		{"/inside", hash, "10.0.0.1"},
	} {
		a, _ := newAsker("")
		s := serverOf(t, fmt.Sprintf(`"packages":[{"registryType":"mcpb","identifier":%q,"fileSha256":%q}]`, r.base+c.path, c.hash))
		e, err := r.Entry(t.Context(), a, s, "w", "", newKeeper(t))
		if c.says != "" {
			assert.Fails(t, err, "%v: the entry is %v", c, e)
			assert.Contains(t, err.Error(), c.says)
			continue
		}
		assert.OK(t, err)
		assert.Equal(t, shown(e), "node")
		assert.Contains(t, e.Description, "io.github.acme/weather 1.2.3 from "+r.base+"; bundle x")
	}
}
