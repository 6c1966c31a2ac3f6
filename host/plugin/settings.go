package plugin

import (
	"encoding/json"
	"fmt"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session/schema"
)

// checkConfig holds the operator's settings to the manifest's schema and answers
// them as JSON; nil when the plugin has none.
func checkConfig(m abi.Manifest, settings map[string]any) (json.RawMessage, error) {
	if m.Config == nil {
		if len(settings) > 0 {
			return nil, fmt.Errorf("plugins.%q.config: the plugin has no settings; remove them", m.ID)
		}
		return nil, nil
	}
	if settings == nil {
		settings = map[string]any{}
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("plugins.%q.config: %w", m.ID, err)
	}
	compiled, err := schema.Compile([]byte(m.Config.Schema))
	if err != nil {
		return nil, fmt.Errorf("plugin %s: config.schema: %w", m.ID, err)
	}
	if err := compiled.Check(encoded); err != nil {
		return nil, fmt.Errorf("plugins.%q.config does not fit the plugin's schema: %w", m.ID, err)
	}
	return encoded, nil
}
