package tool

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// outputJSON is the JSON of an output. Texts are long, and written by hand they cost a
// fraction.
func outputJSON(output abi.ToolOutput) []byte {
	size := 128 + len(output.Structured) + len(output.Metadata)
	for _, content := range output.Content {
		size += 128 + len(content.Text) + len(content.Text)/8
	}
	dst := append(make([]byte, 0, size), '{')
	if len(output.Content) > 0 {
		dst = append(jsonscan.AppendField(dst, "content"), '[')
		for i, content := range output.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendContent(dst, content)
		}
		dst = append(dst, ']')
	}
	dst = jsonscan.AppendRawField(dst, "structured", output.Structured)
	dst = jsonscan.AppendStringField(dst, "title", output.Title)
	dst = jsonscan.AppendRawField(dst, "metadata", output.Metadata)
	return append(dst, '}')
}

func appendContent(dst []byte, content abi.Content) []byte {
	dst = jsonscan.AppendString(jsonscan.AppendField(append(dst, '{'), "type"), content.Type)
	dst = jsonscan.AppendStringField(dst, "text", content.Text)
	dst = jsonscan.AppendStringField(dst, "mime", content.Mime)
	dst = jsonscan.AppendStringField(dst, "name", content.Name)
	if content.Data != nil {
		dst = append(jsonscan.AppendField(dst, "data"), `{"$bytes":[`...)
		dst = jsonscan.AppendInt(dst, int64(content.Data.Offset))
		dst = jsonscan.AppendInt(append(dst, ','), int64(content.Data.Length))
		dst = append(dst, ']', '}')
	}
	if content.Blob != nil {
		dst = append(jsonscan.AppendField(dst, "blob"), `{"$blob":`...)
		dst = append(jsonscan.AppendString(dst, content.Blob.Digest), '}')
	}
	return append(dst, '}')
}
