// Package landlock confines local servers by the kernel of Linux, without root,
// container or daemon:
//
//	h, err := host.Open(ctx, path, &host.Options{
//		Isolators: map[string]host.Isolator{config.IsolationLandlock: landlock.New(nil)},
//	})
//
// and in the config file
//
//	"isolation": {"kind": "landlock", "mounts": [{"path": "/home/ann/notes", "write": true}]}
//
// # What a server cannot do
//
// It cannot change, make or remove files except in the mounts that it may write to, and
// in a temporary folder of its own. TMPDIR names that folder, which is removed when the
// server ends (but stays if this process is killed). It reads all that its user may
// read, or less, see [Options]. Without "network" it makes no socket of any kind, so
// that neither TCP nor UDP nor the sockets of local daemons are in its reach. It has no
// capabilities, even if it runs as root, and gains no rights from setuid programs. It
// does not look into or signal other processes (signals: from Linux 6.12). It has no
// terminal, being in a session of its own, and cannot type into one. It does not reach
// keyrings, message queues, and the memory and semaphores of System V. Its own child
// processes are confined like itself, and it can undo nothing of that.
//
// # What it still can do
//
// It can change the mode, owner, times and extended attributes of files as far as its
// user may, since Landlock does not know of them. With "network" it can use all of
// the network, and connect to the sockets of local daemons, such as that of Docker,
// that its user may connect to: that is as good as no confinement where there is such
// a daemon, and nothing here tells such sockets apart; use docker.Isolator there. It can use up processor, memory, and the room of the folders it writes to.
//
// # Where it works
//
// On Linux 6.2 and later with Landlock (ABI 3) and seccomp switched on, on amd64, arm64,
// riscv64 or loong64. Elsewhere Isolate or the start fails, and the server does not
// run. Programs for another processor, such as those of 32 bits, are killed in it. The
// tests have run on amd64 and Linux 6.18 only; the statements about other kernels are from
// their documentation.
//
// # How it works
//
// The process is started from a thread that was confined for that and that ends then.
// All other threads of the program stay as they are. Landlock confines files and TCP;
// one filter of system calls refuses all else.
package landlock
