// Package wire has the messages of go-schedule's service. Their names do not travel; numbers and types do.
package wire

import (
	"github.com/golang/protobuf/proto"
	"google.golang.org/grpc"
)

// Paths of the methods.
const (
	WorkerConnect = "/proto.Scheduler/WorkerConnect"
	GetWorkerList = "/proto.Scheduler/GetWorkerList"
	GetTaskList   = "/proto.Scheduler/GetTaskList"
	Schedule      = "/proto.Scheduler/Schedule"
	SetTaskState  = "/proto.Scheduler/SetTaskState"
)

// Both sides of WorkerConnect send as they like.
var Both = &grpc.StreamDesc{StreamName: "WorkerConnect", ServerStreams: true, ClientStreams: true}

type MgmtReq struct {
	Id     string   `protobuf:"bytes,1,opt,name=id,proto3"`
	Method string   `protobuf:"bytes,2,opt,name=method,proto3"`
	Params []string `protobuf:"bytes,3,rep,name=params,proto3"`
}

type WorkerRsp struct {
	Id    string `protobuf:"bytes,1,opt,name=id,proto3"`
	Reply string `protobuf:"bytes,2,opt,name=reply,proto3"`
}

type Task struct {
	Id          string   `protobuf:"bytes,1,opt,name=id,proto3"`
	Cmd         string   `protobuf:"bytes,2,opt,name=cmd,proto3"`
	Parameters  []string `protobuf:"bytes,3,rep,name=parameters,proto3"`
	State       string   `protobuf:"bytes,4,opt,name=state,proto3"`
	Stdout      string   `protobuf:"bytes,5,opt,name=stdout,proto3"`
	Stderr      string   `protobuf:"bytes,6,opt,name=stderr,proto3"`
	WorkerId    string   `protobuf:"bytes,7,opt,name=workerId,proto3"`
	WorkerError string   `protobuf:"bytes,8,opt,name=workerError,proto3"`
}

type TaskList struct {
	Tasks []*Task `protobuf:"bytes,1,rep,name=tasks,proto3"`
}

type WorkerNode struct {
	Id      string `protobuf:"bytes,1,opt,name=id,proto3"`
	Address string `protobuf:"bytes,2,opt,name=address,proto3"`
	State   string `protobuf:"bytes,3,opt,name=state,proto3"`
	Ntasks  int64  `protobuf:"varint,4,opt,name=ntasks,proto3"`
}

type WorkerNodeList struct {
	Nodes []*WorkerNode `protobuf:"bytes,1,rep,name=nodes,proto3"`
}

type DummyReq struct {
	Id string `protobuf:"bytes,1,opt,name=id,proto3"`
}

type Empty struct{}

func (m *MgmtReq) Reset()        { *m = MgmtReq{} }
func (m *WorkerRsp) Reset()      { *m = WorkerRsp{} }
func (m *Task) Reset()           { *m = Task{} }
func (m *TaskList) Reset()       { *m = TaskList{} }
func (m *WorkerNode) Reset()     { *m = WorkerNode{} }
func (m *WorkerNodeList) Reset() { *m = WorkerNodeList{} }
func (m *DummyReq) Reset()       { *m = DummyReq{} }
func (m *Empty) Reset()          { *m = Empty{} }

func (m *MgmtReq) String() string        { return proto.CompactTextString(m) }
func (m *WorkerRsp) String() string      { return proto.CompactTextString(m) }
func (m *Task) String() string           { return proto.CompactTextString(m) }
func (m *TaskList) String() string       { return proto.CompactTextString(m) }
func (m *WorkerNode) String() string     { return proto.CompactTextString(m) }
func (m *WorkerNodeList) String() string { return proto.CompactTextString(m) }
func (m *DummyReq) String() string       { return proto.CompactTextString(m) }
func (m *Empty) String() string          { return proto.CompactTextString(m) }

func (*MgmtReq) ProtoMessage()        {}
func (*WorkerRsp) ProtoMessage()      {}
func (*Task) ProtoMessage()           {}
func (*TaskList) ProtoMessage()       {}
func (*WorkerNode) ProtoMessage()     {}
func (*WorkerNodeList) ProtoMessage() {}
func (*DummyReq) ProtoMessage()       {}
func (*Empty) ProtoMessage()          {}
