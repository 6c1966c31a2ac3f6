package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/egress"
)

// Limits of a download.
const (
	// MaxDownloadBytes is the largest plugin that is downloaded.
	MaxDownloadBytes = 24 << 20
	// MaxDownloadTime is how long it may take altogether.
	MaxDownloadTime = 2 * time.Minute
	// MaxDownloadRedirects is how many redirects are followed.
	MaxDownloadRedirects = 5
)

// hashPrefix begins the fragment of a URL that says what is to come.
const hashPrefix = "sha256="

// URLError is a plugin that could not be had from a URL.
type URLError struct {
	URL string // as it was given, without its fragment and its query
	Err error
}

func (e *URLError) Error() string { return e.URL + ": " + e.Err.Error() }
func (e *URLError) Unwrap() error { return e.Err }

// IsURL reports whether an operator's source is a URL and not a path.
func IsURL(source string) bool {
	scheme, _, found := strings.Cut(source, "://")
	return found && !strings.ContainsAny(scheme, "/.")
}

// Download reads a packed plugin from a URL over the operator's network. The URL is
// https; http is taken from this machine's own addresses (127.0.0.1, [::1],
// localhost). It may end with "#sha256=HEX", which the file is then held to. At most
// MaxDownloadRedirects redirects are followed, to https only, and nothing is read from
// addresses that are not public but for one that the URL names itself and those that
// the network allows. Errors are of type *URLError, or those of Packed.
func Download(ctx context.Context, network *egress.Network, source string) (Candidate, error) {
	d, err := newDownload(network, source)
	if err != nil {
		return Candidate{Origin: d.origin}, &URLError{d.origin, err}
	}
	module, err := d.follow(ctx)
	if err == nil {
		err = d.check(module)
	}
	if err != nil {
		return Candidate{Origin: d.origin}, &URLError{d.origin, err}
	}
	return Packed(d.origin, module, false)
}

// download is a plugin on its way.
type download struct {
	network *egress.Network
	origin  string // for people: without what may be secret
	at      string // the URL of the next request
	hops    int
	sha256  []byte // nil where the operator did not say
	ends    time.Time
}

func newDownload(network *egress.Network, source string) (*download, error) {
	address, fragment, hashed := strings.Cut(source, "#")
	d := &download{network: network, origin: shown(address), at: address, ends: time.Now().Add(MaxDownloadTime)}
	if hashed {
		text, ok := strings.CutPrefix(fragment, hashPrefix)
		sum, err := hex.DecodeString(text)
		if !ok || err != nil || len(sum) != sha256.Size {
			return d, fmt.Errorf("what follows # must be %s and %d hexadecimal digits, as sha256sum prints them", hashPrefix, 2*sha256.Size)
		}
		d.sha256 = sum
	}
	target, err := egress.ParseURL(address)
	if err != nil {
		return d, err
	}
	if target.Origin.Scheme != "https" && !loopback(target.Origin) {
		return d, errors.New("plugins are downloaded over https only; http is for this machine's own addresses")
	}
	return d, nil
}

// shown is a URL without its query and the name and password before its host.
func shown(address string) string {
	address, _, _ = strings.Cut(address, "?")
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		authority = "…" + authority[at:]
	}
	return scheme + "://" + authority + "/" + path
}

// follow asks for the file, and where redirects lead.
func (d *download) follow(ctx context.Context) ([]byte, error) {
	for {
		fetched, err := d.request(ctx)
		if err != nil {
			return nil, d.explain(err)
		}
		location := fetched.Headers.Get("Location")
		switch {
		case fetched.Status == http.StatusOK:
			return fetched.Body, nil
		case !isRedirect(fetched.Status) || location == "":
			return nil, fmt.Errorf("%s answers %d %s; is the address right, and is it open to all?", hostOf(d.at), fetched.Status, http.StatusText(fetched.Status))
		case d.hops == MaxDownloadRedirects:
			return nil, fmt.Errorf("%s redirects once more after %d redirects, the limit; give the address that it ends at", hostOf(d.at), MaxDownloadRedirects)
		}
		if err := d.redirect(location); err != nil {
			return nil, err
		}
	}
}

// redirect goes on to another address.
func (d *download) redirect(location string) error {
	from := hostOf(d.at)
	base, err := url.Parse(d.at)
	if err != nil {
		return fmt.Errorf("%s redirects from what is no URL", from)
	}
	location, _, _ = strings.Cut(location, "#")
	next, err := base.Parse(location)
	if err != nil {
		return fmt.Errorf("%s redirects to what is no URL", from)
	}
	target, err := egress.ParseURL(next.String())
	if err != nil {
		return fmt.Errorf("%s redirects: %w", from, err)
	}
	if target.Origin.Scheme != "https" {
		return fmt.Errorf("%s redirects to %s, which is not https; give an address that stays on https", from, target.Origin)
	}
	d.hops++
	d.at = target.String()
	return nil
}

// request makes one request. The operator's own address is granted as it is; of those
// that redirects lead to only names are, which lead to public addresses and those of
// the operator's network.
func (d *download) request(ctx context.Context) (egress.Fetched, error) {
	target, err := egress.ParseURL(d.at)
	if err != nil {
		return egress.Fetched{}, err
	}
	options := egress.FetcherOptions{Network: d.network, Limits: egress.Limits{Body: MaxDownloadBytes},
		Timeouts: egress.Timeouts{Total: MaxDownloadTime}}
	fetch := egress.Fetch{Method: http.MethodGet, URL: d.at, Redirect: egress.RedirectManual, Timeout: max(time.Until(d.ends), time.Millisecond),
		Headers: map[string]string{"Accept": "application/wasm, application/octet-stream, */*"}}
	if d.hops == 0 || !literal(target.Origin) {
		options.Policy, err = egress.NewPolicy(egress.Grant{Origins: []string{target.Origin.String()}, Methods: []string{http.MethodGet}, Paths: []string{"/**"}})
	} else { // asked for and not granted, it must be public
		fetch.Ask = func(context.Context, string, egress.Target) error { return nil }
	}
	if err != nil {
		return egress.Fetched{}, err
	}
	fetcher, err := egress.NewFetcher(options)
	if err != nil {
		return egress.Fetched{}, err
	}
	fetched, err := fetcher.Do(ctx, fetch)
	return fetched, errors.Join(err, fetcher.Close())
}

// explain adds what to do where that is not the network's to know.
func (d *download) explain(err error) error {
	known, ok := errors.AsType[*egress.Error](err)
	switch {
	case !ok:
		return err
	case known.Kind == egress.KindTooLarge && known.Limit == "response_body":
		return fmt.Errorf("the file is larger than %d bytes, the limit of a plugin; make it smaller", int64(MaxDownloadBytes))
	case known.Kind == egress.KindTimeoutTotal:
		return fmt.Errorf("the download took more than %v, the limit; download the file yourself and add it by its path", MaxDownloadTime)
	case known.Kind == egress.KindPolicy && d.hops > 0:
		return fmt.Errorf("after %d redirects: %w; give the last address itself, or list its network under network.private", d.hops, err)
	case known.Kind == egress.KindPolicy:
		return fmt.Errorf("%w; list its network under network.private if it is yours", err)
	}
	return err
}

// check holds the file to what the operator said of it.
func (d *download) check(module []byte) error {
	sum := sha256.Sum256(module)
	if d.sha256 != nil && string(d.sha256) != string(sum[:]) {
		return fmt.Errorf("the file has the SHA-256 %x and not %x; it is not the one that was meant, so it is not used", sum, d.sha256)
	}
	const magic = "\x00asm"
	if !strings.HasPrefix(string(module[:min(len(module), len(magic))]), magic) {
		return fmt.Errorf("what is there is no WebAssembly module but %s; give the address of the file itself", http.DetectContentType(module))
	}
	return nil
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// literal reports whether an origin is an address and not a name.
func literal(origin egress.Origin) bool {
	_, err := netip.ParseAddr(origin.Host)
	return err == nil || origin.Host == localhost
}

func loopback(origin egress.Origin) bool {
	address, err := netip.ParseAddr(origin.Host)
	return origin.Host == localhost || err == nil && address.IsLoopback()
}

const localhost = "localhost"

// hostOf is the origin of a URL, for errors.
func hostOf(address string) string {
	target, err := egress.ParseURL(address)
	if err != nil {
		return "the server"
	}
	return target.Origin.String()
}
