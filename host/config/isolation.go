package config

// Values of [Isolation.Kind].
const (
	IsolationNone     = "none"     // the server runs as this program does
	IsolationDocker   = "docker"   // in a container
	IsolationLandlock = "landlock" // confined by the kernel of Linux
)

// An Isolation says how a local server is kept from the rest of the machine, the key
// "isolation". The nil Isolation is that of [IsolationNone].
type Isolation struct {
	Kind  string // one of the Isolation constants
	Image string // of docker: the image, such as "node:22-slim"
	// Mounts are the folders and files that the server may see, all others being
	// hidden (docker) or read-only (landlock).
	Mounts []Mount
	// Network says whether the server may use the network.
	Network bool
	// Args are further arguments of docker run, in front of the image.
	Args []string
}

// A Mount is a folder or file that an isolated server may see.
type Mount struct {
	Path   string // absolute, of this machine
	Target string // absolute, in the container; empty means Path
	Write  bool   // the server may change it
}
