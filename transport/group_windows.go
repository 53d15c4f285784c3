package transport

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is the job object that holds a child and all its descendants. The
// job dies with its last handle, so that nothing outlives this process.
type group struct {
	process *os.Process
	mu      sync.Mutex
	job     windows.Handle
}

// startGroup starts a child that runs only when it is in its job, so that
// nothing it starts can be outside.
func startGroup(cmd *exec.Cmd, watchdog *watchdog, start func(*exec.Cmd) error) (*group, error) {
	cmd.Env = append(cmd.Env, watchdog.enroll())
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return nil, os.NewSyscallError("SetInformationJobObject", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED, HideWindow: true}
	if err := start(cmd); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	err = assign(job, cmd.Process)
	if err == nil {
		err = resume(uint32(cmd.Process.Pid))
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, err
	}
	return &group{process: cmd.Process, job: job}, nil
}

func assign(job windows.Handle, p *os.Process) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	handle, err := windows.OpenProcess(access, false, uint32(p.Pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(job, handle))
}

// resume lets a process run that was created suspended, and has one thread.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	err = windows.Thread32First(snapshot, &entry)
	for err == nil && entry.OwnerProcessID != pid {
		err = windows.Thread32Next(snapshot, &entry)
	}
	if err != nil {
		return os.NewSyscallError("Thread32Next", err)
	}
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
	if err != nil {
		return os.NewSyscallError("OpenThread", err)
	}
	defer func() { _ = windows.CloseHandle(thread) }()
	_, err = windows.ResumeThread(thread)
	return os.NewSyscallError("ResumeThread", err)
}

// terminate ends the job: Windows has no signal that asks a process to stop.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// awaitEmpty does nothing: terminating a job ends its processes at once.
func (g *group) awaitEmpty(time.Duration) {}

func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// await returns when the child has ended and its descendants are killed.
func (g *group) await(cmd *exec.Cmd) error {
	err := cmd.Wait()
	g.kill()
	return err
}

func signalName(*os.ProcessState) string { return "" }

func systemEnvNames() []string {
	return []string{
		"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
	}
}
