// Package wire does what clients of all generations have in common, with whatever messages are linked in.
package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Task is what a test asks for, as JSON on stdin.
type Task struct {
	Do   string          `json:"do"`
	Host string          `json:"host"`
	TLS  *Certificates   `json:"tls"`
	With json.RawMessage `json:"with"`
}

// Command does one thing that rainbow's command line can do.
type Command func(Task) error

// Run does what stdin asks for, and tells of it in lines of JSON.
func Run(commands map[string]Command) {
	var task Task
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		fail(err)
	}
	command, found := commands[task.Do]
	if !found {
		fail(fmt.Errorf("there is no command %q", task.Do))
	}
	if err := command(task); err != nil {
		Failed(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

var printing sync.Mutex

// Tell prints one line.
func Tell(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		fail(err)
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(text))
}

// Failed tells an error as status.FromError reads it: one that is no answer of a server has no code.
func Failed(err error) {
	line := map[string]any{"text": err.Error()}
	if refused, isStatus := status.FromError(err); isStatus {
		line = map[string]any{"code": refused.Code().String(), "text": refused.Message()}
	}
	Tell(map[string]any{"failed": line})
}

// Returned tells an answer, and the bytes in it that its generation does not know, in hex.
func Returned(answer proto.Message) error {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(answer)
	if err != nil {
		return err
	}
	Tell(map[string]any{
		"returned": json.RawMessage(text),
		"unknown":  fmt.Sprintf("%x", []byte(answer.ProtoReflect().GetUnknown())),
	})
	return nil
}
