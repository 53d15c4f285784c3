// Package dialect says how each kind of config file lists its servers: the common
// tree that every file becomes, and the table that a kind of file brings to it.
//
// A file is parsed into a [jsonc.Document], whatever its syntax, so that there is
// one reader of entries and one way to say where something stands. A [Dialect]
// then names the sections of that tree that hold servers, and translates the keys
// of an entry into those of package config. Offsets stay those of the source and
// paths stay as written there: an error in a TOML file speaks of the TOML file.
package dialect
