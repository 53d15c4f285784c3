package codemode

// NewProcessEngine returns the engine that a Runner has by default.
func NewProcessEngine() (Engine, error) { return newProcessEngine("") }
