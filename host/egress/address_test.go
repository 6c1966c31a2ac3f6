package egress

import (
	"net/netip"
	"testing"
)

func TestClasses(t *testing.T) {
	for text, want := range map[string]class{
		"93.184.216.34": classPublic, "1.1.1.1": classPublic, "9.255.255.255": classPublic, "11.0.0.0": classPublic,
		"100.63.255.255": classPublic, "100.128.0.0": classPublic, "172.15.255.255": classPublic, "172.32.0.0": classPublic,
		"126.255.255.255": classPublic, "128.0.0.0": classPublic, "169.253.255.255": classPublic, "192.167.255.255": classPublic,
		"192.169.0.0": classPublic, "198.17.255.255": classPublic, "198.20.0.0": classPublic, "223.255.255.255": classPublic,
		"2606:2800:220:1::1": classPublic, "2001:200::1": classPublic, "2003::1": classPublic, "3fff:1000::1": classPublic,

		"127.0.0.1": classLoopback, "127.255.255.254": classLoopback, "::1": classLoopback,
		"10.0.0.0": classPrivate, "10.255.255.255": classPrivate, "172.16.0.1": classPrivate, "172.31.255.255": classPrivate,
		"192.168.0.1": classPrivate, "fc00::1": classPrivate, "fdff::1": classPrivate, "fec0::1": classPrivate,
		"169.254.0.1": classLinkLocal, "fe80::1": classLinkLocal, "fe80::1%eth0": classLinkLocal,
		"169.254.169.254": classMetadata, "169.254.170.2": classMetadata, "100.100.100.200": classMetadata, "192.0.0.192": classMetadata,
		"168.63.129.16": classMetadata, "fd00:ec2::254": classMetadata,
		"169.254.170.23": classMetadata, "fd00:ec2::23": classMetadata, "fd20:ce::254": classMetadata,
		"100.64.0.0": classCarrier, "100.127.255.255": classCarrier,
		"192.0.2.1": classExample, "198.51.100.1": classExample, "203.0.113.1": classExample, "2001:db8::1": classExample, "3fff::1": classExample,
		"198.18.0.1": classBenchmark, "198.19.255.255": classBenchmark, "2001:2::1": classBenchmark,
		"0.0.0.0": classReserved, "0.1.2.3": classReserved, "192.0.0.1": classReserved, "240.0.0.1": classReserved, "255.255.255.255": classReserved,
		"::": classReserved, "2001:20::1": classReserved, "4000::1": classReserved, "100::1": classReserved, "5f00::1": classReserved,
		"224.0.0.1": classMulticast, "239.255.255.255": classMulticast, "ff02::1": classMulticast,
		"::ffff:127.0.0.1": classEmbedded, "::ffff:93.184.216.34": classEmbedded, "::127.0.0.1": classEmbedded, "64:ff9b::7f00:1": classEmbedded,
		"64:ff9b:1::7f00:1": classEmbedded, "2002:7f00:1::": classEmbedded, "2001:0:4136:e378::1": classEmbedded, "192.88.99.1": classEmbedded,
	} {
		if got := classOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestEmbedded(t *testing.T) {
	for text, want := range map[string]string{
		"::ffff:127.0.0.1": "127.0.0.1", "::127.0.0.1": "127.0.0.1", "64:ff9b::7f00:1": "127.0.0.1", "2002:7f00:1::1": "127.0.0.1",
		"2001:0:1:2:3:4:80ff:fffe": "127.0.0.1", "2606:2800::1": "", "::1": "", "127.0.0.1": "",
	} {
		if got := embedded(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
