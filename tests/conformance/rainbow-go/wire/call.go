package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Call asks one method with the messages of this generation: {"method": its full name, "request": …}.
func Call(task Task) error {
	var with struct {
		Method  protoreflect.FullName `json:"method"`
		Request json.RawMessage       `json:"request"`
	}
	if err := json.Unmarshal(task.With, &with); err != nil {
		return err
	}
	method, err := methodNamed(with.Method)
	if err != nil {
		return err
	}
	request, err := requestOf(method, with.Request)
	if err != nil {
		return err
	}
	connection, err := Dial(task.Host, task.TLS)
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	answer := newMessage(method.Output())
	if err := connection.Invoke(ctx, pathOf(method), request, answer); err != nil {
		return err
	}
	return Returned(answer)
}

// Stream sends one message after the other, each when the last one was answered.
func Stream(task Task) error {
	var with struct {
		Method   protoreflect.FullName `json:"method"`
		Requests []json.RawMessage     `json:"requests"`
	}
	if err := json.Unmarshal(task.With, &with); err != nil {
		return err
	}
	method, err := methodNamed(with.Method)
	if err != nil {
		return err
	}
	connection, err := Dial(task.Host, task.TLS)
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	both := &grpc.StreamDesc{StreamName: string(method.Name()), ServerStreams: true, ClientStreams: true}
	stream, err := connection.NewStream(ctx, both, pathOf(method))
	if err != nil {
		return err
	}
	for _, text := range with.Requests {
		request, err := requestOf(method, text)
		if err != nil {
			return err
		}
		if err := stream.SendMsg(request); err != nil {
			return err
		}
		answer := newMessage(method.Output())
		if err := stream.RecvMsg(answer); err != nil {
			return err
		}
		if err := Returned(answer); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(newMessage(method.Output())); err != io.EOF {
		return fmt.Errorf("the stream did not end: %v", err)
	}
	return nil
}

func methodNamed(name protoreflect.FullName) (protoreflect.MethodDescriptor, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	method, isMethod := found.(protoreflect.MethodDescriptor)
	if !isMethod {
		return nil, fmt.Errorf("%s is no method", name)
	}
	return method, nil
}

func pathOf(method protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
}

// newMessage has the type that was generated: the one whose decoder clients have.
func newMessage(described protoreflect.MessageDescriptor) proto.Message {
	generated, err := protoregistry.GlobalTypes.FindMessageByName(described.FullName())
	if err != nil {
		fail(err)
	}
	return generated.New().Interface()
}

// requestOf adds the time, which clients in Go always send where there is a field for it.
func requestOf(method protoreflect.MethodDescriptor, text json.RawMessage) (proto.Message, error) {
	request := newMessage(method.Input())
	if err := protojson.Unmarshal(text, request); err != nil {
		return nil, err
	}
	if sent := method.Input().Fields().ByName("sent"); sent != nil {
		fields := request.ProtoReflect()
		fields.Set(sent, protoreflect.ValueOfMessage(timestamppb.Now().ProtoReflect()))
	}
	return request, nil
}
