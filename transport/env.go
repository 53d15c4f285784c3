package transport

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// baseEnvNames returns the names of the variables that [BaseEnv] passes on to every program.
func baseEnvNames() []string {
	return slices.Concat(systemEnvNames(), proxyNames(), []string{
		"TMPDIR",
		"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "TZ",
		"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
	})
}

// proxyNames returns the names of proxies. Most programs obey both spellings, and the
// small one first.
func proxyNames() []string {
	names := []string{"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
	if runtime.GOOS != "windows" { // there these are the same
		for _, name := range names {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// BaseEnv returns the part of this process's environment that a [Command] with this Path passes
// on, as "KEY=value", as far as these variables are set:
//
//   - where programs and the user's files are: HOME, LOGNAME, PATH, SHELL, TERM, TMPDIR
//     and USER; on Windows APPDATA, HOMEDRIVE, HOMEPATH, LOCALAPPDATA, PATH, PATHEXT,
//     PROCESSOR_ARCHITECTURE, PROGRAMFILES, SYSTEMDRIVE, SYSTEMROOT, TEMP, TMPDIR,
//     USERNAME and USERPROFILE;
//   - language and time: LANG, LANGUAGE, LC_ALL and the other LC_ variables of POSIX, TZ;
//   - certificates: CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE,
//     SSL_CERT_DIR and SSL_CERT_FILE;
//   - proxies: ALL_PROXY, HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in large and small
//     letters;
//   - to docker and podman, where their daemon is: CONTAINER_CONNECTION, CONTAINER_HOST,
//     DOCKER_API_VERSION, DOCKER_CERT_PATH, DOCKER_CONFIG, DOCKER_CONTEXT, DOCKER_HOST,
//     DOCKER_TLS_VERIFY and XDG_RUNTIME_DIR.
//
// Values that are shell functions are left out, and proxies whose value has a user or a
// password in it: a server that is to know these gets them by [Command].Env.
func BaseEnv(path string) []string {
	names := baseEnvNames()
	program := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	if program = strings.TrimSuffix(program, ".exe"); program == "docker" || program == "podman" {
		names = append(names, "CONTAINER_CONNECTION", "CONTAINER_HOST", "DOCKER_API_VERSION", "DOCKER_CERT_PATH", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR")
	}
	var env []string
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if ok && !strings.HasPrefix(value, "()") && !(isProxy(name) && strings.Contains(value, "@")) {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func isProxy(name string) bool { return strings.HasSuffix(strings.ToUpper(name), "_PROXY") }

// withBaseEnv returns the environment of a process that is given some variables: these
// behind [BaseEnv], without the proxies there that they name in other letters.
func withBaseEnv(path string, given []string) []string {
	base := slices.DeleteFunc(BaseEnv(path), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return isProxy(name) && slices.ContainsFunc(given, func(other string) bool {
			other, _, _ = strings.Cut(other, "=")
			return strings.EqualFold(name, other)
		})
	})
	return append(base, given...)
}
