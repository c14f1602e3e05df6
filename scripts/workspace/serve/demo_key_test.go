package serve

import (
	"net"
	"testing"

	"growthworkspace/scripts/workspace/session"
)

// Ensure the page shows the demo key only when the server listens on a loopback address.
func TestPageGreetsThisMachineOnly(t *testing.T) {
	t.Parallel()
	d := demoCompany{DemoKey: session.DemoKey{CompanyID: "co_1", Key: "made up"}}
	for address, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": false, "::": false, "192.168.1.7": false} {
		if got := d.greeting(&net.TCPAddr{IP: net.ParseIP(address), Port: 8080}).Key == d.Key; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if d.greeting(&net.UnixAddr{Name: "socket"}).Key != "" {
		t.Error("the page of a Unix socket shows the key")
	}
}
