package config

// NoAnswer is the error of an input without an answer.
var NoAnswer = errNoAnswer

// InputsOf returns what the user is asked for before a server starts.
func InputsOf(c *Config) []Input { return c.inputs }
