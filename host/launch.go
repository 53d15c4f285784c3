package host

import (
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

		References: e.References(),
	}
	if e.Transport != config.TransportStdio {
		l.URL, l.Headers, l.Login = e.URL, launchHeaders(e), launchLogin(e.Auth)
		return l, nil
	}
	l.Args, l.Env = slices.Clone(e.Args), launchEnv(e.Env)
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

// launchEnv returns the names of variables, and the values of those that decide what
// code is run.
func launchEnv(env map[string]config.Secret) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if leadsToCode(name) {
			name += "=" + env[name].Reveal()
		}
		list = append(list, name)
	}
	return list
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

func launchHeaders(e *config.Server) []string {
	names := make([]string, 0, len(e.Headers)+1)
	for name := range e.Headers {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	if e.UserHeader != "" {
		names = append(names, http.CanonicalHeaderKey(e.UserHeader))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func launchLogin(a *config.Auth) string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("issuer %q, client %q, scopes %q, redirect %q", a.Issuer, a.ClientID, a.Scopes, a.RedirectURL)
	if a.ClientSecret.Reveal() != "" {
		text += ", client secret"
	}
	return text
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
