package egress

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// message encodes an AWS message; headers are pairs of name and text.
func message(payload string, headers ...string) string {
	var encoded []byte
	for i := 0; i < len(headers); i += 2 {
		encoded = append(append(encoded, byte(len(headers[i]))), headers[i]...)
		encoded = binary.BigEndian.AppendUint16(append(encoded, headerString), uint16(len(headers[i+1])))
		encoded = append(encoded, headers[i+1]...)
	}
	return encode(payload, encoded)
}

func encode(payload string, headers []byte) string {
	all := binary.BigEndian.AppendUint32(nil, uint32(eventPrelude+len(headers)+len(payload)+eventTrailer))
	all = binary.BigEndian.AppendUint32(all, uint32(len(headers)))
	all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
	all = append(append(all, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all)))
}

func event(name, payload string) string {
	return message(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

func TestEventStream(t *testing.T) {
	// One header of every type, as the format's description numbers them.
	every := []byte("\x01a\x00\x01b\x01\x01c\x02\x07\x01d\x03\x00\x07\x01e\x04\x00\x00\x00\x07\x01f\x05\x00\x00\x00\x00\x00\x00\x00\x07" +
		"\x01g\x06\x00\x02xy\x01h\x08\x00\x00\x00\x00\x00\x00\x00\x07\x01i\x090123456789abcdef\x0b:event-type\x07\x00\x01z")
	for name, test := range map[string]struct {
		body string
		want []Frame
	}{
		"events":           {event("messageStart", `{"role":"assistant"}`) + event("messageStop", `{}`), []Frame{{"messageStart", `{"role":"assistant"}`}, {"messageStop", "{}"}}},
		"exception":        {message(`{"message":"slow down"}`, ":message-type", "exception", ":exception-type", "throttlingException"), []Frame{{"throttlingException", `{"message":"slow down"}`}}},
		"error":            {message("", ":message-type", "error", ":error-code", "InternalError", ":error-message", "it broke"), []Frame{{"InternalError", "it broke"}}},
		"every header":     {encode("{}", every), []Frame{{"z", "{}"}}},
		"nothing in it":    {message(""), []Frame{{}}},
		"not UTF-8":        {event("e", "a\xffb"), []Frame{{"e", "a\uFFFDb"}}},
		"nothing":          {"", nil},
		"a payload like a": {event("e", event("inner", "x")), []Frame{{"e", text([]byte(event("inner", "x")))}}},
	} {
		for reading, reader := range map[string]io.Reader{
			"whole": strings.NewReader(test.body), "bytes": iotest.OneByteReader(strings.NewReader(test.body)), "with the end": iotest.DataErrReader(strings.NewReader(test.body)),
		} {
			frames, err := collect(FramingEventStream, reader)
			if diff := cmp.Diff(test.want, frames); diff != "" || err != nil {
				t.Errorf("%s, %s: %v %s", name, reading, err, diff)
			}
		}
	}
}

// TestKnownMessage: a message with checksums that were not made here (the empty
// one, and one with a payload and one header, of the format's published examples).
func TestKnownMessage(t *testing.T) {
	body, err := hex.DecodeString("000000100000000005c248eb7d98c8ff" +
		"0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1")
	if err != nil {
		t.Fatal(err)
	}
	frames, err := collect(FramingEventStream, strings.NewReader(string(body)))
	if diff := cmp.Diff([]Frame{{}, {Data: "{'foo':'bar'}"}}, frames); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestDamagedMessages(t *testing.T) {
	good := event("a", "{}")
	lengths := func(total, headers uint32, rest string) string {
		prelude := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), headers)
		return string(binary.BigEndian.AppendUint32(prelude, crc32.ChecksumIEEE(prelude))) + rest
	}
	for name, test := range map[string]struct {
		body, want string
		kind       Kind
	}{
		"cut in the prelude":     {good + good[:5], "ends in the middle of a message", KindReset},
		"cut in the payload":     {good + good[:len(good)-5], "ends in the middle of a message", KindReset},
		"too large":              {good + lengths(maxFrame+1, 0, ""), "larger than 1 MiB", KindTooLarge},
		"huge":                   {good + lengths(1<<32-1, 1<<32-1, ""), "larger than 1 MiB", KindTooLarge},
		"too small":              {good + lengths(15, 0, "    "), "its lengths do not fit", KindFailed},
		"more headers than all":  {good + lengths(20, 5, "        "), "its lengths do not fit", KindFailed},
		"headers beyond numbers": {good + lengths(20, 1<<32-1, "        "), "its lengths do not fit", KindFailed},
		"header of a new type":   {good + encode("", []byte("\x01a\x0a")), "unknown type 10", KindFailed},
		"header without type":    {good + encode("", []byte("\x01a")), "its headers break off", KindFailed},
		"header name cut":        {good + encode("", []byte("\x05a")), "its headers break off", KindFailed},
		"header length cut":      {good + encode("", []byte("\x01a\x07\x00")), "its headers break off", KindFailed},
		"header value cut":       {good + encode("", []byte("\x01a\x07\x00\x05abc")), "its headers break off", KindFailed},
		"header number cut":      {good + encode("", []byte("\x01a\x04\x00")), "its headers break off", KindFailed},
		"another framing":        {good + "data: {}\n\ndata: {}\n\n", "the checksum of its lengths is wrong", KindFailed},
	} {
		frames, err := collect(FramingEventStream, iotest.OneByteReader(strings.NewReader(test.body)))
		wantKind(t, err, test.kind, test.want)
		if diff := cmp.Diff([]Frame{{"a", "{}"}}, frames); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Every bit counts.
	for at := range len(good) * 8 {
		flipped := []byte(good)
		flipped[at/8] ^= 1 << (at % 8)
		if frames, err := collect(FramingEventStream, strings.NewReader(string(flipped))); err == nil {
			t.Errorf("bit %d flipped: %v", at, frames)
		}
	}
}

// FuzzEventStream: any bytes, cut anywhere, give the same frames and the same end.
func FuzzEventStream(f *testing.F) {
	f.Add([]byte(event("a", "{}")+event("b", "x")), 3)
	f.Add([]byte(message("")+"\x00\x00\x00\x10"), 1)
	f.Add([]byte(encode("", []byte("\x01a\x07\x00\x05abc"))), 20)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		whole, err := collect(FramingEventStream, strings.NewReader(string(body)))
		at := min(max(cut, 0), len(body))
		parts, errParts := collect(FramingEventStream, io.MultiReader(strings.NewReader(string(body[:at])), strings.NewReader(string(body[at:]))))
		if diff := cmp.Diff(whole, parts); diff != "" || (err == nil) != (errParts == nil) {
			t.Errorf("%v, %v: %s", err, errParts, diff)
		}
	})
}

func TestRaw(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "hello": "hello", "héllo €𝄞": "héllo €𝄞", "a\xffb": "a\uFFFDb", "a\xe2\x82": "a\uFFFD", "\xf0\x9d\x84": "\uFFFD", "\x80\x80": "\uFFFD",
		"{\"a\":1}\n\x00": "{\"a\":1}\n\x00",
	} {
		for reading, reader := range map[string]io.Reader{"whole": strings.NewReader(body), "halves": iotest.HalfReader(strings.NewReader(body)), "bytes": iotest.OneByteReader(strings.NewReader(body))} {
			frames, err := collect(FramingRaw, reader)
			var all strings.Builder
			for _, frame := range frames {
				if frame.Data == "" || frame.Event != "" {
					t.Errorf("%q, %s: %+v", body, reading, frame)
				}
				all.WriteString(frame.Data)
			}
			// How many U+FFFD stand for what is no UTF-8 depends on the cuts.
			if strings.ReplaceAll(all.String(), "\uFFFD\uFFFD", "\uFFFD") != want || err != nil {
				t.Errorf("%q, %s: %q, %v", body, reading, all.String(), err)
			}
		}
	}
}

func TestFramings(t *testing.T) {
	for _, framing := range []string{"sse", "ndjson", "aws-eventstream", "raw"} {
		if err := CheckFraming(framing); err != nil {
			t.Error(err)
		}
	}
	wantKind(t, CheckFraming("xml"), KindPolicy, `no framing "xml"; use sse, ndjson, aws-eventstream or raw`)
}
