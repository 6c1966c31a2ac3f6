package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Terms are what the operator says of a plugin beside its module. A plugin with other
// terms is another revision. They are kept with each revision in the log, so secrets
// stand in them as references only.
type Terms struct {
	Config json.RawMessage `json:"config,omitempty"`
	// Grants are the keys of the requests that are granted, ascending.
	Grants []string         `json:"grants"`
	Limits map[string]int64 `json:"limits,omitempty"`
	// Secrets are references by the handles of the manifest.
	Secrets map[string]string `json:"secrets,omitempty"`
	Files   []string          `json:"files,omitempty"`
	URLs    []string          `json:"urls,omitempty"`
	// Providers are the codecs of the operator's providers that it serves, by their names.
	Providers map[string]string `json:"providers,omitempty"`
	Record    Record            `json:"record,omitempty"`
	ExtismSDK bool              `json:"extism_sdk,omitempty"`
	Required  bool              `json:"required,omitempty"`
	Order     int               `json:"order,omitempty"`
}

// encode answers the terms as the log keeps them: the same terms give the same bytes.
func (t Terms) encode() (json.RawMessage, error) {
	encoded, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the terms: %w", err)
	}
	return encoded, nil
}

// revisionOf names a packed plugin under its terms.
func revisionOf(digest string, terms json.RawMessage) string {
	hash := sha256.New()
	hash.Write([]byte(digest))
	hash.Write([]byte{0})
	hash.Write(terms)
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// terms are what the operator's settings make of a candidate, with these grants.
func (m *Manager) terms(candidate Candidate, grants []string) (Terms, error) {
	id := candidate.Manifest.ID
	settings, providers := m.configured(id)
	config, err := checkConfig(candidate.Manifest, settings.Config)
	if err != nil {
		return Terms{}, err
	}
	if _, err := operatorLimits(id, settings.Limits); err != nil {
		return Terms{}, err
	}
	if grants = slices.Clone(grants); grants == nil {
		grants = []string{}
	}
	slices.Sort(grants)
	terms := Terms{Config: config, Grants: grants, Limits: settings.Limits, Secrets: settings.Secrets, Files: settings.Files, URLs: settings.URLs,
		Record: settings.Record, ExtismSDK: settings.ExtismSDK, Required: settings.Required, Order: settings.Order}
	if terms.Record == RecordOff {
		terms.Record = ""
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if terms.Providers == nil {
			terms.Providers = map[string]string{}
		}
		terms.Providers[name] = providers[name].Codec
	}
	return terms, nil
}
