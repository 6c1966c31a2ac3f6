// Package registry keeps what plugins and the host contribute to a session:
// tools, context sources, providers, transforms, each a kind of its own.
//
// Contributions come in scopes. A scope is opened, replaced and closed as a
// whole, over all kinds at once. Scopes are global or belong to one Location;
// what a Location contributes shadows the global contribution of that name.
//
// A turn pins a snapshot and works on it to its end, whatever is replaced or
// closed meanwhile. The retirement of a replaced revision tells its owner when
// the last pin is gone and the values may be closed.
//
// The package knows no kind of value and calls none of the values it holds.
package registry
