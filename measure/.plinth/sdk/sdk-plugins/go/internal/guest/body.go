package guest

import "github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"

// ReadBody reads an abi.Call by hand: read is called where its body is, all else is
// passed over.
func ReadBody(data []byte, read func(r *jsonscan.Reader)) error {
	r := jsonscan.NewReader(data)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		if key == "body" {
			read(&r)
		} else {
			r.Skip()
		}
	}
	r.End()
	return r.Err()
}
