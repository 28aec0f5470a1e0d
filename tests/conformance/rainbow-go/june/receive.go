package main

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rainbow-go/june/pb"
	"rainbow-go/wire"
)

// Receiving says for which cluster, and how: {"cluster", "secret", "maxJobs", "receivers", "oneByOne"}.
type Receiving struct {
	Cluster   string `json:"cluster"`
	Secret    string `json:"secret"`
	MaxJobs   int32  `json:"maxJobs"`
	Receivers int    `json:"receivers"`
	// OneByOne: each job is accepted by a call of its own.
	OneByOne bool `json:"oneByOne"`
}

// receive asks for jobs and accepts all it is told of, again and again until there are none. Several receivers
// wait for each other between the two: all of them want what all of them were told.
func receive(task wire.Task) error {
	var with Receiving
	if err := json.Unmarshal(task.With, &with); err != nil {
		return err
	}
	receivers := make([]*receiver, max(1, with.Receivers))
	for at := range receivers {
		connection, err := wire.Dial(task.Host, task.TLS)
		if err != nil {
			return err
		}
		defer connection.Close()
		receivers[at] = &receiver{Receiving: with, number: at, connection: connection}
	}
	for {
		each(receivers, (*receiver).ask)
		isOver := true
		for _, one := range receivers {
			isOver = isOver && (one.failed || len(one.ids) == 0)
		}
		if isOver {
			return nil
		}
		each(receivers, (*receiver).accept)
	}
}

// each does the same in all of them at once, and returns when the last one has done it.
func each(receivers []*receiver, do func(*receiver)) {
	var running sync.WaitGroup
	for _, one := range receivers {
		running.Add(1)
		go func(one *receiver) {
			defer running.Done()
			do(one)
		}(one)
	}
	running.Wait()
}

// receiver is one process of a cluster that asks for work.
type receiver struct {
	Receiving
	number     int
	connection *grpc.ClientConn
	ids        []int32
	failed     bool
}

func (one *receiver) ask() {
	answer := &pb.ReceiveJobsResponse{}
	isDone := one.call("ReceiveJobs", &pb.ReceiveJobsRequest{
		Cluster: one.Cluster,
		Secret:  one.Secret,
		MaxJobs: one.MaxJobs,
		Sent:    timestamppb.Now(),
	}, answer)
	if !isDone {
		return
	}
	one.ids = nil
	jobs := map[int32]string{}
	for id, job := range answer.Jobs {
		one.ids = append(one.ids, id)
		jobs[id] = job
	}
	wire.Tell(map[string]any{
		"receiver": one.number,
		"jobs":     jobs,
		"status":   answer.Status.String(),
		"bytes":    proto.Size(answer),
	})
}

func (one *receiver) accept() {
	groups := [][]int32{one.ids}
	if one.OneByOne {
		groups = nil
		for _, id := range one.ids {
			groups = append(groups, []int32{id})
		}
	}
	for _, ids := range groups {
		if len(ids) == 0 {
			continue
		}
		answer := &pb.AcceptJobsResponse{}
		isDone := one.call("AcceptJobs", &pb.AcceptJobsRequest{
			Cluster: one.Cluster,
			Secret:  one.Secret,
			Jobids:  ids,
			Sent:    timestamppb.Now(),
		}, answer)
		if isDone {
			wire.Tell(map[string]any{
				"receiver": one.number,
				"accepted": ids,
				"status":   answer.Status.String(),
			})
		}
	}
}

// call answers whether it was done; if not, that was told, and this receiver is over.
func (one *receiver) call(method string, request, answer proto.Message) bool {
	ctx, cancel := context.WithTimeout(context.Background(), wire.Patience)
	defer cancel()
	err := one.connection.Invoke(ctx, scheduler+method, request, answer)
	if err != nil {
		one.failed, one.ids = true, nil
		wire.Failed(err)
	}
	return err == nil
}
