package trust

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

func requestItems(m abi.Manifest) []item {
	var items []item
	for _, request := range Requests(m) {
		inject := ""
		if request.Inject != nil {
			inject = strings.TrimSpace(fmt.Sprintf("%s %s %s", request.Inject.Kind, request.Inject.Name, request.Inject.Value))
		}
		items = append(items, item{name: request.Key, text: clean(request.title()) + ": " + request.Reason, fields: []Field{
			{Name: "methods", New: strings.Join(request.Methods, " ")}, {Name: "paths", New: strings.Join(request.Paths, " ")},
			{Name: "audience", New: request.Audience}, {Name: "inject", New: inject}, {Name: "reason", New: request.Reason},
		}})
	}
	return items
}

func requiresItems(m abi.Manifest) []item {
	items := make([]item, len(m.Requires))
	for i, operation := range m.Requires {
		items[i] = item{name: operation}
	}
	return items
}

func toolItems(m abi.Manifest) []item {
	var items []item
	for _, tool := range m.Tools {
		items = append(items, item{name: tool.Name, text: tool.Description, fields: []Field{
			{Name: "description", New: tool.Description},
			{Name: "input", New: canonicalJSON(tool.Input)}, {Name: "output", New: canonicalJSON(tool.Output)},
			{Name: "permission", New: permission(tool.Permission)}, {Name: "effects", New: strings.Join(set(tool.Effects), " ")},
			{Name: "idempotent", New: strconv.FormatBool(tool.Idempotent)}, {Name: "timeout_ms", New: number(tool.TimeoutMS)},
		}})
	}
	return items
}

// permission is {action, resource} or a text, in one line.
func permission(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func contextItems(m abi.Manifest) []item {
	var items []item
	for _, source := range m.Contexts {
		items = append(items, item{name: source.Key, fields: []Field{
			{Name: "schema", New: canonicalJSON(source.Schema)}, {Name: "removable", New: strconv.FormatBool(source.Removable)},
		}})
	}
	return items
}

func providerItems(m abi.Manifest) []item {
	var items []item
	for _, provider := range m.Providers {
		auth := strings.TrimSpace(fmt.Sprintf("%s %s %s", provider.Auth.Kind, provider.Auth.Name, provider.Auth.Value))
		items = append(items, item{name: provider.ID, fields: []Field{{Name: "framing", New: provider.Framing}, {Name: "auth", New: auth}, {Name: "discover", New: discover(provider.Discover)}}})
	}
	return items
}

// discover is the request for the list of models in one line, "" for the usual one.
func discover(d abi.ManifestDiscover) string {
	query := url.Values{}
	for name, value := range d.Query {
		query.Set(name, value)
	}
	if d.PageQuery != "" {
		query.Set(d.PageQuery, "{"+d.PageFrom+"}")
	}
	text := d.Path
	if len(query) > 0 {
		text += "?" + query.Encode()
	}
	parts := []string{text}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		parts = append(parts, name+": "+d.Headers[name])
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func transformItems(m abi.Manifest) []item {
	var items []item
	for _, transform := range m.Transforms {
		reads, writes := strings.Join(set(transform.Reads), " "), strings.Join(set(transform.Writes), " ")
		items = append(items, item{name: transform.Name, text: fmt.Sprintf("reads %s; writes %s", shown(reads), shown(writes)), fields: []Field{
			{Name: "reads", New: reads}, {Name: "writes", New: writes}, {Name: "order", New: strconv.Itoa(transform.Order)}, {Name: "on_error", New: transform.OnError},
			{Name: "timeout_ms", New: number(transform.TimeoutMS)},
		}})
	}
	return items
}

func limitItems(m abi.Manifest) []item {
	var items []item
	for _, limit := range []Field{
		{Name: "memory_mib", New: number(m.Limits.MemoryMiB)}, {Name: "instances", New: number(m.Limits.Instances)}, {Name: "pool_mib", New: number(m.Limits.PoolMiB)},
		{Name: "wait_ms", New: number(m.Limits.WaitMS)}, {Name: "start_ms", New: number(m.Limits.StartMS)}, {Name: "fuel", New: number(m.Limits.Fuel)},
		{Name: "stack_kib", New: number(m.Limits.StackKiB)}, {Name: "output_kib", New: number(m.Limits.OutputKiB)}, {Name: "log_kib", New: number(m.Limits.LogKiB)},
		{Name: "operations", New: number(m.Limits.Operations)},
	} {
		items = append(items, item{name: limit.Name, fields: []Field{{Name: "value", New: limit.New}}})
	}
	return items
}

func isolationItems(m abi.Manifest) []item {
	mode := m.Isolation.Mode
	if mode == "" {
		mode = "restore"
	}
	return []item{{name: "isolation", fields: []Field{{Name: "mode", New: mode}}}}
}

func configItems(m abi.Manifest) []item {
	if m.Config == nil {
		return nil
	}
	return []item{{name: "config", text: "settings", fields: []Field{{Name: "schema", New: canonicalJSON(m.Config.Schema)}}}}
}

// number is a limit; 0 is the default.
func number(value int64) string {
	if value == 0 {
		return "default"
	}
	return strconv.FormatInt(value, 10)
}
