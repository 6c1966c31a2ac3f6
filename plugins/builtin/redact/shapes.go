package main

import (
	"slices"
	"strings"
)

// class is a set of bytes.
type class [256]bool

func (c *class) has(b byte) bool { return c[b] }

// The classes of the formats.
var (
	letters  = classOf("AZ", "az", "09")
	capitals = classOf("AZ", "09")
	named    = classOf("AZ", "az", "09", "__")
	dashed   = classOf("AZ", "az", "09", "--")
	url      = classOf("AZ", "az", "09", "__", "--")
	base64   = classOf("AZ", "az", "09", "++", "//", "==")
	path     = classOf("AZ", "az", "09", "//", "__", "--")
)

// classOf is the union of ranges of two bytes each.
func classOf(ranges ...string) (c class) {
	for _, r := range ranges {
		for b := r[0]; b <= r[1]; b++ {
			c[b] = true
		}
	}
	return c
}

// run is how many bytes at the beginning of text are of the class.
func run(text string, of *class) int {
	for i := range len(text) {
		if !of.has(text[i]) {
			return i
		}
	}
	return len(text)
}

// shape is a well-known format.
type shape struct {
	kind    string
	begins  string
	bounded bool
	at      func(text string) (start, end int)
}

// token is a prefix and least to most bytes of a class; most 0 is any number.
func token(kind, prefix string, of *class, least, most int) shape {
	return shape{kind: kind, begins: prefix, bounded: true, at: func(text string) (int, int) {
		if !strings.HasPrefix(text, prefix) {
			return 0, 0
		}
		n := run(text[len(prefix):], of)
		if n < least || most > 0 && n > most {
			return 0, 0
		}
		return 0, len(prefix) + n
	}}
}

// shapes are the formats that are looked for; of two that begin alike the first wins.
func shapes() []shape {
	return slices.Concat(
		[]shape{
			token("aws-access-key", "AKIA", &capitals, 16, 16),
			token("aws-access-key", "ASIA", &capitals, 16, 16),
			labelled("aws-secret-key", "aws_secret_access_key", &base64, 40),
			labelled("aws-secret-key", "AWS_SECRET_ACCESS_KEY", &base64, 40),
			labelled("aws-secret-key", "SecretAccessKey", &base64, 40),
			token("github-token", "github_pat_", &named, 22, 0),
			token("gitlab-token", "glpat-", &url, 20, 0),
			token("slack-token", "xapp-", &dashed, 20, 0),
			token("slack-webhook", "https://hooks.slack.com/services/", &path, 20, 0),
			token("stripe-key", "whsec_", &letters, 24, 0),
			token("google-key", "AIza", &url, 35, 35),
			token("google-secret", "GOCSPX-", &url, 28, 28),
			token("anthropic-key", "sk-ant-", &url, 20, 0),
			token("openai-key", "sk-proj-", &url, 20, 0),
			token("openai-key", "sk-svcacct-", &url, 20, 0),
			token("openai-key", "sk-admin-", &url, 20, 0),
			token("openai-key", "sk-", &letters, 32, 0),
			{kind: "jwt", begins: "eyJ", bounded: true, at: jwt},
			{kind: "private-key", begins: begin, at: block},
			{kind: "password", begins: "://", at: password},
		},
		each("github-token", &letters, 36, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		each("slack-token", &dashed, 10, "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-"),
		each("stripe-key", &letters, 16, "sk_live_", "sk_test_", "rk_live_", "rk_test_"),
	)
}

func each(kind string, of *class, least int, prefixes ...string) (all []shape) {
	for _, prefix := range prefixes {
		all = append(all, token(kind, prefix, of, least, 0))
	}
	return all
}

// kinds names what is looked for, ascending.
func kinds() (all []string) {
	for _, shape := range shapes() {
		all = append(all, shape.kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
