package registry

// SurfaceHash returns the SHA-256 of everything that a server says of the tool, as it
// is in [LedgerEntry].Hash: "sha256:" and hexadecimal digits. The names that the tool
// is called by here do not count.
func (d *Definition) SurfaceHash() string { return surfaceOf(d).hash }

// Compare returns how a server's tool differs from what it was, in anything that the
// server says of it; nil if in nothing. The names that it is called by here do not
// count. Neither may be nil.
func Compare(before, after *Definition) *Change {
	if before == nil || after == nil {
		panic("registry: Compare: a definition is nil")
	}
	was, is := surfaceOf(before), surfaceOf(after)
	if was.hash == is.hash {
		return nil
	}
	c := &Change{Server: after.Origin.Server, Tool: after.called(), Kind: ToolChanged, Hash: is.hash, Surface: is.canonical()}
	c.compare(was.canonical(), c.Surface)
	return c
}
