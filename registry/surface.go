package registry

// A surface is everything that a server says of a tool, in canonical form.
type surface struct {
	hash string // "sha256:" and hexadecimal digits
}

// surfaceOf returns the surface of a server's tool.
func surfaceOf(def *Definition) *surface { return &surface{} }
