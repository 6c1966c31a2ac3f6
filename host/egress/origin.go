package egress

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Origin is where requests go, in the one form that is compared: a scheme of http
// or https, a host in lower case and ASCII or an address, and a port.
type Origin struct {
	Scheme string
	Host   string // an IPv6 address is without brackets
	Port   uint16
}

// maxURL bounds a URL, in bytes.
const maxURL = 8 << 10

// ParseOrigin reads "https://host" or "https://host:port". Errors are of type
// *Error with KindPolicy.
func ParseOrigin(text string) (Origin, error) {
	target, err := ParseURL(text)
	if err != nil {
		return Origin{}, err
	}
	if _, authority, _ := strings.Cut(text, "://"); strings.ContainsAny(authority, "/?") {
		return Origin{}, policyError("the origin %q must have no path and no query, like %s", text, target.Origin)
	}
	return target.Origin, nil
}

// String answers the origin without the port that its scheme implies.
func (o Origin) String() string { return o.Scheme + "://" + o.authority() }

func (o Origin) authority() string {
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.Port == defaultPort(o.Scheme) {
		return host
	}
	return host + ":" + strconv.Itoa(int(o.Port))
}

// local reports whether the origin is this machine by its very name.
func (o Origin) local() bool {
	address, ok := o.literal()
	return o.Host == localhost || ok && address.IsLoopback()
}

// literal answers the address that the host is, if it is one.
func (o Origin) literal() (netip.Addr, bool) {
	address, err := netip.ParseAddr(o.Host)
	return address, err == nil
}

// checkPublic refuses an origin that by its very name is not on the public network.
func (o Origin) checkPublic() error {
	of := classPublic
	if address, ok := o.literal(); ok {
		of = classOf(address)
	} else if o.Host == localhost {
		of = classLoopback
	}
	if of != classPublic {
		return policyError("%s is not granted, and nobody is asked about such an address (%s)", o, of)
	}
	return nil
}

const localhost = "localhost"

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// parseAuthority reads "host" or "host:port". There are no user names.
func parseAuthority(scheme, text string) (Origin, error) {
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return Origin{}, policyError("the host %q has no closing bracket", text)
		}
		host, port = text[:end+1], text[end+1:]
	} else if colon := strings.IndexByte(text, ':'); colon >= 0 {
		host, port = text[:colon], text[colon:]
	}
	origin := Origin{Scheme: scheme, Port: defaultPort(scheme)}
	if port != "" {
		number, err := strconv.ParseUint(port[1:], 10, 16)
		if port[0] != ':' || err != nil || number == 0 || port[1] == '0' || port[1] == '+' {
			return Origin{}, policyError("the port in %q must be a number from 1 to 65535", text)
		}
		origin.Port = uint16(number)
	}
	var err error
	origin.Host, err = canonicalHost(host)
	return origin, err
}

// canonicalHost answers the one way a host is written, or why it is none.
func canonicalHost(host string) (string, error) {
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		return canonicalIPv6(strings.TrimSuffix(inner, "]"))
	}
	switch {
	case host == "":
		return "", policyError("there is no host")
	case strings.Contains(host, "%"):
		return "", policyError("the host %q must not be percent-encoded", host)
	}
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true), idna.VerifyDNSLength(true), idna.StrictDomainName(false))
	name, err := profile.ToASCII(host)
	switch {
	case strings.HasSuffix(name, "."):
		return "", policyError("the host %q must not end with a dot", host)
	case err != nil:
		return "", policyError("the host %q is not a valid name", host)
	case strings.ContainsFunc(name, func(r rune) bool { return !isHostByte(r) }):
		return "", policyError("the host %q has characters that no name has", host)
	}
	if !endsInNumber(name) {
		return name, nil
	}
	address, err := netip.ParseAddr(name)
	if err != nil {
		return "", policyError("the host %q is an address in an unusual form; write it like 192.0.2.1", host)
	}
	return address.String(), nil
}

func canonicalIPv6(text string) (string, error) {
	if strings.Contains(text, "%") {
		return "", policyError("the address [%s] must have no zone", text)
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Is4():
		return "", policyError("[%s] is not an IPv6 address", text)
	case embedded(address) != "":
		return "", policyError("the address [%s] stands for an IPv4 address (%s); write that one", text, embedded(address))
	}
	return address.String(), nil
}

func isHostByte(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_'
}

// endsInNumber reports whether some resolver would take the name for an address:
// its last label is a number, also an octal or hexadecimal one.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if digits, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
