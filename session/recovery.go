package session

// RecoveryPolicy says what becomes of a turn whose request was sent to a provider
// when the host died, and of whose answer nothing was recorded.
type RecoveryPolicy string

// The policies.
const (
	RecoverOff    RecoveryPolicy = "off"    // the activity ends as interrupted
	RecoverAsk    RecoveryPolicy = "ask"    // a person decides
	RecoverResume RecoveryPolicy = "resume" // the request is made again, a few times at most
)
