// Command cache-marks is the plugin core/cache-marks: it says in every request which
// parts the provider is to keep in its cache.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// option is the one that codecs read the policy from.
const option = "cache"

// settings are the operator's. The manifest's schema says what a policy may be.
type settings struct {
	Policy json.RawMessage `json:"policy"`
}

var policy json.RawMessage

func init() {
	plinth.Configure(func(s settings) error {
		policy = s.Policy
		if len(policy) == 0 {
			policy = json.RawMessage(`"auto"`)
		}
		return nil
	})
	transform.Register("cache-marks", apply)
}

func main() {}

// apply leaves a policy that the model's own options have.
func apply(request abi.TransformApply) ([]abi.Edit, error) {
	if _, said := request.Options[option]; said {
		return nil, nil
	}
	edit, err := transform.Set("options", option, policy)
	if err != nil {
		return nil, err
	}
	return []abi.Edit{edit}, nil
}
