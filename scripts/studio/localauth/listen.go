package localauth

import (
	"context"
	"fmt"
	"net"
)

// Listen listens on a loopback address, such as 127.0.0.1:0. It also returns the host and port for
// the URL. It refuses any other address, because other machines could reach it and the page has no
// password.
func Listen(ctx context.Context, addr string) (l net.Listener, host string, err error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return nil, "", fmt.Errorf("the address must be host:port, such as 127.0.0.1:0, not %q", addr)
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, "", fmt.Errorf("%s is not an address of this machine alone: the studio listens on 127.0.0.1 only; "+
			"from another machine, use ssh -L 8090:127.0.0.1:8090 and --addr 127.0.0.1:8090", addr)
	}
	if l, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err != nil {
		return nil, "", fmt.Errorf("listen on %s: %w; port 0 picks a free one", addr, err)
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() { // a machine may resolve localhost to an address that is not a loopback address
		_ = l.Close()
		return nil, "", fmt.Errorf("%s is not a loopback address", l.Addr())
	}
	return l, net.JoinHostPort(name, fmt.Sprint(tcp.Port)), nil
}
