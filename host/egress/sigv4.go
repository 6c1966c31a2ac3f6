package egress

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AWS Signature Version 4, for headers.
const (
	sigV4Algorithm = "AWS4-HMAC-SHA256"
	sigV4Time      = "20060102T150405Z"
	sigV4Ending    = "aws4_request"
	serviceS3      = "s3"
)

// awsKeys are what requests are signed with.
type awsKeys struct {
	id, secret, token string
}

// parseAWSKeys reads "ID:KEY", "ID:KEY:TOKEN" or the JSON of a credential_process.
func parseAWSKeys(text string) (awsKeys, error) {
	var keys awsKeys
	if strings.HasPrefix(text, "{") {
		var process struct{ AccessKeyID, SecretAccessKey, SessionToken string }
		if json.Unmarshal([]byte(text), &process) != nil { // what it says shows the text
			return awsKeys{}, errors.New("it is not the JSON that AWS's credential_process prints")
		}
		keys = awsKeys{process.AccessKeyID, process.SecretAccessKey, process.SessionToken}
	} else {
		var rest string
		keys.id, rest, _ = strings.Cut(text, ":")
		keys.secret, keys.token, _ = strings.Cut(rest, ":")
	}
	if keys.id == "" || keys.secret == "" || !validValue(keys.id) || strings.ContainsAny(keys.id, "/, ") || !validValue(keys.token) {
		return awsKeys{}, errors.New("it must be ACCESS_KEY_ID:SECRET_ACCESS_KEY, with :SESSION_TOKEN where there is one, or the JSON of a credential_process")
	}
	return keys, nil
}

// awsRegion answers the region that the name of an AWS host has, or "".
func awsRegion(host string) string {
	inner, found := host, false
	for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"} {
		if inner, found = strings.CutSuffix(host, domain); found {
			break
		}
	}
	if !found {
		return ""
	}
	labels := strings.Split(inner, ".")
	for _, label := range slices.Backward(labels[1:]) { // the first is the service
		parts := strings.Split(label, "-")
		if last := parts[len(parts)-1]; len(parts) >= 3 && len(parts[0]) == 2 && last != "" && strings.Trim(last, "0123456789") == "" {
			return label
		}
	}
	return ""
}

// signV4 signs the hop now. Signed are the host, the content's type and digest and
// all that begins with X-Amz-. The query is sent as it is signed.
func signV4(h *hop, keys awsKeys, region, service string) {
	now := time.Now().UTC()
	digest := hexSHA256(h.body)
	h.header.Set("X-Amz-Date", now.Format(sigV4Time))
	if keys.token != "" {
		h.header.Set("X-Amz-Security-Token", keys.token)
	}
	path := escapeAWS(h.target.Path, "/") // once more
	if service == serviceS3 {
		h.header.Set("X-Amz-Content-Sha256", digest)
		path = escapeOnce(h.target.Path)
	}
	h.target.Query = sortedQuery(h.target.Query)
	signed := http.Header{"Host": {h.target.Origin.authority()}}
	for name, values := range h.header {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-") {
			signed[name] = values
		}
	}
	canonical, names := canonicalRequest(h.method, path, h.target.Query, signed, digest)
	scope := strings.Join([]string{now.Format("20060102"), region, service, sigV4Ending}, "/")
	h.header.Set("Authorization", sigV4Algorithm+" Credential="+keys.id+"/"+scope+", SignedHeaders="+names+
		", Signature="+sigV4Signature(keys.secret, now, scope, canonical))
}

// canonicalRequest answers the text that is signed and the names of its headers.
func canonicalRequest(method, path, query string, headers http.Header, digest string) (text, names string) {
	all := make(map[string]string, len(headers))
	for name, values := range headers {
		trimmed := make([]string, len(values))
		for i, value := range values {
			trimmed[i] = strings.Join(strings.Fields(value), " ")
		}
		all[strings.ToLower(name)] = strings.Join(trimmed, ",")
	}
	sorted := slices.Sorted(maps.Keys(all))
	var lines strings.Builder
	for _, name := range sorted {
		lines.WriteString(name + ":" + all[name] + "\n")
	}
	names = strings.Join(sorted, ";")
	return strings.Join([]string{method, path, query, lines.String(), names, digest}, "\n"), names
}

func sigV4Signature(key string, now time.Time, scope, canonical string) string {
	signing := []byte("AWS4" + key)
	for step := range strings.SplitSeq(scope, "/") {
		signing = hmacSHA256(signing, step)
	}
	return hex.EncodeToString(hmacSHA256(signing, strings.Join([]string{sigV4Algorithm, now.Format(sigV4Time), scope, hexSHA256([]byte(canonical))}, "\n")))
}

// sortedQuery orders the parameters by name and value, escaped anew.
func sortedQuery(query string) string {
	if query == "" {
		return ""
	}
	var pairs [][2]string
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, [2]string{escapeAgain(name), escapeAgain(value)})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if a[0] != b[0] {
			return strings.Compare(a[0], b[0])
		}
		return strings.Compare(a[1], b[1])
	})
	joined := make([]string, len(pairs))
	for i, pair := range pairs {
		joined[i] = pair[0] + "=" + pair[1]
	}
	return strings.Join(joined, "&")
}

// escapeOnce escapes what the steps of a path stand for, as S3 has it.
func escapeOnce(path string) string {
	steps := strings.Split(path, "/")
	for i, step := range steps {
		steps[i] = escapeAWS(decoded(step), "")
	}
	return strings.Join(steps, "/")
}

// escapeAgain undoes the escapes of a parameter and makes them AWS's way.
func escapeAgain(text string) string {
	return escapeAWS(decoded(strings.ReplaceAll(text, "+", "%20")), "")
}

// escapeAWS escapes everything but what is unreserved, and what keep has.
func escapeAWS(text, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; isUnreserved(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func hexSHA256(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func hmacSHA256(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
