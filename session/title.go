package session

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTitle bounds a title, in characters.
const MaxTitle = 200

// cleanTitle is the title without the space around it. It must be one line of 1 to
// MaxTitle characters.
func cleanTitle(title string) (string, error) {
	clean := strings.TrimSpace(title)
	length := utf8.RuneCountInString(clean)
	switch {
	case clean == "":
		return "", fmt.Errorf("%w: title is empty; give 1 to %d characters", ErrInvalid, MaxTitle)
	case length > MaxTitle:
		return "", fmt.Errorf("%w: title has %d characters, the limit is %d", ErrInvalid, length, MaxTitle)
	case !utf8.ValidString(clean):
		return "", fmt.Errorf("%w: title is not valid UTF-8", ErrInvalid)
	case strings.ContainsFunc(clean, unicode.IsControl) || strings.ContainsAny(clean, "\u2028\u2029"):
		return "", fmt.Errorf("%w: title has a line break or another control character; it is one line", ErrInvalid)
	}
	return clean, nil
}

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
