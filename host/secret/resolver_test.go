package secret

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counting makes a resolver whose lookups answer value-1, value-2 and so on.
func counting(t *testing.T, options ResolverOptions) (*Resolver, *atomic.Int32) {
	t.Helper()
	var lookups atomic.Int32
	r := NewResolver(options)
	r.resolve = func(context.Context, reference) (Value, error) {
		return NewValue(fmt.Sprintf("value-%d", lookups.Add(1))), nil
	}
	t.Cleanup(func() { r.Close() })
	return r, &lookups
}

func wantValue(t *testing.T, r *Resolver, ref, want string) Value {
	t.Helper()
	value, err := r.Resolve(t.Context(), ref)
	if err != nil || value.Reveal() != want {
		t.Errorf("%s: %q, %v; want %q", ref, value.Reveal(), err, want)
	}
	return value
}

func TestResolverKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := counting(t, ResolverOptions{TTL: time.Minute})
		for _, step := range []struct {
			after time.Duration
			ref   string
			want  string
		}{
			{0, "keyring:a", "value-1"},
			{59 * time.Second, "keyring:a", "value-1"},
			{0, "command:a", "value-2"},
			{time.Second, "keyring:a", "value-3"},
			{0, "env:A", "value-4"}, // read at every use
			{0, "env:A", "value-5"},
			{0, "file:/a", "value-6"},
			{0, "file:/a", "value-7"},
			{58 * time.Second, "command:a", "value-2"},
		} {
			time.Sleep(step.after)
			wantValue(t, r, step.ref, step.want)
		}
		if _, err := r.Resolve(t.Context(), "sk-pasted"); err == nil {
			t.Error("no reference, no error")
		}
	})
}

func TestResolverRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := counting(t, ResolverOptions{})
		first := wantValue(t, r, "command:a", "value-1")
		r.Rejected("command:a", first) // too young: it may be the server
		wantValue(t, r, "command:a", "value-1")
		time.Sleep(minAge)
		r.Rejected("command:a", NewValue("another"))
		r.Rejected("command:b", first)
		wantValue(t, r, "command:a", "value-1")
		r.Rejected("command:a", first)
		wantValue(t, r, "command:a", "value-2")
		r.Rejected("command:a", first)
		wantValue(t, r, "command:a", "value-2")
	})
}

func TestResolverKeepsFailuresShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lookups := counting(t, ResolverOptions{})
		inner := r.resolve
		failed := errors.New("no keyring")
		r.resolve = func(ctx context.Context, ref reference) (Value, error) {
			if _, err := inner(ctx, ref); err != nil || lookups.Load() > 1 {
				return NewValue("there"), err
			}
			return Value{}, failed
		}
		for range 3 {
			if _, err := r.Resolve(t.Context(), "keyring:a"); !errors.Is(err, failed) {
				t.Errorf("%v", err)
			}
		}
		time.Sleep(minAge)
		wantValue(t, r, "keyring:a", "there")
		if n := lookups.Load(); n != 2 {
			t.Errorf("%d lookups", n)
		}
	})
}

// TestResolverSharesLookups: eight callers, one lookup; who leaves takes nobody along.
func TestResolverSharesLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var scrubber Scrubber
		r, lookups := counting(t, ResolverOptions{Scrubber: &scrubber})
		release := make(chan struct{})
		r.resolve = func(ctx context.Context, _ reference) (Value, error) {
			lookups.Add(1)
			<-release
			return NewValue("shared-value"), ctx.Err()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("left")
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := r.Resolve(ctx, "command:a"); !errors.Is(err, reason) {
				t.Errorf("who left: %v", err)
			}
		})
		synctest.Wait() // the one that leaves began the lookup
		for range 8 {
			group.Go(func() { wantValue(t, r, "command:a", "shared-value") })
		}
		synctest.Wait()
		r.Rejected("command:a", NewValue("shared-value")) // not while it runs
		cancel(reason)
		synctest.Wait()
		close(release)
		group.Wait()
		if n := lookups.Load(); n != 1 {
			t.Errorf("%d lookups", n)
		}
		if got := scrubber.Scrub("a shared-value"); got != "a [secret]" {
			t.Errorf("the scrubber was not told: %s", got)
		}
	})
}

func TestResolverCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewResolver(ResolverOptions{})
		r.resolve = func(ctx context.Context, _ reference) (Value, error) {
			<-ctx.Done()
			return Value{}, context.Cause(ctx)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := r.Resolve(t.Context(), "command:a"); !errors.Is(err, errClosed) {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		group.Wait()
		if _, err := r.Resolve(t.Context(), "command:b"); !errors.Is(err, errClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}
