package schemagate

import "encoding/json"

// Check refuses what [Compile] would refuse, with the same tokens, at a small part
// of its price: nothing is rewritten and no validator is built. The error is a
// [*SchemaError].
//
// Nothing passes Compile that Check refuses. The reverse is not quite true: of
// draft-07 and draft-06, Check overlooks equal objects, arrays and numbers written
// differently in an enum, and what stands beside a $ref.
func Check(raw json.RawMessage) error {
	g, err := survey(raw)
	if err != nil {
		return err
	}
	return g.foreign()
}
