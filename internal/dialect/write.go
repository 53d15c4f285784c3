package dialect

import "strings"

// An Edit changes a text of one syntax in place. A path is a list of keys of objects
// and decimal indexes of arrays, "-" being a new element, as for jsonedit.Set, whose
// promises the functions keep: they leave alone all that they are not asked to change.
type Edit struct {
	// Set puts value, which is JSON, at path.
	Set func(data, value []byte, path ...string) ([]byte, error)
	// Remove takes away what is at path.
	Remove func(data []byte, path ...string) ([]byte, error)
	// Rename gives the member at path another key.
	Rename func(data []byte, key string, path ...string) ([]byte, error)
}

// A Writing says how entries are written in the files of a program.
type Writing struct {
	// Empty is the text of a new file, if that is not an empty object of JSON.
	Empty string

	// Container is where the servers of a new file stand.
	Container []string

	// Keys are those of package config with the words of the program, see [Dialect].Words.
	Keys map[string]string

	// Strict says that the program refuses a file with keys or transports that it does not
	// know, so that none is written.
	Strict bool

	// CommandLine says that the command and its arguments are one list.
	CommandLine bool

	// Milliseconds says that timeouts are written in milliseconds.
	Milliseconds bool

	// Transports are the values of the key for the transport, if the program has one;
	// one that is "" says nothing. One that is not there is not known.
	Transports map[string]string

	// URL is the transport of an entry that has a URL and says nothing of it; "" is auto.
	URL string

	// Always says that the program needs the key for the transport in each entry.
	Always bool

	// Name is the key for the server's name that the program needs in each entry, though
	// it stands before it; "" is none.
	Name string

	// References says which references the program itself replaces.
	References References

	// Notes say of a key of package config what becomes of it in the program.
	Notes map[string]string
}

// References are the forms of references that a program replaces.
type References int

// The forms.
const (
	NoReferences References = iota // all text stays as it is
	BracedRefs                     // ${VAR} and ${VAR:-default}
	BareRefs                       // $VAR and ${VAR}
	EditorRefs                     // ${env:VAR} and ${input:id}
	AllOwnRefs                     // those of package config
	CurlyRefs                      // {env:VAR} and {file:path}, and no others
	SecretRefs                     // ${{ secrets.VAR }}
)

// Spelled returns keys of package config with the words that a program has for them, from
// words such as "args" and "env=envs".
func Spelled(words string) map[string]string {
	keys := make(map[string]string)
	for word := range strings.FieldsSeq(words) {
		key, theirs, differs := strings.Cut(word, "=")
		if keys[key] = key; differs {
			keys[key] = theirs
		}
	}
	return keys
}
