package egress

import (
	"encoding/binary"
	"net/netip"
)

// class is what an address is for, as far as the policy cares.
type class string

const (
	classPublic    class = ""
	classPrivate   class = "private"
	classLoopback  class = "loopback"
	classLinkLocal class = "link-local"
	classCarrier   class = "carrier-grade NAT"
	classMetadata  class = "cloud metadata"
	classMulticast class = "multicast"
	classReserved  class = "reserved"
	classExample   class = "documentation"
	classBenchmark class = "benchmark"
	classEmbedded  class = "IPv4 inside IPv6"
)

// block is a range of addresses that are not public.
type block struct {
	prefix string
	class  class
}

// blocks are the ranges of the IANA registries of special addresses, the first
// that holds an address decides, and the addresses by which clouds tell machines
// their credentials. Of IPv6 only global6 is public.
var blocks = [...]block{
	{"169.254.169.254/32", classMetadata}, {"169.254.170.2/32", classMetadata}, {"100.100.100.200/32", classMetadata},
	{"192.0.0.192/32", classMetadata}, {"168.63.129.16/32", classMetadata}, {"169.254.170.23/32", classMetadata},
	{"fd00:ec2::254/128", classMetadata}, {"fd00:ec2::23/128", classMetadata}, {"fd20:ce::254/128", classMetadata},
	{"127.0.0.0/8", classLoopback}, {"::1/128", classLoopback},
	{"10.0.0.0/8", classPrivate}, {"172.16.0.0/12", classPrivate}, {"192.168.0.0/16", classPrivate}, {"fc00::/7", classPrivate}, {"fec0::/10", classPrivate},
	{"169.254.0.0/16", classLinkLocal}, {"fe80::/10", classLinkLocal},
	{"100.64.0.0/10", classCarrier},
	{"192.0.2.0/24", classExample}, {"198.51.100.0/24", classExample}, {"203.0.113.0/24", classExample}, {"2001:db8::/32", classExample}, {"3fff::/20", classExample},
	{"198.18.0.0/15", classBenchmark}, {"2001:2::/48", classBenchmark},
	{"::ffff:0:0/96", classEmbedded}, {"64:ff9b::/96", classEmbedded}, {"64:ff9b:1::/48", classEmbedded}, {"2002::/16", classEmbedded}, {"2001::/32", classEmbedded},
	{"192.88.99.0/24", classEmbedded},
	{"0.0.0.0/8", classReserved}, {"192.0.0.0/24", classReserved}, {"::/128", classReserved}, {"2001::/23", classReserved},
	{"224.0.0.0/4", classMulticast}, {"ff00::/8", classMulticast},
	{"240.0.0.0/4", classReserved}, // with the broadcast address
	{"::/96", classEmbedded},
}

// global6 is the public part of IPv6.
const global6 = "2000::/3"

// classOf says what an address is for.
func classOf(address netip.Addr) class {
	address = address.WithZone("")
	for _, b := range blocks {
		if netip.MustParsePrefix(b.prefix).Contains(address) {
			return b.class
		}
	}
	if address.Is6() && !netip.MustParsePrefix(global6).Contains(address) {
		return classReserved
	}
	return classPublic
}

// embedded answers the IPv4 address that an IPv6 address stands for, or "".
func embedded(address netip.Addr) string {
	if !address.Is6() || classOf(address) != classEmbedded {
		return ""
	}
	bytes := address.As16()
	inner := bytes[12:]
	switch {
	case bytes[0] == 0x20 && bytes[1] == 0x02: // 6to4
		inner = bytes[2:6]
	case bytes[0] == 0x20: // Teredo: the client's, inverted
		inner = binary.BigEndian.AppendUint32(nil, ^binary.BigEndian.Uint32(inner))
	}
	v4, _ := netip.AddrFromSlice(inner)
	return v4.String()
}
