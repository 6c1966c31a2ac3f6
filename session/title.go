package session

import "context"

// NameUntitled gives a session the title that a model made, unless it has one: a name
// that a person gave meanwhile stays.
func (s *Sessions) NameUntitled(ctx context.Context, session string, renamed Renamed) error {
	_, err := s.change(ctx, System(), session, func(current Session) []Payload {
		if current.Title != "" {
			return nil
		}
		return []Payload{renamed}
	})
	return err
}
