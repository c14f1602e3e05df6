package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespacesSupported reports whether this system supports network namespaces. Whether it permits
// them is known only after trying to use one.
const namespacesSupported = true

// proxyName is os.Args[0] of this program when it runs as a proxy.
const proxyName = "growthworkspace-engine-proxy"

// exitRefused is the exit code of a proxy if the system refused an operation before the engine was
// started.
const exitRefused = 126

// enginePort is the engine's port in its namespace, in which no other process uses ports.
const enginePort = 8000

// runProxy runs the proxy and then exits, if this process was started as a proxy.
func runProxy() {
	if len(os.Args) > 1 && os.Args[0] == proxyName {
		os.Exit(runProxyMain(os.Args[1:]))
	}
}

// runInNetns changes cmd to run its program behind a proxy: cmd then starts this program as the
// proxy, in a new network namespace. If the user is not root, that requires a user namespace.
func runInNetns(cmd *exec.Cmd) {
	cmd.Path, cmd.Args = "/proc/self/exe", append([]string{proxyName}, cmd.Args...)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// runProxyMain runs the engine whose command line is argv, passes connections to it until it exits,
// and returns its exit code. The working directory is the data folder. File descriptor 3 is the
// folder's lock, which the engine inherits.
func runProxyMain(argv []string) int {
	listener, err := listenSocket()
	if err != nil {
		fmt.Fprintln(os.Stderr, "no socket:", err)
		return exitRefused
	}
	defer listener.Close() // also removes the socket file
	// If this process is killed, the kernel kills the engine. It does so when the thread that
	// started the engine ends, so this goroutine stays locked to that thread until the function
	// returns.
	runtime.LockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "lock")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // an error means that the engine has exited
		}
	}()
	go acceptLoop(listener)
	_ = cmd.Wait() // the exit code is read below
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// listenSocket brings up the namespace's loopback device and listens on the socket file.
func listenSocket() (*net.UnixListener, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, fmt.Errorf("name the loopback device: %w", err)
	}
	ifreq.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq); err != nil {
		return nil, fmt.Errorf("bring up the loopback device: %w", err)
	}
	// This process has the lock, so no process is listening on an existing socket file.
	if err := os.Remove(socketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket file: %w", err)
	}
	oldMask := syscall.Umask(0o177) // so that the file is created with the mode 0600
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketFile, Net: "unix"})
	syscall.Umask(oldMask)
	if err != nil {
		return nil, fmt.Errorf("listen at the socket file: %w", err)
	}
	return l, nil
}

// acceptLoop passes each caller a connection to the engine, or closes the caller's connection if
// the engine does not accept one.
func acceptLoop(listener *net.UnixListener) {
	for {
		caller, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(pollInterval) // temporarily out of file descriptors
			continue
		}
		go func() {
			defer caller.Close()
			conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(enginePort)), time.Second)
			if err != nil {
				return
			}
			defer conn.Close()
			raw, err := conn.(*net.TCPConn).SyscallConn()
			if err != nil {
				return
			}
			_ = raw.Control(func(fd uintptr) {
				_, _, _ = caller.WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil) // an error means that the caller disconnected
			})
		}()
	}
}

// dialSocket returns a connection to the engine behind a socket file. If no engine is running, the
// error is ECONNREFUSED, as for a TCP port.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	refusedErr := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: path, Net: "unix"}, Err: syscall.ECONNREFUSED}
	// The kernel limits the path of a socket to 107 bytes, but folders may have longer paths.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	shortPath := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", shortPath)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, refusedErr
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	text, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(text, oob)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", path, ctx.Err())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || err == nil && n == 0 {
		return nil, refusedErr
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return receivedConn(oob[:n])
}

// receivedConn returns the connection in a control message.
func receivedConn(oob []byte) (net.Conn, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("the proxy sent no connection"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("the proxy sent no connection"), err)
	}
	f := os.NewFile(uintptr(fds[0]), "engine")
	defer f.Close()
	return net.FileConn(f)
}
