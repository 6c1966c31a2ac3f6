package secret

import (
	"context"
	"fmt"
	"strings"
)

// securityNotFound is the exit status of security(1) when there is no such item.
const securityNotFound = "exit status 44"

// fromKeyring asks the login keychain by the system's own tool.
func fromKeyring(ctx context.Context, name string) (string, error) {
	text, err := fromCommand(ctx, []string{"/usr/bin/security", "find-generic-password", "-s", "plinth", "-a", name, "-w"}, keyringTimeout)
	if err != nil && strings.Contains(err.Error(), securityNotFound) {
		return "", fmt.Errorf("secret keyring:%s: the keychain has no such item; run: security add-generic-password -s plinth -a %s -w", name, name)
	}
	if err != nil {
		return "", fmt.Errorf("secret keyring:%s: %w", name, err)
	}
	return text, nil
}
