package host

// A Stage is how far a server is from being of use.
type Stage string

// The stages.
const (
	StageDisabled    Stage = "disabled"    // switched off
	StageInvalid     Stage = "invalid"     // its entry cannot be used
	StageNotAllowed  Stage = "not_allowed" // nobody has allowed its launch, or somebody has denied it
	StageQuarantined Stage = "quarantined" // its tools are known, or would be, and none is called before somebody accepts them
	StageConfigured  Stage = "configured"  // not started, and its tools are not known: perhaps nobody has logged in yet
	StageCached      Stage = "cached"      // not started; its tools are known from an earlier time, and a call starts it
	StageStarting    Stage = "starting"    // being started or connected
	StageReady       Stage = "ready"       // connected, and its tools are listed
	StageWaiting     Stage = "waiting"     // lost or failed; it is tried again at State.RetryAt, or soon if only its tools could not be listed
	StageLogin       Stage = "login"       // it wants the user to log in
)
