package schemagate

// Limits on a schema.
const (
	// MaxBytes is the length of a schema.
	MaxBytes = 256 << 10
	// MaxDepth is the nesting of its objects and arrays.
	MaxDepth = 64
	// MaxNodes is the number of JSON values in it.
	MaxNodes = 8_192
	// MaxExpansion is how many schemas one value can be held against when all
	// references are written out.
	MaxExpansion = 100_000
	// MaxChain is how many schemas refer to each other in a row for one value.
	MaxChain = 512
	// MaxPattern is the length of a regular expression in bytes.
	MaxPattern = 1 << 10
)

// Limits on a value. One of more than [MaxDigits], [MaxValues] or [MaxSteps] is
// refused, however well it may fit.
const (
	// MaxDigits is the number of digits of a number, when it is written without
	// an exponent. It holds for the numbers of a schema, too.
	MaxDigits = 4_096
	// MaxValues is the number of JSON values in a value.
	MaxValues = 1 << 20
	// MaxSteps is what checking a value may cost. Holding one value against
	// one schema costs four steps or more.
	MaxSteps = 8 << 20
)

const (
	// maxPrograms is the size of all regular expressions of a schema together,
	// in instructions.
	maxPrograms = 100_000
	// maxPaths is the length of the paths of all schemas within one together.
	maxPaths = 4 << 20
	// maxFrames is how many checks can be within each other.
	maxFrames = 4_096
	// maxText is the length of a part of an error that the server wrote.
	maxText = 200
)
