// Makes the calls that it reads as JSON lines, through grpc-go. See ../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type settings struct {
	Address     string
	KeepaliveMs int
}

type task struct {
	ID          int
	Kind        string
	Path        string
	Messages    []string
	Zeros       int
	Metadata    map[string]string
	TimeoutMs   int
	Gzip        bool
	CancelAfter int
}

// Messages are bytes: nothing here knows what they mean.
type raw struct{}

func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (raw) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

var lock sync.Mutex

func tell(line map[string]any) {
	bytes, err := json.Marshal(line)
	check(err)
	lock.Lock()
	defer lock.Unlock()
	os.Stdout.Write(append(bytes, '\n'))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (t task) message(at int) *[]byte {
	bytes, err := hex.DecodeString(t.Messages[at])
	check(err)
	bytes = append(bytes, make([]byte, t.Zeros)...)
	return &bytes
}

func (t task) begin() (context.Context, context.CancelFunc, []grpc.CallOption) {
	ctx, cancel := context.WithCancel(context.Background())
	if t.TimeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(t.TimeoutMs)*time.Millisecond)
	}
	for name, value := range t.Metadata {
		if strings.HasSuffix(name, "-bin") {
			bytes, err := hex.DecodeString(value)
			check(err)
			value = string(bytes)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	options := []grpc.CallOption{grpc.ForceCodec(raw{})}
	if t.Gzip {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	return ctx, cancel, options
}

func texts(md metadata.MD) map[string]string {
	found := map[string]string{}
	for name, values := range md {
		found[name] = strings.Join(values, ",")
		if strings.HasSuffix(name, "-bin") {
			found[name] = hex.EncodeToString([]byte(found[name]))
		}
	}
	return found
}

func (t task) end(err error, headers, trailers metadata.MD) {
	known := status.Convert(err)
	tell(map[string]any{"id": t.ID, "code": int(known.Code()), "text": known.Message(),
		"headers": texts(headers), "trailers": texts(trailers)})
}

func (t task) told(answer []byte) {
	tell(map[string]any{"id": t.ID, "message": hex.EncodeToString(answer)})
}

func (t task) unary(connection *grpc.ClientConn) {
	ctx, cancel, options := t.begin()
	defer cancel()
	var headers, trailers metadata.MD
	var answer []byte
	options = append(options, grpc.Header(&headers), grpc.Trailer(&trailers))
	err := connection.Invoke(ctx, t.Path, t.message(0), &answer, options...)
	if err == nil {
		t.told(answer)
	}
	t.end(err, headers, trailers)
}

func (t task) stream(connection *grpc.ClientConn) {
	ctx, cancel, options := t.begin()
	defer cancel()
	isBidi := t.Kind == "bidi"
	kind := &grpc.StreamDesc{ServerStreams: true, ClientStreams: isBidi}
	call, err := connection.NewStream(ctx, kind, t.Path, options...)
	if err != nil {
		t.end(err, nil, nil)
		return
	}
	err = call.SendMsg(t.message(0))
	if !isBidi && err == nil {
		err = call.CloseSend()
	}
	for count := 1; err == nil || err == io.EOF; count++ {
		var answer []byte
		if err = call.RecvMsg(&answer); err != nil {
			break
		}
		t.told(answer)
		if count == t.CancelAfter {
			cancel()
		}
		if isBidi && count < len(t.Messages) {
			err = call.SendMsg(t.message(count))
		} else if isBidi {
			err = call.CloseSend()
		}
	}
	if err == io.EOF {
		err = nil
	}
	headers, _ := call.Header()
	t.end(err, headers, call.Trailer())
}

func (t task) run(connection *grpc.ClientConn) {
	switch t.Kind {
	case "unary":
		t.unary(connection)
	case "health":
		t.health(connection)
	case "services":
		t.services(connection)
	default:
		t.stream(connection)
	}
}

func main() {
	var at settings
	check(json.Unmarshal([]byte(os.Args[1]), &at))
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy()}
	if at.KeepaliveMs > 0 {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: time.Duration(at.KeepaliveMs) * time.Millisecond, Timeout: 5 * time.Second}))
	}
	connection, err := grpc.NewClient(at.Address, options...)
	check(err)
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		check(err)
		var next task
		check(json.Unmarshal(line, &next))
		go next.run(connection)
	}
}
