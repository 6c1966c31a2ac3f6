package config

import (
	"slices"
	"strings"
)

// SecretVariables are the variables that secrets are read from, ascending.
func (c Config) SecretVariables() []string {
	var names []string
	for _, reference := range c.references() {
		if name, ok := strings.CutPrefix(reference, "env:"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SecretReferences are all references to secrets that are given, each once.
func (c Config) SecretReferences() []string {
	given := slices.DeleteFunc(c.references(), func(reference string) bool { return reference == "" })
	slices.Sort(given)
	return slices.Compact(given)
}

// references are all references to secrets; one that is not given is "".
func (c Config) references() []string {
	all := []string{c.Network.ProxySecret}
	for _, provider := range c.Providers {
		all = append(all, provider.Secret)
		if o := provider.OAuth2; o != nil {
			all = append(all, o.ClientSecret, o.RefreshToken)
		}
	}
	for _, server := range c.MCP {
		all = append(all, server.references()...)
	}
	for _, plugin := range c.Plugins.Settings {
		for _, reference := range plugin.Secrets {
			all = append(all, reference)
		}
	}
	return all
}
