package runner

import "github.com/plinthhost/plinth/session"

// Execution is a coordinator whose drains are this runner's, with resumes.
type Execution struct {
	*session.Coordinator
	Runner *Runner
}

// Start wakes the session for at least one provider turn. It joins a resume that
// waits or is under way, unless that is older than the interrupt.
func (e Execution) Start(id string, seq, interrupt int64) {
	if e.Runner.resume(id, seq, interrupt) {
		e.Wake(id, seq)
	}
}

func (r *Runner) resume(id string, seq, interrupt int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier, asked := r.resumes[id]; asked && earlier > interrupt {
		return false
	}
	r.resumes[id] = seq
	return true
}

// resumed answers the sequence of the session's resume, -1 without one.
func (r *Runner) resumed(id string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq, asked := r.resumes[id]; asked {
		return seq
	}
	return -1
}

// endResume forgets a resume, unless a newer one took its place.
func (r *Runner) endResume(id string, seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumes[id] == seq {
		delete(r.resumes, id)
	}
}
