package profile

// A Loss is something that a tool's own schema or name says and the provider does
// not get, or gets in another form, and that changes which calls a model can write. What a model
// is only told less of, such as a title, is none.
type Loss struct {
	// Effect says what that means for the calls of the model.
	Effect Effect
	// Path is where: a JSON pointer into the tool's input schema, such as
	// "/properties/when/format"; empty if it is about the name, the description or
	// the schema as a whole. One of more than 2 KiB is cut off and ends in "/…".
	Path string
	// Detail says in plain words what was there, and what is there now. It may quote
	// the schema, shortened and safe at a terminal.
	Detail string
}

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
)
