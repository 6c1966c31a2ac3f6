package markdown

import (
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Teller logs what is wrong with files that are read again and again, each mistake once.
type Teller struct {
	logger hclog.Logger

	mu   sync.Mutex
	told map[string]bool
}

// maxTold bounds what is remembered.
const maxTold = 1024

// NewTeller logs to logger.
func NewTeller(logger hclog.Logger) *Teller { return &Teller{logger: logger, told: map[string]bool{}} }

// Tell logs the mistakes that it has not logged before; what says what becomes of the file.
func (t *Teller) Tell(what string, wrong []error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, err := range wrong {
		if text := err.Error(); !t.told[text] && len(t.told) < maxTold {
			t.told[text] = true
			t.logger.Warn(what, "reason", text)
		}
	}
}
