package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/plinthhost/plinth/store"
)

// Slug is a name for people that follows from a session's id: two words, and from the
// second try on some digits, more with every try.
func Slug(id string, try int) string {
	adjectives, nouns := slugWords()
	sum := sha256.Sum256([]byte("slug\n" + id))
	name := adjectives[int(sum[0])%len(adjectives)] + "-" + nouns[int(sum[1])%len(nouns)]
	if try == 0 {
		return name
	}
	return name + "-" + hex.EncodeToString(sum[2:])[:min(2+2*try, 60)]
}

// slugWords are short and easy to tell apart when they are read aloud.
func slugWords() (adjectives, nouns []string) {
	return []string{
			"amber", "bold", "brave", "brisk", "calm", "clear", "clever", "cosy", "crisp", "deft", "eager", "early", "fair", "fleet",
			"fresh", "gentle", "glad", "golden", "grand", "green", "happy", "hardy", "honest", "humble", "jolly", "keen", "kind", "late",
			"light", "lively", "lucky", "mellow", "merry", "mild", "neat", "nimble", "noble", "patient", "plain", "polite", "proud",
			"quick", "quiet", "rapid", "ready", "round", "rustic", "sharp", "silent", "silver", "sleek", "smooth", "snug", "solid",
			"spry", "steady", "still", "sunny", "swift", "tidy", "vivid", "warm", "wise", "witty"},
		[]string{
			"anchor", "badger", "beacon", "birch", "bridge", "brook", "canyon", "cedar", "cliff", "cloud", "comet", "coral", "crane",
			"delta", "dune", "falcon", "fern", "finch", "fjord", "forest", "garden", "glacier", "grove", "harbor", "heron", "hill",
			"island", "ivy", "lagoon", "lake", "lantern", "lark", "maple", "marsh", "meadow", "mesa", "moon", "moss", "oak", "orchard",
			"otter", "owl", "pebble", "pine", "plover", "pond", "prairie", "quarry", "raven", "reef", "ridge", "river", "robin", "sparrow",
			"spring", "spruce", "summit", "thicket", "thistle", "trail", "valley", "willow", "wren", "zephyr"}
}

// maxSlugTries bounds the search for a slug that no session has. Two may still come to
// have the same: it is no id.
const maxSlugTries = 4

// slug answers one for a new session; "" where the program gives none.
func (s *Sessions) slug(ctx context.Context, id string) (slug string, err error) {
	if s.options.Slug == nil {
		return "", nil
	}
	err = s.log.View(ctx, func(tx store.Tx) error {
		for try := range maxSlugTries {
			slug = s.options.Slug(id, try)
			ids, err := LoadSlug(ctx, tx, slug)
			if err != nil || len(ids) == 0 {
				return err
			}
		}
		return nil
	})
	return slug, err
}

// LoadSlug lists the sessions with the slug, in no order.
func LoadSlug(ctx context.Context, tx store.Tx, slug string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM session WHERE slug = $1 AND slug <> ''`, slug)
	return collect(rows, err, scanText)
}
