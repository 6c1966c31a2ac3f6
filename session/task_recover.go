package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Start goes on with what an earlier host left: tasks in the background are followed
// again, and their results delivered when the children are done; tasks whose calls
// have been settled are abandoned. Call it after the calls that died are settled and
// before sessions are woken.
func (t *Tasks) Start(ctx context.Context) error {
	running := map[string][]TaskRecord{}
	err := t.log.View(ctx, func(tx store.Tx) error {
		parents, err := LoadTaskParents(ctx, tx)
		if err != nil {
			return err
		}
		for _, parent := range parents {
			if running[parent], err = LoadTasks(ctx, tx, parent); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("start tasks: %w", err)
	}
	for parent, tasks := range running {
		for _, task := range tasks {
			if task.Background {
				t.background(parent, task.TaskStarted)
			}
		}
		if err := t.Abandon(ctx, parent); err != nil {
			return fmt.Errorf("start tasks: %w", err)
		}
	}
	return nil
}

// Abandon ends the tasks in the foreground whose calls have been settled without
// them: their children are interrupted, unless they are done, and waited for. Nothing
// reaches the parent's model; its calls have told it. Call it after every recovery of
// the parent. Safe to repeat.
func (t *Tasks) Abandon(ctx context.Context, parent string) error {
	var orphans []TaskStarted
	err := t.log.View(ctx, func(tx store.Tx) error {
		running, err := LoadTasks(ctx, tx, parent)
		if err != nil {
			return err
		}
		for _, task := range running {
			if task.Background {
				continue
			}
			settled, err := callSettled(ctx, tx, parent, task.Message, task.Call)
			if err != nil {
				return err
			}
			if settled {
				orphans = append(orphans, task.TaskStarted)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("abandon tasks of %s: %w", parent, err)
	}
	for _, task := range orphans {
		if !t.hold(task.Prompt) {
			continue
		}
		err := t.stop(ctx, parent, task, store.Any())
		t.release(task.Prompt)
		if err != nil {
			return fmt.Errorf("abandon tasks of %s: %w", parent, err)
		}
	}
	return nil
}

// Close stops following and waits until nothing does. The children go on; the next
// host delivers what they answer. Calls that wait in Run end with their own contexts.
// Safe twice.
func (t *Tasks) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel(ErrShutdown)
	t.group.Wait()
}

// background follows a task until its result is delivered, or Close.
func (t *Tasks) background(parent string, task TaskStarted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, held := t.held[task.Prompt]; held || t.closed {
		return
	}
	t.held[task.Prompt] = struct{}{}
	t.group.Go(func() {
		defer t.release(task.Prompt)
		end, _, err := t.follow(t.ctx, task, true)
		if err == nil {
			err = t.deliver(t.ctx, parent, task, end)
		}
		if err != nil && !errors.Is(context.Cause(t.ctx), ErrShutdown) {
			t.logger.Error("a background task is not followed any more; the next start goes on with it",
				"session", parent, "task", task.Session, "error", err)
		}
	})
}

// hold claims a task, so that one goroutine ends it; false when it is claimed.
func (t *Tasks) hold(prompt string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, held := t.held[prompt]; held {
		return false
	}
	t.held[prompt] = struct{}{}
	return true
}

func (t *Tasks) release(prompt string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, prompt)
}
