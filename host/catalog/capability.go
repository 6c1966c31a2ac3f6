package catalog

import (
	"slices"

	"github.com/plinthhost/plinth/session"
)

var capabilityNames = [...]string{"tools", "reasoning", "images", "documents"}

// capability answers where the capability of that name is kept.
func capability(c *session.Capabilities, name string) *bool {
	switch name {
	case "tools":
		return &c.Tools
	case "reasoning":
		return &c.Reasoning
	case "images":
		return &c.Images
	case "documents":
		return &c.Documents
	}
	return nil
}

// CapabilityNames are all the names of capabilities.
func CapabilityNames() []string { return slices.Clone(capabilityNames[:]) }

// ParseCapabilities answers the capabilities of those names and no others. unknown is
// a name that there is not, or "".
func ParseCapabilities(names []string) (parsed session.Capabilities, unknown string) {
	parsed.Known = true
	for _, name := range names {
		has := capability(&parsed, name)
		if has == nil {
			return session.Capabilities{}, name
		}
		*has = true
	}
	return parsed, ""
}

// FormatCapabilities answers the names of those that are there, nil when that is not
// known.
func FormatCapabilities(c session.Capabilities) []string {
	if !c.Known {
		return nil
	}
	names := []string{}
	for _, name := range capabilityNames {
		if *capability(&c, name) {
			names = append(names, name)
		}
	}
	return names
}
