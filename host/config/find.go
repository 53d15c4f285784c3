package config

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// rcFile is the file of [ScopeRC].
const rcFile = ".mcprc"

// A Location is a place where a program keeps a file that lists servers.
type Location struct {
	Client  string // the program, such as "Claude Desktop"
	Format  string // the name of the file's [Format]; codex, goose and continue need their packages
	Scope   Scope  // whose file it is
	Path    string // absolute
	Project string // the folder of the project, "" if none was given
	Exists  bool   // there is a file; whether it can be read, and lists servers, is open
}

// FindOptions are settings of [Find].
type FindOptions struct {
	// GOOS is the operating system whose places are wanted: linux, darwin or
	// windows; all others are like linux. Paths are written as on this one.
	// Default: that of this program.
	GOOS string

	// Home is the user's folder. Default: as the environment says, if that is absolute.
	Home string

	// Lookup returns the value of an environment variable and whether it is set:
	// XDG_CONFIG_HOME, APPDATA, CODEX_HOME and the like. A value that is not absolute
	// is ignored: it would make a file of whatever folder the program runs in the
	// user's. Default: [os.LookupEnv].
	Lookup func(name string) (value string, ok bool)

	// Project is the folder of a project, of any kind. Files of projects are looked
	// for in it and in those above it, up to the root of the repository, which is the
	// first that has a .git; without one, in it alone. Default: no project.
	Project string
}

// Find returns the usual places of the files of all programs that this package knows,
// existing or not: first those of the project, the nearest folder first, then those of
// the user. Of files in one folder the order is that in which [Merge] should have them.
// It opens no file. A nil opts means the defaults.
func Find(opts *FindOptions) []Location { return newFinder(opts).find() }

func (f *finder) find() []Location {
	var list, user []Location
	own := make(map[string]bool)
	for _, c := range clients() {
		if c.user == nil {
			continue
		}
		if path := c.user(f); path != "" {
			own[path] = true
			user = append(user, Location{Client: c.name, Format: c.format, Scope: ScopeUser, Path: path, Project: f.Project, Exists: f.exists(path)})
		}
	}
	for _, folder := range f.folders() {
		for _, c := range clients() {
			for _, name := range c.project {
				path := join(folder, name)
				if own[path] { // the user's folder may be a project
					continue
				}
				list = append(list, Location{Client: c.name, Format: c.format, Scope: projectScope(name), Path: path, Project: f.Project, Exists: f.exists(path)})
			}
		}
	}
	return append(list, user...)
}

// projectScope returns the scope of a file in a project's folder.
func projectScope(name string) Scope {
	if name == rcFile {
		return ScopeRC
	}
	return ScopeProject
}

// endsWith reports whether a path is that of a place, which is written with /, in any
// folder and in any case of letters.
func endsWith(file, place string) bool {
	file = strings.ToLower("/" + strings.TrimPrefix(strings.ReplaceAll(filepath.ToSlash(file), `\`, "/"), "/"))
	return strings.HasSuffix(file, strings.ToLower("/"+strings.TrimPrefix(strings.TrimPrefix(place, "/"), ".config/")))
}

// A finder knows where the folders of one user on one operating system are.
type finder struct {
	FindOptions
	exists func(path string) bool   // whether there is a file
	isRoot func(folder string) bool // whether a folder is that of a repository
}

func newFinder(opts *FindOptions) *finder {
	f := &finder{FindOptions: *cmp.Or(opts, new(FindOptions))}
	f.GOOS = cmp.Or(f.GOOS, runtime.GOOS)
	if f.Project != "" && f.GOOS == runtime.GOOS {
		if folder, err := filepath.Abs(f.Project); err == nil {
			f.Project = folder
		}
	}
	if f.Lookup == nil {
		f.Lookup = os.LookupEnv
	}
	f.Home = cmp.Or(f.Home, f.variable(homeVariable(f.GOOS), ""))
	f.exists = func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	f.isRoot = func(folder string) bool {
		_, err := os.Lstat(join(folder, ".git"))
		return err == nil
	}
	return f
}

// join puts a path with / behind a folder.
func join(folder, rest string) string { return filepath.Join(folder, filepath.FromSlash(rest)) }

// folders returns the project's folder and those above it up to the repository's root.
func (f *finder) folders() []string {
	if f.Project == "" {
		return nil
	}
	const deepest = 64
	var list []string
	for folder := f.Project; len(list) < deepest && (len(list) == 0 || folder != list[len(list)-1]); folder = filepath.Dir(folder) {
		list = append(list, folder)
		if f.isRoot(folder) {
			return list
		}
	}
	return list[:1] // no repository: what lies above belongs to others
}

// under is a path below a folder that may not be known.
func under(folder, rest string) string {
	if folder == "" {
		return ""
	}
	return join(folder, rest)
}

func (f *finder) home(rest string) string { return under(f.Home, rest) }

// variable is the folder that an environment variable names, or another one if that is
// no absolute path.
func (f *finder) variable(name, other string) string {
	if value, ok := f.Lookup(name); ok && filepath.IsAbs(value) {
		return value
	}
	return other
}

// support is the folder below which programs keep what belongs to the user.
func (f *finder) support(rest string) string {
	switch f.GOOS {
	case "windows":
		return under(f.variable("APPDATA", f.home("AppData/Roaming")), rest)
	case "darwin":
		return f.home("Library/Application Support/" + rest)
	default:
		return f.config(rest)
	}
}

// config is the folder of the XDG base directory specification.
func (f *finder) config(rest string) string {
	return under(f.variable("XDG_CONFIG_HOME", f.home(".config")), rest)
}

func (f *finder) zed() string {
	switch f.GOOS {
	case "linux":
		return f.config("zed/settings.json")
	case "windows":
		return f.support("Zed/settings.json")
	}
	return f.home(".config/zed/settings.json")
}

func (f *finder) crush() string {
	if folder := f.variable("LOCALAPPDATA", ""); folder != "" && f.GOOS == "windows" && f.variable("XDG_CONFIG_HOME", "") == "" {
		return under(folder, "crush/crush.json")
	}
	return f.config("crush/crush.json")
}

func (f *finder) goose() string {
	if f.GOOS == "windows" {
		return f.support("Block/goose/config/config.yaml")
	}
	return f.config("goose/config.yaml")
}
