package profile

// A Loss is something that a tool's own schema or name says and the provider does
// not get, or gets in another form.
type Loss struct {
	// Kind says what became of it.
	Kind Kind
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

// A Kind says what became of a part of a definition. Kinds are stable: they may be
// stored and compared.
type Kind string

// The kinds of losses.
const (
	// NameChanged: the provider does not take the tool's name; it got another one.
	NameChanged Kind = "name_changed"
	// PropertyRenamed: the provider does not take the name of a property of the
	// arguments; it got another one.
	PropertyRenamed Kind = "property_renamed"
	// DescriptionCut: the description of the tool is too long for the provider, and
	// was cut.
	DescriptionCut Kind = "description_cut"
	// OutputDropped: the schema of the results cannot be told to the provider.
	OutputDropped Kind = "output_dropped"
	// KeywordDropped: the provider does not take the keyword, or not this value.
	KeywordDropped Kind = "keyword_dropped"
	// KeywordChanged: another keyword stands for this one and says nearly the same.
	KeywordChanged Kind = "keyword_changed"
	// ValueDropped: the provider does not take one of the values of an enum.
	ValueDropped Kind = "value_dropped"
	// TypeGuessed: there was no type; it has the one that the other keywords are for.
	TypeGuessed Kind = "type_guessed"
	// AnyNarrowed: any value was allowed, and the provider wants to know its type.
	AnyNarrowed Kind = "any_narrowed"
	// UnionMerged: alternatives of the arguments as a whole became one object.
	UnionMerged Kind = "union_merged"
	// UnionLoosened: exactly one of several had to fit, now at least one.
	UnionLoosened Kind = "union_loosened"
	// UnionDropped: there were too many combinations of alternatives.
	UnionDropped Kind = "union_dropped"
	// ReferenceCut: what a reference stands for was not written out any more, for it
	// contains itself, or the schema became too large.
	ReferenceCut Kind = "reference_cut"
	// DepthCut: the schema was nested too deep for the provider.
	DepthCut Kind = "depth_cut"
	// AlternativeDropped: no value fits an alternative, so the model is not told of it.
	AlternativeDropped Kind = "alternative_dropped"
	// PropertyDropped: no value fits a property, so the model is not told of it.
	PropertyDropped Kind = "property_dropped"
	// PropertiesClosed: other properties than those listed were allowed, and cannot
	// be written.
	PropertiesClosed Kind = "properties_closed"
	// NullForMissing: the model has to write each property, and null for one that it
	// would leave out.
	NullForMissing Kind = "null_for_missing"
	// TupleLoosened: which element has which schema is not said any more.
	TupleLoosened Kind = "tuple_loosened"
	// NotStrict: strict mode cannot say what the tool takes at this place, so the tool is
	// sent without it.
	NotStrict Kind = "not_strict"
	// MoreLosses: there are more losses of this effect than are listed.
	MoreLosses Kind = "more_losses"
)

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
