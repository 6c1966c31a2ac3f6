package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// The parts of SOCKS version 5 (RFC 1928 and 1929) that opening a connection needs.
const (
	socksVersion   = 5
	socksNone      = 0
	socksPassword  = 2
	socksPassword1 = 1 // the version of the password's negotiation
	socksDo        = 1 // CONNECT
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
)

// socksFailures are the replies, by number.
var socksFailures = [...]string{
	1: "it failed", 2: "its rules forbid it", 3: "the network cannot be reached", 4: "the host cannot be reached",
	5: "connection refused", 6: "it took too long", 7: "it does not connect", 8: "it does not know such addresses",
}

// socksConnect asks a SOCKS proxy for a tunnel. user may be empty; user, password
// and a name have at most 255 bytes.
func socksConnect(conn net.Conn, target, user, password string) error {
	method := byte(socksNone)
	if user != "" {
		method = socksPassword
	}
	reply := make([]byte, 4)
	if err := exchangeBytes(conn, []byte{socksVersion, 1, method}, reply[:2]); err != nil {
		return err
	}
	if reply[0] != socksVersion {
		return errors.New("it does not speak SOCKS 5")
	}
	if reply[1] != method {
		return errors.New("it does not take this way to sign in; does it need a secret, or none?")
	}
	if method == socksPassword {
		ask := append([]byte{socksPassword1, byte(len(user))}, user...)
		ask = append(append(ask, byte(len(password))), password...)
		if err := exchangeBytes(conn, ask, reply[:2]); err != nil {
			return err
		}
		if reply[1] != 0 {
			return errors.New("it refuses the user; is its secret right?")
		}
	}
	ask, err := socksRequest(target)
	if err != nil {
		return err
	}
	if err := exchangeBytes(conn, ask, reply); err != nil {
		return err
	}
	if code := int(reply[1]); code > 0 && code < len(socksFailures) {
		return errors.New(socksFailures[code])
	} else if code > 0 {
		return fmt.Errorf("it answers %d", code)
	}
	return skipBound(conn, reply[3])
}

func socksRequest(target string) ([]byte, error) {
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	ask := []byte{socksVersion, socksDo, 0}
	switch address, err := netip.ParseAddr(host); {
	case err == nil && address.Is4():
		ask = append(append(ask, socksIPv4), address.AsSlice()...)
	case err == nil:
		ask = append(append(ask, socksIPv6), address.AsSlice()...)
	default:
		ask = append(append(ask, socksName, byte(len(host))), host...)
	}
	return binary.BigEndian.AppendUint16(ask, uint16(port)), nil
}

// skipBound reads over the address that the proxy connects from.
func skipBound(conn net.Conn, kind byte) error {
	length := map[byte]int{socksIPv4: 4, socksIPv6: 16}[kind]
	if kind == socksName {
		var size [1]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return err
		}
		length = int(size[0])
	}
	if length == 0 {
		return errors.New("its answer holds no address")
	}
	_, err := io.ReadFull(conn, make([]byte, length+2))
	return err
}

func exchangeBytes(conn net.Conn, ask, reply []byte) error {
	if _, err := conn.Write(ask); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, reply)
	return err
}
