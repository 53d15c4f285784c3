package schemagate

import "encoding/json"

// Check refuses what [Compile] would refuse, with the same tokens, at a small part
// of its price: nothing is rewritten and no validator is built. The error is a
// [*SchemaError].
//
// Nothing passes Compile that Check refuses. The reverse is not quite true: of
// draft-07 and draft-06, Check overlooks equal objects, arrays and numbers written
// differently in an enum, and what people read in a schema beside a $ref.
func Check(raw json.RawMessage, limits Limits) error {
	_, err := eitherDialect(raw, func(unnamed string) (struct{}, error) {
		g, err := survey(raw, limits, unnamed)
		if err != nil {
			return struct{}{}, err
		}
		if err := g.foreign(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, g.shape()
	})
	return err
}
