package host

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/transport"
)

// launchOf returns what starting the server would mean at this moment. It fails with
// a [*transport.StartError] if there is no such program.
func launchOf(e *config.Server) (*consent.Launch, error) {
	l := &consent.Launch{
		Server:    e.Name,
		Title:     e.Title,
		Source:    e.Source.String(),
		Project:   launchProject(e.Source.File),
		Transport: e.Transport,
		Isolation: launchIsolation(withRealMounts(e).Isolation),
		Identity:  launchIdentity(e),
		Tools:     launchTools(e.Tools),

		References: e.References(),
	}
	launchValues(l, e)
	if e.Transport != config.TransportStdio {
		l.URL, l.Login = e.URL, launchLogin(e.Auth)
		return l, nil
	}
	l.Args = slices.Clone(e.Args)
	if inContainer(e) {
		l.Path, l.Dir = e.Command, e.Cwd // the container has them
		return l, nil
	}
	var err error
	if l.Dir, err = filepath.Abs(e.Cwd); err == nil {
		l.Path, err = launchProgram(e.Command, l.Dir)
	}
	if err != nil {
		return nil, &transport.StartError{Path: e.Command, Err: err}
	}
	return l, nil
}

// inContainer reports whether command and cwd are those of a container, and not of this
// machine.
func inContainer(e *config.Server) bool {
	return e.Isolation != nil && e.Isolation.Kind == config.IsolationDocker
}

// launchProject returns the real folder of a config file, so that a link that leads
// to another project now does not take the decisions with it.
func launchProject(file string) string {
	if file == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return filepath.Dir(file)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// launchProgram returns the absolute path of what os/exec would run as command in
// dir: what has no separator is looked up in the PATH of this process, all else from
// dir.
func launchProgram(command, dir string) (string, error) {
	if filepath.Base(command) == command {
		found, err := exec.LookPath(command)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	if runtime.GOOS == "windows" {
		if filepath.VolumeName(command) == "" && !os.IsPathSeparator(command[0]) {
			command = filepath.Join(dir, command)
		}
		found, err := exec.LookPath(command) // which adds .exe and the like
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.Contains(command, "..") {
		return dir + "/" + command, nil // a link in front of .. leads elsewhere than Join
	}
	return filepath.Join(dir, command), nil
}

// launchValues notes the variables and headers of an entry as written. What stands there
// as ${file:path} may be changed by whoever writes the entry, so its content counts, too.
func launchValues(l *consent.Launch, e *config.Server) {
	env, headers, clientSecret := e.Written()
	l.Masked = map[string]string{}
	note := func(key string, written, values map[string]config.Secret, separator string, spell func(string) string) []string {
		list := make([]string, 0, len(written))
		for _, name := range slices.Sorted(maps.Keys(written)) {
			text := written[name].Reveal()
			spelled := spell(name)
			list = append(list, spelled+separator+text)
			if shown, ok := maskedValue(name, separator, text); ok {
				l.Masked[spelled] = shown
			}
			if strings.Contains(text, "${file:") {
				l.References = append(l.References, fmt.Sprintf("%s.%s: SHA-256 %x", key, name, sha256.Sum256([]byte(values[name].Reveal()))))
			}
		}
		slices.Sort(list)
		return list
	}
	if e.Transport == config.TransportStdio {
		l.Env = note("env", env, e.Env, "=", func(name string) string { return name })
		return
	}
	l.Headers = note("headers", headers, e.Headers, ": ", http.CanonicalHeaderKey)
	l.ClientSecret = clientSecret.Reveal()
}

// maskedValue returns how the value of a variable or header is shown if it is a secret.
// What a program may run, or find more of in a file, is shown as it is, whatever it is
// called.
func maskedValue(name, separator, value string) (string, bool) {
	if separator == "=" && showsCode(name, value) {
		return "", false
	}
	shown, ok := strings.CutPrefix(config.MaskArgs([]string{name + separator + value})[0], name+separator)
	if !ok {
		return "****", true
	}
	return shown, shown != value
}

// showsCode reports whether a variable looks like one by which programs find code: its
// value is a path, options, or words of a shell, or its name says so.
func showsCode(name, value string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' })
	if len(words) == 0 || leadsToCode(name) || strings.HasPrefix(strings.ToUpper(name), "GIT_CONFIG_") {
		return true
	}
	switch words[len(words)-1] {
	case "COMMAND", "CMD", "HELPER", "PROGRAM", "EXEC", "HOOK", "HOOKS", "MODULE", "PLUGIN", "SCRIPT", "SHELL",
		"EDITOR", "PAGER", "OPTIONS", "OPTS", "FLAGS", "ARGS", "PRELOAD", "ASKPASS":
		return true
	}
	if strings.HasPrefix(value, "-") || strings.HasPrefix(value, "/") || strings.HasPrefix(value, ".") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "data:") {
		return true
	}
	if strings.Contains(value, ":/") && !strings.Contains(value, "://") { // a list of paths
		return true
	}
	_, rest, scheme := strings.Cut(value, " ") // as in "Bearer token"
	if !scheme {
		rest = value
	}
	return strings.ContainsAny(rest, " \t\n;|&<>()`")
}

// leadsToCode reports whether programs take further code, or further programs, from
// where the variable says: with another value of it an approved command is another
// one.
func leadsToCode(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "-", "_") // as npm takes it
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
		return true
	}
	switch name {
	case "PATH", "PATHEXT", "COMSPEC", "SHELL", "HOME", "USERPROFILE", "APPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
		"BASH_ENV", "ENV", "ZDOTDIR", "PS4", "IFS",
		"NODE_OPTIONS", "NODE_PATH", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_PREFIX",
		"NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_SCRIPT_SHELL", "DENO_DIR", "DENO_INSTALL_ROOT", "BUN_INSTALL", "BUN_OPTIONS", "BUN_INSPECT",
		"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONBREAKPOINT", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE",
		"VIRTUAL_ENV", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "PIP_TARGET", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
		"UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE", "UV_PYTHON", "UV_TOOL_DIR",
		"NPM_CONFIG_CACHE", "NPM_CONFIG_CAFILE", "NPM_CONFIG_STRICT_SSL", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_TRUSTED_HOST", "PIP_CERT", "UV_INSECURE_HOST",
		"UV_CACHE_DIR", "UV_PYTHON_INSTALL_MIRROR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"RUBYLIB", "RUBYOPT", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "BUNDLE_PATH",
		"PERL5LIB", "PERLLIB", "PERL5OPT", "PERL5DB", "LUA_PATH", "LUA_CPATH", "LUA_INIT", "PHPRC", "PHP_INI_SCAN_DIR",
		"CLASSPATH", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
		"DOTNET_STARTUP_HOOKS", "DOTNET_ROOT", "DOTNET_ADDITIONAL_DEPS", "CORECLR_PROFILER", "CORECLR_PROFILER_PATH", "COR_PROFILER", "COR_PROFILER_PATH",
		"GOFLAGS", "GOPROXY", "GOROOT", "GOPATH", "GOBIN", "GOTOOLCHAIN", "RUSTC", "RUSTC_WRAPPER", "CARGO_HOME", "RUSTUP_TOOLCHAIN",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
		"GIT_EDITOR", "GIT_PAGER", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER", "BROWSER",
		"DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "KUBECONFIG", "TMPDIR", "GLIBC_TUNABLES", "GCONV_PATH", "OPENSSL_CONF", "OPENSSL_MODULES":
		return true
	}
	return false
}

func launchIdentity(e *config.Server) string {
	switch e.Identity {
	case "", config.IdentityShared:
		return ""
	case config.IdentityHeader:
		if e.UserHeader != "" {
			return fmt.Sprintf("each user's own, in the header %q and what the program sends", http.CanonicalHeaderKey(e.UserHeader))
		}
		return "each user's own, in the headers that the program sends"
	}
	return fmt.Sprintf("each user's own (%s)", e.Identity)
}

// launchTools says which tools of a server are used.
func launchTools(f config.ToolFilter) string {
	var parts []string
	if f.Allow != nil {
		parts = append(parts, fmt.Sprintf("only %q", slices.Sorted(slices.Values(f.Allow))))
	}
	if len(f.Deny) > 0 {
		parts = append(parts, fmt.Sprintf("not %q", slices.Sorted(slices.Values(f.Deny))))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Rename)) {
		parts = append(parts, fmt.Sprintf("%q as %q", name, f.Rename[name]))
	}
	return strings.Join(parts, ", ")
}

func launchLogin(a *config.Auth) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("issuer %q, client %q, scopes %q, redirect %q", a.Issuer, a.ClientID, a.Scopes, a.RedirectURL)
}

// withRealMounts returns the entry with the folders that its mounts really are, so
// that a link of a project that leads to another folder now does not open that one.
func withRealMounts(e *config.Server) *config.Server {
	if e.Isolation == nil || len(e.Isolation.Mounts) == 0 {
		return e
	}
	real, isolation := *e, *e.Isolation
	isolation.Mounts = slices.Clone(isolation.Mounts)
	for i := range isolation.Mounts {
		m := &isolation.Mounts[i]
		path, err := filepath.EvalSymlinks(m.Path)
		if err != nil || path == m.Path {
			continue
		}
		if m.Target == "" && isolation.Kind == config.IsolationDocker {
			m.Target = filepath.ToSlash(m.Path) // in the container it stays where it was
		}
		m.Path = path
	}
	real.Isolation = &isolation
	return &real
}

// launchIsolation says all that an entry says of the confinement, so that none of it
// can change unseen.
func launchIsolation(i *config.Isolation) string {
	if i == nil || i.Kind == "" || i.Kind == config.IsolationNone {
		return ""
	}
	var b strings.Builder
	b.WriteString(i.Kind)
	if i.Image != "" {
		fmt.Fprintf(&b, ", image %q", i.Image)
	}
	for _, m := range i.Mounts {
		fmt.Fprintf(&b, ", folder %q", m.Path)
		if m.Target != "" {
			fmt.Fprintf(&b, " as %q", m.Target)
		}
		if m.Write {
			b.WriteString(" to write")
		}
	}
	if i.Network {
		b.WriteString(", with network")
	}
	if len(i.Args) > 0 {
		fmt.Fprintf(&b, ", arguments %q", i.Args)
	}
	return b.String()
}
