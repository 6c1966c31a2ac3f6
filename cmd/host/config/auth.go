package config

import (
	"fmt"

	"github.com/plinthhost/plinth/host/egress"
)

// Auth answers how the requests of the provider called name are signed, given what
// the manifest of its codec wants. Where the codec puts a secret into a header and
// the operator configured OAuth2, the access token takes the secret's place. What is
// configured and does not fit, or is needed and not configured, is an error of type
// *Error with the file and the key.
func (c Config) Auth(name string, wanted egress.Auth) (egress.Auth, error) {
	p := c.Providers[name]
	fail := func(field, format string, args ...any) (egress.Auth, error) {
		return egress.Auth{}, c.Mistake(fmt.Sprintf("the codec of %s ", p.Plugin)+fmt.Sprintf(format, args...), "providers", name, field)
	}
	if p.Region != "" && wanted.Kind != egress.AuthSigV4 {
		return fail("region", "does not sign by sigv4; remove the region")
	}
	if p.Secret != "" && wanted.Kind == "" {
		return fail("secret", "sends no secret; remove it")
	}
	if p.OAuth2 != nil {
		if wanted.Kind != egress.AuthHeader && wanted.Kind != egress.AuthOAuth2 {
			return fail("oauth2", "has no header for an access token (its auth is %q); remove the table", wanted.Kind)
		}
		wanted.Kind = egress.AuthOAuth2
		return wanted, nil
	}
	switch {
	case wanted.Kind == egress.AuthOAuth2:
		return fail("oauth2", "sends access tokens; add a table [providers.%s.oauth2] with token_url, client_id and client_secret", name)
	case wanted.Kind == egress.AuthSigV4 && p.Secret == "":
		return fail("secret", "signs requests to the AWS service %s; give a secret, like %q",
			wanted.Name, "command:aws configure export-credentials --format process")
	}
	return wanted, nil
}
