package bedrock

import (
	"bytes"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	smithyjson "github.com/aws/smithy-go/document/json"
)

// A raw is a document of the SDK that is sent byte by byte. The SDK would send bytes as
// a list of numbers, a json.Number as a string, and members in another order.
type raw struct {
	document.Interface // only types of the SDK implement it
	sent               json.RawMessage
	written            json.RawMessage // by the model, if that cannot be sent; else nil
}

// newRaw returns a document that is sent as it is.
func newRaw(sent json.RawMessage) *raw {
	return &raw{Interface: document.NewLazyDocument(nil), sent: sent}
}

// newInput returns the arguments that a model wrote. Bedrock refuses to be told of any
// but JSON objects.
func newInput(written []byte) *raw {
	switch {
	case len(bytes.TrimSpace(written)) == 0:
		return newRaw(json.RawMessage("{}"))
	case isObject(written):
		return newRaw(written)
	}
	r := newRaw(json.RawMessage("{}"))
	r.written = written
	return r
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// MarshalSmithyDocument returns the bytes.
func (r *raw) MarshalSmithyDocument() ([]byte, error) { return r.sent, nil }

// UnmarshalSmithyDocument reads the bytes as a document that has come over the wire.
func (r *raw) UnmarshalSmithyDocument(v any) error {
	var value any
	dec := json.NewDecoder(bytes.NewReader(r.sent))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return err
	}
	return smithyjson.NewDecoder().DecodeJSONInterface(value, v)
}

// argumentsOf returns the arguments of a call as they were written, as far as the SDK
// has kept that. Arguments that are no JSON stay so, for the registry to say what is wrong.
func argumentsOf(d document.Interface) json.RawMessage {
	if d == nil {
		return nil
	}
	if r, ok := d.(*raw); ok && r.written != nil {
		return r.written
	}
	data, err := d.MarshalSmithyDocument()
	if err != nil {
		return json.RawMessage("arguments that have no JSON: " + err.Error())
	}
	return data
}
