//go:build release

// Tests of .ci/package: all that a release of the command offers.

package release

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// tryPackages makes all that a release offers, twice: the second time with a home, caches and folders of its
// own. Then it runs the program of the image as the image says. It does so if MCPBELT_FULL is set.
func (s *stranger) tryPackages(t *testing.T) {
	t.Helper()
	if os.Getenv("MCPBELT_FULL") == "" {
		return
	}
	own := t.TempDir()
	t.Cleanup(func() { _ = removeReadOnly(own) })
	second := append(slices.Clone(s.env), "HOME="+own, "TMPDIR="+own, "GOPATH="+filepath.Join(own, "go"),
		"GOMODCACHE="+filepath.Join(own, "modules"), "GOCACHE="+filepath.Join(own, "cache"))
	var dir string
	var sums []string
	for _, env := range [][]string{s.env, second} {
		dir = t.TempDir()
		command{"", env}.run(t, root+"/.ci/package", s.version, dir)
		sums = append(sums, string(assert.Value(os.ReadFile(filepath.Join(dir, "SHA256SUMS")))(t)))
	}
	assert.Equal(t, sums[1], sums[0], "the checksums of the second time")
	assert.Equal(t, strings.Count(sums[0], "\n"), 6+6+4+3, "files: archives, lists of parts, packages; the image, the formula, how it was made")
	for _, name := range []string{"usr/bin/mcpbelt", "man1/mcpbelt.1", "bash-completion/completions/mcpbelt", "doc/mcpbelt/copyright"} {
		assert.Contains(t, command{dir, nil}.run(t, "dpkg-deb", "-c", "mcpbelt_"+s.version+"_linux_amd64.deb"), name)
	}

	image, rootfs := filepath.Join(own, "image"), filepath.Join(own, "rootfs")
	assert.OK(t, errors.Join(os.Mkdir(image, 0o755), os.Mkdir(rootfs, 0o755), os.Chmod(own, 0o755)))
	command{dir, nil}.run(t, "tar", "-xf", "mcpbelt_"+s.version+"_oci.tar", "-C", image)
	blobs, _ := filepath.Glob(filepath.Join(image, "blobs", "sha256", "*"))
	for _, blob := range blobs {
		sum, _, _ := strings.Cut(command{image, nil}.run(t, "sha256sum", blob), " ")
		assert.Equal(t, sum, filepath.Base(blob), "the sum of a blob")
	}
	// The first entry of the index is that of the first target for Linux, amd64.
	follow := func(name, at string) string {
		_, rest, _ := strings.Cut(string(assert.Value(os.ReadFile(filepath.Join(image, name)))(t)), at)
		_, digest, _ := strings.Cut(rest, `"digest":"sha256:`)
		return "blobs/sha256/" + digest[:64]
	}
	manifest := follow(follow("index.json", "manifests"), "manifests")
	command{image, nil}.run(t, "tar", "-xzf", follow(manifest, "layers"), "-C", rootfs)
	config := string(assert.Value(os.ReadFile(filepath.Join(image, follow(manifest, `"config"`))))(t))
	assert.Contains(t, config, `"User":"65532:65532"`)
	assert.Contains(t, config, `"Entrypoint":["mcpbelt"],"Cmd":["serve"`)
	if os.Getuid() != 0 {
		t.Log("not root: the image is not run")
		return
	}
	cmd := exec.CommandContext(t.Context(), "chroot", "--userspec=65532:65532", rootfs, "/usr/local/bin/mcpbelt", "serve", "--listen", "127.0.0.1:0", "--public")
	cmd.Env = []string{"PATH=/usr/local/bin:" + os.Getenv("PATH"), "HOME=/home/nonroot"}
	stdout := assert.Value(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	assert.OK(t, cmd.Start())
	defer func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) }()
	url := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(assert.Value(bufio.NewReader(stdout).ReadString('\n'))(t), "URL:")), "/mcp")
	res := assert.Value(http.Get(url + "/healthz"))(t)
	defer res.Body.Close()
	assert.Equal(t, res.StatusCode, 200, "%s/healthz", url)
	assert.Contains(t, string(assert.Value(os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)))(t)), "Uid:\t65532\t65532")
	http.DefaultClient.CloseIdleConnections()
}
