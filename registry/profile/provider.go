package profile

import (
	"errors"

	"github.com/mcpbelt/mcpbelt/registry"
)

// A Provider is a way to tell a model about tools.
type Provider string

// The providers.
const (
	// OpenAI is the API of OpenAI, and of those who copy it, without strict mode.
	OpenAI Provider = "openai"
	// OpenAIStrict is the same with strict mode: the model cannot write arguments
	// that do not fit the schema. A tool with a schema that strict mode cannot say is
	// sent as for OpenAI, with a loss that says why.
	OpenAIStrict Provider = "openai-strict"
	// Anthropic is the Messages API.
	Anthropic Provider = "anthropic"
	// Gemini is generateContent of the Gemini API and of Vertex AI.
	Gemini Provider = "gemini"
	// Bedrock is Converse of Amazon Bedrock, for all its models.
	Bedrock Provider = "bedrock"
	// Ollama is the chat API of Ollama.
	Ollama Provider = "ollama"
)

// A family is how a provider reads a schema.
type family int

const (
	// whole: it knows JSON Schema, but for the root.
	whole family = iota
	// documented: it knows some keywords.
	documented
	// structured: it decodes the schema into structures, and the rest vanishes.
	structured
)

// A ruleset is what a provider takes, by the rules of November 2026: documents,
// types of the providers' SDKs, and the errors that people met.
type ruleset struct {
	provider Provider
	family   family

	name            nameRule
	deferredName    int      // bytes of the name of a deferred tool; 0: as others
	property        nameRule // of the arguments; zero: any
	chatDescription int      // characters in the older of two APIs; 0: no limit
	deferral        bool     // knows deferred tools
	callers         bool     // has programs that call tools
	output          bool     // is told what programs get of tools

	strict     bool // holds the model to the schema, where it can be written so
	refs       bool // takes references to $defs
	bareRoot   bool // the root has no keywords but type, properties and required
	rootNot    bool // takes not at the root
	emptyMaps  bool // wants properties at the root, and items, even if empty
	lookaround bool // takes it in regular expressions

	depth     int // schemas within each other; 0: no limit
	toolsMost int // of one request, without deferred ones; 0: no limit is known

	idMost  int  // bytes of the id of a call
	idPlain bool // of letters, digits, underscores and dashes
	idless  bool // calls need none

	media     []string // types of data in results
	mediaMost int      // bytes of one image or file
	sideMost  int      // pixels of one side of an image
	textMost  int      // characters of the text of a result; 0: no limit
	failure   bool     // has a place of its own for whether a tool failed
}

// rulesOf returns what a provider takes, and whether it is known.
func rulesOf(p Provider) (*ruleset, bool) {
	plain := nameRule{most: 64}
	argument := nameRule{most: 64, dot: true}
	images := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	d := &ruleset{provider: p, name: plain, media: append(images, "application/pdf"), mediaMost: 16 << 20, sideMost: 16_384, idMost: 64}
	switch p {
	case OpenAI, OpenAIStrict:
		d.family, d.refs, d.deferral, d.chatDescription, d.emptyMaps = whole, true, true, 1024, true
		d.callers, d.output, d.strict = true, true, p == OpenAIStrict
		d.toolsMost = 128    // "Invalid 'tools': array too long. Expected an array with maximum length 128"
		d.textMost = 1 << 20 // of a message's content, as Azure says; OpenAI itself takes ten times as many (string_above_max_length)
	case Anthropic:
		d.family, d.refs, d.deferral, d.callers, d.property = whole, true, true, true, argument
		d.name.most, d.deferredName = 128, 64
		d.idPlain = true
		d.rootNot, d.lookaround = true, true
		d.mediaMost, d.sideMost, d.failure = 3750<<10, 8000, true
	case Gemini:
		d.family, d.depth, d.failure = documented, 10, true
		d.idless = true
		d.toolsMost = 512 // "At most 512 function declarations can be specified"
		d.media = []string{"image/png", "image/jpeg", "image/webp", "application/pdf"}
		d.name = nameRule{most: 64, dot: true, letterFirst: true}
	case Bedrock:
		d.family, d.property, d.bareRoot, d.depth = whole, argument, true, 24
		d.idPlain = true
		d.mediaMost, d.sideMost, d.failure = 3750<<10, 8000, true
	case Ollama:
		d.family, d.depth, d.bareRoot = structured, 24, true
		d.idless = true
		d.media = []string{"image/png", "image/jpeg", "image/webp"}
	default:
		return nil, false
	}
	return d, true
}

// nameOf returns the rule for the name of a tool.
func (d *ruleset) nameOf(deferred bool) nameRule {
	rule := d.name
	if deferred && d.deferredName > 0 {
		rule.most = d.deferredName
	}
	return rule
}

// unknownProvider reports a [Provider] that is none of the constants.
func unknownProvider(p Provider) error {
	return errors.New("profile: unknown provider " + quoted(string(p)) + "; use one of openai, openai-strict, anthropic, gemini, bedrock, ollama")
}

// A Rejection is a tool that cannot be told to the provider at all.
type Rejection struct {
	// Definition is that of the tool; nil if the tool is nil or has none.
	Definition *registry.Definition
	// Err says why, and names the tool. It is a [*registry.DefinitionError] or a
	// [*registry.DuplicateError].
	Err error
}
