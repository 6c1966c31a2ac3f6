// Package plugin brings plugins to life: it finds them, reads and checks their
// manifests, admits their modules, binds them to the kernel's ports and opens
// their scopes in the registries. It also proves their goldens in the engine that
// runs them.
package plugin
