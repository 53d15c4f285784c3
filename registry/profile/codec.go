package profile

// A codec says how a value that the model writes is turned into one of the tool's
// own schema. Nil means that it is one. Codecs may refer to each other in circles,
// which always go deeper into the value.
type codec struct {
	fields map[string]field // of an object, by the name that the model writes
	items  *codec           // of a list: its elements
	def    *definition      // of a reference: that of its target

	// Of alternatives: of the only one for objects, and of the only one for lists.
	object, list *codec
}

// A field is a member of an object.
type field struct {
	name     string // what the tool calls it
	optional bool   // null means that it is missing
	codec    *codec
}

// of returns the codec for a value that begins with a character: neither of a reference nor of
// alternatives.
func (k *codec) of(first byte) *codec {
	for k != nil {
		switch {
		case k.def != nil:
			k = k.def.codec
		case first == '{' && k.object != nil:
			k = k.object
		case first == '[' && k.list != nil:
			k = k.list
		default:
			return k
		}
	}
	return nil
}
