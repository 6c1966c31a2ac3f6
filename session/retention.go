package session

import "fmt"

// MaxRetentionDays bounds the days of a Retention.
const MaxRetentionDays = 36_500

// Check says what is wrong with a retention; field names it.
func (r Retention) check(field string) error {
	switch r.Keep {
	case RetainAll, RetainCompaction:
		if r.Days != 0 {
			return fmt.Errorf("%w: %s.days is %d; days go with keep %q only", ErrInvalid, field, r.Days, RetainDays)
		}
		return nil
	case RetainDays:
		if r.Days < 1 || r.Days > MaxRetentionDays {
			return fmt.Errorf("%w: %s.days is %d; it is 1 to %d", ErrInvalid, field, r.Days, MaxRetentionDays)
		}
		return nil
	}
	return fmt.Errorf("%w: %s.keep is %q; it is %s, %s or %s", ErrInvalid, field, clip(string(r.Keep)), RetainAll, RetainCompaction, RetainDays)
}
