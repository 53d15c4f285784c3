package mask

import (
	"encoding/pem"
	"slices"
	"strings"
)

// Value returns how the value of a variable or header is shown if it is a secret.
// A value that a program may run, or that names a file with more, is shown as it is,
// whatever it is called: this is for the person who allows a launch, so of what [Named] masks by its
// form it shows words that could be the name of a program.
func Value(name, separator, value string) (string, bool) {
	if separator == "=" && showsCode(name, value) {
		return "", false
	}
	shown, ok := strings.CutPrefix(Args([]string{name + separator + value})[0], name+separator)
	if !ok {
		return Stars, true
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
	_, rest, scheme := strings.Cut(value, " ") // as in "Bearer token"
	if !scheme {
		rest = value
	}
	return !isPEM(value) && (LooksLikePath(value) || strings.HasPrefix(value, "-") || strings.ContainsAny(rest, " \t\n;|&<>()`"))
}

// LooksLikePath reports whether a program might take s for a file, a list of folders, or
// for what a file would hold.
func LooksLikePath(s string) bool {
	starts := func(with string) bool { return strings.HasPrefix(s, with) }
	return slices.ContainsFunc([]string{"/", ".", "~", "data:"}, starts) || strings.Contains(s, ":/") && !strings.Contains(s, "://")
}

// isPEM reports whether s is one block of PEM, such as a private key, and nothing else.
func isPEM(s string) bool {
	if !strings.HasPrefix(s, "-----BEGIN ") {
		return false
	}
	block, rest := pem.Decode([]byte(s))
	return block != nil && len(block.Headers) == 0 && strings.TrimSpace(string(rest)) == ""
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
