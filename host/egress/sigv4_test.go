package egress

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	suiteKey   = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	suiteScope = "20150830/us-east-1/service/aws4_request"
	emptyHash  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// TestSignatures: the vectors of AWS's Signature Version 4 test suite, by their
// names there.
func TestSignatures(t *testing.T) {
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	const unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	token := "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
	for name, test := range map[string]struct {
		method, path, query string
		headers             http.Header
		body                string
		names, signature    string
	}{
		"get-vanilla":                       {"GET", "/", "", nil, "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"post-vanilla":                      {"POST", "/", "", nil, "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"get-vanilla-query-order-key-case":  {"GET", "/", "Param2=value2&Param1=value1", nil, "", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"get-vanilla-query-unreserved":      {"GET", "/", unreserved + "=" + unreserved, nil, "", "host;x-amz-date", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
		"get-vanilla-query-order-encoded":   {"GET", "/", "Param-3=Value3&Param=Value2&%E1%88%B4=Value1", nil, "", "host;x-amz-date", "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
		"get-unreserved":                    {"GET", "/" + unreserved, "", nil, "", "host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
		"get-utf8":                          {"GET", "/%E1%88%B4", "", nil, "", "host;x-amz-date", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
		"get-space-normalized":              {"GET", "/example%20space/", "", nil, "", "host;x-amz-date", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
		"get-header-value-trim":             {"GET", "/", "", http.Header{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}}, "", "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
		"get-vanilla-with-session-token":    {"GET", "/", "", http.Header{"X-Amz-Security-Token": {"6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"}}, "", "host;x-amz-date;x-amz-security-token", "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
		"post-sts-header-before":            {"POST", "/", "", http.Header{"X-Amz-Security-Token": {token}}, "", "host;x-amz-date;x-amz-security-token", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
		"post-x-www-form-urlencoded (2015)": {"POST", "/", "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "Param1=value1", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		"post-x-www-form-urlencoded": {"POST", "/", "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Content-Length": {"13"}, "X-Amz-Content-Sha256": {"9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"}},
			"Param1=value1", "content-length;content-type;host;x-amz-content-sha256;x-amz-date", "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
	} {
		headers := http.Header{"Host": {"example.amazonaws.com"}, "X-Amz-Date": {now.Format(sigV4Time)}}
		maps.Copy(headers, test.headers)
		canonical, names := canonicalRequest(test.method, test.path, sortedQuery(test.query), headers, hexSHA256([]byte(test.body)))
		if names != test.names {
			t.Errorf("%s: signs %s", name, names)
		}
		if got := sigV4Signature(suiteKey, now, suiteScope, canonical); got != test.signature {
			t.Errorf("%s: %s\n%s", name, got, canonical)
		}
	}
}

// TestSign: what goes out, at a time of the bubble's.
func TestSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, err := ParseURL("https://examplebucket.s3.amazonaws.com/test$file.text?b=2&a=x+y&flag&a=%2f")
		if err != nil {
			t.Fatal(err)
		}
		h := hop{method: "PUT", target: target, header: http.Header{"Content-Type": {"text/plain"}, "User-Agent": {"plinth"}}, body: []byte("Welcome to Amazon S3.")}
		signV4(&h, awsKeys{"AKIDEXAMPLE", suiteKey, "session-token"}, "us-east-1", "s3")
		authorization := h.header.Get("Authorization")
		for _, want := range []string{"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20000101/us-east-1/s3/aws4_request, ",
			"SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, ", "Signature="} {
			if !strings.Contains(authorization, want) {
				t.Errorf("%s has no %s", authorization, want)
			}
		}
		if got := h.header.Get("X-Amz-Content-Sha256"); got != "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072" {
			t.Error(got)
		}
		if h.header.Get("X-Amz-Date") != "20000101T000000Z" || h.header.Get("X-Amz-Security-Token") != "session-token" {
			t.Error(h.header)
		}
		if h.target.Query != "a=%2F&a=x%20y&b=2&flag=" {
			t.Error(h.target.Query)
		}
		again := hop{method: "PUT", target: h.target, header: http.Header{"Content-Type": {"text/plain"}}, body: h.body}
		signV4(&again, awsKeys{"AKIDEXAMPLE", suiteKey, "session-token"}, "us-east-1", "s3")
		if again.header.Get("Authorization") != authorization {
			t.Error("what is not signed changes the signature")
		}
	})
	if got := escapeOnce("/test$file.text/a%2Fb"); got != "/test%24file.text/a%2Fb" {
		t.Error(got)
	}
	if got := escapeAWS("/model/a%3Ab:c/invoke", "/"); got != "/model/a%253Ab%3Ac/invoke" {
		t.Error(got)
	}
	if hexSHA256(nil) != emptyHash {
		t.Error("the hash of nothing")
	}
}

func TestAWSKeys(t *testing.T) {
	for text, want := range map[string]awsKeys{
		"AKID:secret/+x":     {"AKID", "secret/+x", ""},
		"AKID:secret:to:ken": {"AKID", "secret", "to:ken"},
		`{"Version":1,"AccessKeyId":"AKID","SecretAccessKey":"s","SessionToken":"t","Expiration":"2030-01-01T00:00:00Z"}`: {"AKID", "s", "t"},
	} {
		if got, err := parseAWSKeys(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "planted", "planted:", ":planted", `{"planted"`, `{"SecretAccessKey":"planted"}`, "a/b:planted", "a\n:planted"} {
		if _, err := parseAWSKeys(text); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRegions(t *testing.T) {
	for host, want := range map[string]string{
		"bedrock-runtime.eu-central-1.amazonaws.com": "eu-central-1", "bedrock-runtime-fips.us-gov-west-1.amazonaws.com": "us-gov-west-1",
		"bedrock-runtime.cn-north-1.amazonaws.com.cn": "cn-north-1", "vpce-1a-2b.bedrock-runtime.us-east-1.vpce.amazonaws.com": "us-east-1",
		"bedrock.us-west-2.api.aws": "us-west-2",
		"iam.amazonaws.com":         "", "us-east-1.amazonaws.com": "", "bedrock.us-east-1.example": "", "bedrock.us-east-1.amazonaws.com.evil.example": "", "x.us-east-.amazonaws.com": "", "api.example": "",
	} {
		if got := awsRegion(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	if client := connect(t, Options{BaseURL: "https://bedrock-runtime.eu-central-1.amazonaws.com", Auth: Auth{Kind: AuthSigV4, Name: "bedrock"}, Secret: withKey}); client.injector.credential.Region != "eu-central-1" {
		t.Error(client.injector.credential.Region)
	}
	_, err := New(Options{BaseURL: "https://proxy.example", Auth: Auth{Kind: AuthSigV4, Name: "bedrock"}, Secret: withKey})
	wantKind(t, err, KindPolicy, "needs a region")
}

// TestSigned: a client signs what it sends and hides the parts of its secret.
func TestSigned(t *testing.T) {
	var got *http.Request
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("X-Echo", suiteKey+" "+r.Header.Get("X-Amz-Security-Token"))
	})
	client := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: AuthSigV4, Name: "bedrock"}, Region: "eu-central-1", Secret: fixed("AKIDEXAMPLE:" + suiteKey + ":the-session-token").Get})
	response := finish(t, client, Request{Method: "POST", Path: "model/a%3Ab/invoke", Body: []byte("{}"), Headers: map[string]string{"Content-Type": "application/json"}})
	if a := got.Header.Get("Authorization"); !strings.Contains(a, "/eu-central-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, ") || got.RequestURI != "/model/a%3Ab/invoke" {
		t.Error(a, got.RequestURI)
	}
	if echo := response.Headers.Get("X-Echo"); echo != "[secret] [secret]" {
		t.Error(echo)
	}
	for _, name := range []string{"X-Amz-Date", "x-amz-security-token", "X-AMZ-Content-SHA256"} {
		_, err := client.Do(t.Context(), Request{Method: "GET", Headers: map[string]string{name: "x"}})
		wantKind(t, err, KindPolicy, "the host's to set")
	}
	bad := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: AuthSigV4, Name: "bedrock"}, Region: "eu-central-1", Secret: withKey})
	_, err := bad.Do(t.Context(), Request{Method: "GET"})
	wantKind(t, err, KindSecret, "ACCESS_KEY_ID:SECRET_ACCESS_KEY")
}
