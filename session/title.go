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
func cleanTitle(title string) (string, error) { return cleanLine("title", title) }

// cleanLine is cleanTitle of a field with another name.
func cleanLine(field, title string) (string, error) {
	clean := strings.TrimSpace(title)
	length := utf8.RuneCountInString(clean)
	switch {
	case clean == "":
		return "", fmt.Errorf("%w: %s is empty; give 1 to %d characters", ErrInvalid, field, MaxTitle)
	case length > MaxTitle:
		return "", fmt.Errorf("%w: %s has %d characters, the limit is %d", ErrInvalid, field, length, MaxTitle)
	case !utf8.ValidString(clean):
		return "", fmt.Errorf("%w: %s is not valid UTF-8", ErrInvalid, field)
	case strings.ContainsFunc(clean, unicode.IsControl) || strings.ContainsAny(clean, "\u2028\u2029"):
		return "", fmt.Errorf("%w: %s has a line break or another control character; it is one line", ErrInvalid, field)
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
