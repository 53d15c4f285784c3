package profile

// A Loss is something that a tool's own schema or name says and the provider does
// not get, or gets in another form.
type Loss struct {
	// Kind says what became of it.
	Kind Kind
	// Effect says what that means for the calls of the model.
	Effect Effect
	// Path is where: a JSON pointer into the tool's input schema, such as
	// "/properties/when/format"; empty if it is about name or description.
	Path string
	// Detail says in plain words what was there, and what is there now.
	Detail string
}

// A Kind says what became of a part of a definition. Kinds are stable: they may be
// stored and compared.
type Kind string

// An Effect says what a loss means for calls.
type Effect string

// The effects.
const (
	// Looser: the model may write arguments that the tool does not take. The
	// registry refuses them, and tells the model what is wrong.
	Looser Effect = "looser"
	// Narrower: there are arguments that the tool takes and the model cannot write.
	Narrower Effect = "narrower"
	// Recoded: the model writes it in another form, and [Tool.Unmap] turns it back.
	Recoded Effect = "recoded"
	// Unsaid: the model is told less, and may write the same.
	Unsaid Effect = "unsaid"
)
