package stream

import "bytes"

// Reencode reads a client's or a server's greeting and writes it again.
func Reencode(b []byte, fromClient bool) ([]byte, error) {
	if fromClient {
		h, err := readHello(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return h.append(nil), nil
	}
	w, err := readWelcome(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return w.append(nil), nil
}
