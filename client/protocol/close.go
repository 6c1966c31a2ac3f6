package protocol

// Close codes of the live WebSocket.
const (
	CloseNormal     = 1000
	CloseInternal   = 4000
	CloseProtocol   = 4001
	CloseFrameSize  = 4002
	CloseHello      = 4003
	CloseAuth       = 4004
	CloseRevoked    = 4005
	CloseOrigin     = 4006
	CloseVersion    = 4007
	CloseRate       = 4008
	CloseSlow       = 4009
	CloseDraining   = 4010
	CloseSuperseded = 4012
)

// Reconnect tells whether a client may connect again after a close code. A code
// it does not know counts as a lost connection.
func Reconnect(code int) bool {
	switch code {
	case CloseNormal, CloseProtocol, CloseFrameSize, CloseAuth, CloseRevoked, CloseOrigin, CloseVersion, CloseSuperseded:
		return false
	default:
		return true
	}
}
