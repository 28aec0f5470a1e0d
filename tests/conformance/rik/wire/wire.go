// Package wire has the messages of rik, by the numbers of their fields, and how programs dial.
package wire

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// Statuses of instances and workers.
const (
	Unknown = iota
	Pending
	Running
	Failed
	Terminated
	Creating
	Destroying
)

// Bytes is a message that was encoded already.
type Bytes []byte

type codec struct{}

func (codec) Name() string { return "proto" }
func (codec) Marshal(v any) ([]byte, error) {
	return *v.(*Bytes), nil
}
func (codec) Unmarshal(data []byte, v any) error {
	*v.(*Bytes) = append(Bytes(nil), data...)
	return nil
}

// Dial takes "host:port" or "name:token@host:port", which goes into :authority as rik's programs send it.
func Dial(url string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	address := url
	for at := len(url) - 1; at >= 0; at-- {
		if url[at] == '@' {
			address = url[at+1:]
			break
		}
	}
	direct := func(ctx context.Context, to string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", to)
	}
	all := append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})),
		grpc.WithAuthority(url),
		grpc.WithContextDialer(direct),
	}, options...)
	return grpc.NewClient("passthrough:///"+address, all...)
}

func text(to []byte, number protowire.Number, value string) []byte {
	if value == "" {
		return to
	}
	return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func number(to []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

func inner(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// Registration is a WorkerRegistration.
func Registration(host string) *Bytes {
	b := Bytes(text(nil, 1, host))
	return &b
}

// Beat is a WorkerStatus of a worker.
func Beat(host, metrics string, status uint64) *Bytes {
	b := Bytes(text(inner(nil, 2, text(number(nil, 1, status), 2, metrics)), 3, host))
	return &b
}

// Instance is a WorkerStatus of an instance.
func Instance(host, id string, status uint64) *Bytes {
	b := Bytes(text(inner(nil, 1, text(number(nil, 1, status), 3, id)), 3, host))
	return &b
}

// NoStatus is a WorkerStatus that says nothing.
func NoStatus(host string) *Bytes {
	b := Bytes(text(nil, 3, host))
	return &b
}

// Scheduling is a WorkloadScheduling.
func Scheduling(workload, definition, id string, action uint64) *Bytes {
	b := Bytes(text(number(text(text(nil, 1, workload), 2, definition), 3, action), 4, id))
	return &b
}

// Fields are those of one message: texts and numbers by their numbers, which are small.
type Fields struct {
	texts   [8][]byte
	numbers [8]uint64
}

// Text is a field's text, or the bytes of a message inside; empty: there is none.
func (f *Fields) Text(field int) string { return string(f.texts[field]) }

// Inner reads the message in a field.
func (f *Fields) Inner(field int) (Fields, error) { return Read(f.texts[field]) }

// Has tells whether there was such a text or message.
func (f *Fields) Has(field int) bool { return f.texts[field] != nil }

// Number is a field's number; 0: there is none.
func (f *Fields) Number(field int) uint64 { return f.numbers[field] }

// Read takes a message apart. Its texts are parts of `from`.
func Read(from []byte) (Fields, error) {
	var fields Fields
	for len(from) > 0 {
		field, kind, size := protowire.ConsumeTag(from)
		if size < 0 {
			return fields, protowire.ParseError(size)
		}
		from = from[size:]
		if int(field) >= len(fields.texts) {
			return fields, fmt.Errorf("field %d", field)
		}
		switch kind {
		case protowire.VarintType:
			value, size := protowire.ConsumeVarint(from)
			if size < 0 {
				return fields, protowire.ParseError(size)
			}
			fields.numbers[field], from = value, from[size:]
		case protowire.BytesType:
			value, size := protowire.ConsumeBytes(from)
			if size < 0 {
				return fields, protowire.ParseError(size)
			}
			fields.texts[field], from = value, from[size:]
		default:
			return fields, fmt.Errorf("a field of kind %d", kind)
		}
	}
	return fields, nil
}
