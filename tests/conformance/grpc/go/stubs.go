package main

import (
	"context"
	"sort"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func (t task) health(connection *grpc.ClientConn) {
	answer, err := health.NewHealthClient(connection).Check(context.Background(), &health.HealthCheckRequest{})
	check(err)
	t.answer([]string{answer.GetStatus().String()})
}

func (t task) answer(texts []string) {
	tell(map[string]any{"id": t.ID, "code": 0, "answer": texts})
}

// As grpcurl lists them: the methods of each service, from the files that the server gives.
func (t task) services(connection *grpc.ClientConn) {
	info, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(context.Background())
	check(err)
	ask := func(request *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		check(info.Send(request))
		answer, err := info.Recv()
		check(err)
		return answer
	}
	listed := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"}})
	methods := []string{}
	for _, service := range listed.GetListServicesResponse().GetService() {
		name := service.GetName()
		found := ask(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
		for _, bytes := range found.GetFileDescriptorResponse().GetFileDescriptorProto() {
			var file descriptorpb.FileDescriptorProto
			check(proto.Unmarshal(bytes, &file))
			for _, described := range file.GetService() {
				if full := file.GetPackage() + "." + described.GetName(); full == name {
					for _, method := range described.GetMethod() {
						methods = append(methods, full+"."+method.GetName())
					}
				}
			}
		}
	}
	check(info.CloseSend())
	sort.Strings(methods)
	t.answer(methods)
}
