package user

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
	"growthworkspace/shared/timestamp"
)

// networkProblem says why a request got no response, and what to do about it.
type networkProblem struct {
	text   string // the words after the base URL, such as "does not respond: …"
	advice string
}

// maybeChangedAdvice is the advice for a request that the service may have executed even though the
// response was lost. Repeating the command would send a different Idempotency-Key.
const maybeChangedAdvice = "if it was a change, it may have been made"

// explainNetworkError adds advice to the error of a request that got no response, or a response
// that does not come from the service. It returns any other error unchanged.
func (u *userCommands) explainNetworkError(err error, base string) error {
	p, ok := u.networkProblemOf(err, base)
	if !ok {
		return err
	}
	// Escape control characters, because an untrusted server chooses the names in its certificate.
	return errors.New(terminal.EscapeControls(fmt.Sprintf("%s %s; %s", base, p.text, p.advice)))
}

// networkProblemOf returns the problem that err describes. ok is false if the error is not about
// the network.
func (u *userCommands) networkProblemOf(err error, base string) (p networkProblem, ok bool) {
	at, parseErr := url.Parse(base)
	if parseErr != nil {
		return p, false
	}
	host := at.Hostname()
	var network interface{ Timeout() bool }
	var lookup *net.DNSError
	var certErr *tls.CertificateVerificationError
	var operation *net.OpError
	var syntax *json.SyntaxError
	var file *fs.PathError // an error of a file may look like one of the network, because it has the method Timeout
	switch {
	case errors.As(err, &file):
		return p, false
	case errors.Is(err, context.Canceled):
		return networkProblem{"had not responded when the command was interrupted", maybeChangedAdvice}, true
	case isNotServing(err, base):
		return networkProblem{"does not respond: connection refused", u.serveAdvice(base)}, true
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		return networkProblem{fmt.Sprintf("cannot be reached: the proxy does not work (%s)", reasonOf(operation.Err)), proxyAdvice(base)}, true
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return networkProblem{fmt.Sprintf("does not respond: there is no host %s", host), "check the spelling of the address; an internal name needs its network or VPN"}, true
	case errors.As(err, &lookup):
		return networkProblem{fmt.Sprintf("does not respond: the name server does not resolve %s", host), "check the network of this machine"}, true
	case errors.As(err, &certErr):
		return certificateProblem(certErr, host), true
	case errors.Is(err, http.ErrSchemeMismatch):
		return networkProblem{"does not use TLS", fmt.Sprintf("use http:%s if the service is on this machine; otherwise check the address and the port", strings.TrimPrefix(base, "https:"))}, true
	case isTLSAlert(err):
		return networkProblem{fmt.Sprintf("refuses the encrypted connection (%s)", reasonOf(err)), "check the address; a proxy between this machine and the service may interfere"}, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return networkProblem{"does not respond: connection refused", "no program listens there: check the address and the port, or ask the service's operator"}, true
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return networkProblem{"cannot be reached from this machine", "check the network, and the VPN if the service needs one"}, true
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return networkProblem{"does not respond in time", maybeChangedAdvice + ", so look before you try again; if it stays so, check the network and any firewall between"}, true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return networkProblem{"closed the connection without a response", maybeChangedAdvice + ", so look before you try again; if it stays so, check the address and the port"}, true
	case errors.As(err, &syntax):
		return networkProblem{"responds with something that is not JSON, so it is not this service", u.addressAdvice(base)}, true
	case errors.As(err, &network):
		return networkProblem{fmt.Sprintf("does not respond (%s)", reasonOf(err)), proxyAdvice(base)}, true
	}
	return p, false
}

// addressAdvice says how to find a wrong address.
func (u *userCommands) addressAdvice(base string) string {
	return fmt.Sprintf("check the address: that of a deployed stack ends with its stage, such as /prod; `%s` explains more",
		u.Command("doctor --base-url %s", terminal.QuoteArgument(base)))
}

// isTLSAlert reports whether the server or this machine ended the TLS handshake.
func isTLSAlert(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var operation *net.OpError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &operation) && (operation.Op == "remote error" || operation.Op == "local error")
}

// certificateProblem returns the problem with a certificate. In practice, there are three kinds.
func certificateProblem(err *tls.CertificateVerificationError, host string) networkProblem {
	var wrongHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &wrongHost):
		names := strings.Join(wrongHost.Certificate.DNSNames, ", ")
		return networkProblem{fmt.Sprintf("cannot be trusted: its certificate is for %s and not for %s", cmp.Or(names, "another name"), host), "check the address; nothing was sent"}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		from, until := timestamp.Format(invalid.Cert.NotBefore), timestamp.Format(invalid.Cert.NotAfter)
		return networkProblem{fmt.Sprintf("cannot be trusted: its certificate is valid from %s until %s", from, until), "check the clock of this machine, or ask the service's operator to renew it; nothing was sent"}
	}
	return networkProblem{"cannot be trusted: no authority that this machine knows has signed its certificate",
		"if a private authority or a company proxy did, add its root certificate to those of the system (on Linux, SSL_CERT_FILE names a file with it); nothing was sent"}
}

// proxyVariables are the environment variables from which Go reads the proxy, by the URL's scheme.
var proxyVariables = map[string]string{"http": "HTTP_PROXY", "https": "HTTPS_PROXY"}

// proxyAdvice says what to check if a request may have gone through a proxy. Requests to a service
// on this machine use no proxy.
func proxyAdvice(base string) string {
	scheme, _, _ := strings.Cut(base, ":")
	if client.Loopback(base) {
		return "check the address and the port"
	}
	return fmt.Sprintf("check the address and the network, and %s if it is set; NO_PROXY names the hosts that need no proxy", proxyVariables[scheme])
}

// checkIsJSON returns an error if a body is not JSON. Such a body comes from some other server.
func checkIsJSON(body []byte) error {
	var text json.RawMessage
	return json.Unmarshal(body, &text)
}

// reasonOf returns the text of an error without the parts in which the client, the HTTP library and
// the socket repeat the address.
func reasonOf(err error) string {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		err = operation.Err
	}
	return err.Error()
}
