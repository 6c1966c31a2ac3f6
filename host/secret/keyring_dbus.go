//go:build !darwin

package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// The Secret Service of freedesktop.org, as far as reading one item goes.
const (
	secretBus       = "org.freedesktop.secrets"
	secretPath      = dbus.ObjectPath("/org/freedesktop/secrets")
	secretService   = "org.freedesktop.Secret.Service"
	secretItem      = "org.freedesktop.Secret.Item"
	noPrompt        = dbus.ObjectPath("/")
	keyringService  = "plinth"
	orUseAnother    = "; use file:PATH or command:ARGV where there is no desktop"
	errUnknown      = "org.freedesktop.DBus.Error.ServiceUnknown"
	errNotSupported = "org.freedesktop.DBus.Error.Spawn"
)

// fromKeyring asks the Secret Service on the session bus. It opens no window: an
// item that is locked stays so.
func fromKeyring(ctx context.Context, name string) (string, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	text, err := askService(ctx, name)
	switch {
	case err == nil:
		return text, nil
	case caller.Err() != nil:
		err = context.Cause(caller)
	case ctx.Err() != nil:
		err = fmt.Errorf("the keyring did not answer within %v", keyringTimeout)
	}
	return "", fmt.Errorf("secret keyring:%s: %w", name, err)
}

func askService(ctx context.Context, name string) (string, error) {
	address, err := sessionBus()
	if err != nil {
		return "", err
	}
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("the session bus does not answer: %w%s", err, orUseAnother)
	}
	defer conn.Close()
	call := func(path dbus.ObjectPath, method string, args []any, results ...any) error {
		return conn.Object(secretBus, path).CallWithContext(ctx, method, 0, args...).Store(results...)
	}
	var open, locked []dbus.ObjectPath
	wanted := map[string]string{"service": keyringService, "username": name}
	if err := call(secretPath, secretService+".SearchItems", []any{wanted}, &open, &locked); err != nil {
		return "", noService(err)
	}
	if len(open) == 0 && len(locked) > 0 {
		var prompt dbus.ObjectPath
		if err := call(secretPath, secretService+".Unlock", []any{locked}, &open, &prompt); err != nil {
			return "", fmt.Errorf("unlock the item: %w", err)
		}
		if len(open) == 0 {
			return "", fmt.Errorf("the keyring is locked; unlock it, as logging in to the desktop does")
		}
	}
	if len(open) == 0 {
		return "", fmt.Errorf("the keyring has no such item; run: secret-tool store --label='Plinth %s' service %s username %s", name, keyringService, name)
	}
	var ignored dbus.Variant
	var session dbus.ObjectPath
	if err := call(secretPath, secretService+".OpenSession", []any{"plain", dbus.MakeVariant("")}, &ignored, &session); err != nil {
		return "", fmt.Errorf("open a session with the keyring: %w", err)
	}
	var found struct {
		Session     dbus.ObjectPath
		Parameters  []byte
		Value       []byte
		ContentType string
	}
	if err := call(open[0], secretItem+".GetSecret", []any{session}, &found); err != nil {
		return "", fmt.Errorf("read the item: %w", err)
	}
	return string(found.Value), nil
}

// noService says what it means that nobody answers for the Secret Service.
func noService(err error) error {
	if said, ok := errors.AsType[dbus.Error](err); ok && (said.Name == errUnknown || strings.HasPrefix(said.Name, errNotSupported)) {
		return errors.New("no keyring runs on the session bus (GNOME Keyring, KWallet and KeePassXC are such)" + orUseAnother)
	}
	return fmt.Errorf("search the keyring: %w", err)
}

// sessionBus answers the address of the user's bus. No bus is started for it.
func sessionBus() (string, error) {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		if !strings.HasPrefix(address, "unix:") {
			return "", fmt.Errorf("DBUS_SESSION_BUS_ADDRESS does not name a unix socket" + orUseAnother)
		}
		return address, nil
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	socket := filepath.Join(runtime, "bus")
	if _, err := os.Stat(socket); err != nil {
		return "", errors.New("there is no session bus, so no keyring" + orUseAnother)
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(socket), nil
}
