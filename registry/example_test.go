package registry_test

import (
	"fmt"

	"github.com/plinthhost/plinth/registry"
)

func Example() {
	greeters := registry.NewKind[func() string]("greeter")
	registries := registry.New(greeters)
	greet := func(text string) registry.Contribution {
		return greeters.Contribute("hello", 0, func() string { return text })
	}

	// A plugin's first revision, and a turn that pins it.
	if _, err := registries.Replace(registry.Scope{
		ID: "greetings", Revision: "v1", Contributions: []registry.Contribution{greet("good day")},
	}); err != nil {
		fmt.Println(err)
		return
	}
	turn := registries.Pin("/project")

	// The plugin is reloaded. The turn keeps what it pinned.
	retirement, err := registries.Replace(registry.Scope{
		ID: "greetings", Revision: "v2", Contributions: []registry.Contribution{greet("hi")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry, _ := registry.Lookup(turn, greeters, "hello")
	fmt.Println(entry.Value(), entry.Revision, registries.State(entry.Registration))

	// When the turn is over, the first revision may be closed.
	turn.Release()
	<-retirement.Done()

	next := registries.Pin("/project")
	defer next.Release()
	entry, _ = registry.Lookup(next, greeters, "hello")
	fmt.Println(entry.Value(), entry.Revision, registries.State(entry.Registration))
	// Output:
	// good day v1 replaced
	// hi v2 active
}
