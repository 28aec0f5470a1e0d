package main

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
	"sigs.k8s.io/yaml"

	memory "rainbow-go/june/memory"
	"rainbow-go/june/pb"
	"rainbow-go/wire"
)

// The methods, as they stand on the wire.
const (
	scheduler   = "/convergedcomputing.org.grpc.v1.RainbowScheduler/"
	memoryGraph = "/service.MemoryGraph/"
)

// submit asks the graph which clusters match, and submits to those of them that the caller has a token of:
// {"jobspec": a document, "copies": how often, "clusters": [{"name", "token"}]}.
func submit(task wire.Task) error {
	var with struct {
		Jobspec  string                         `json:"jobspec"`
		Copies   int                            `json:"copies"`
		Clusters []*pb.SubmitJobRequest_Cluster `json:"clusters"`
	}
	if err := json.Unmarshal(task.With, &with); err != nil {
		return err
	}
	var jobspec Jobspec
	if err := yaml.Unmarshal([]byte(with.Jobspec), &jobspec); err != nil {
		return err
	}
	connection, err := wire.Dial(task.Host, task.TLS)
	if err != nil {
		return err
	}
	defer connection.Close()
	for copies := 0; copies < max(1, with.Copies); copies++ {
		matches, err := satisfies(task.Host, jobspec)
		if err != nil {
			return err
		}
		wire.Tell(map[string]any{"matches": matches})
		if len(matches) == 0 {
			return nil
		}
		// At least as long as the list of what the caller knows, with empty ones where nothing matches. (Rainbow's
		// own ends with a panic where more clusters match than the caller knows.)
		clusters := make([]*pb.SubmitJobRequest_Cluster, max(len(matches), len(with.Clusters)))
		for at, match := range matches {
			for _, known := range with.Clusters {
				if known.Name == match {
					clusters[at] = known
				}
			}
		}
		if err := submitTo(connection, jobspec, clusters); err != nil {
			return err
		}
	}
	return nil
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// satisfies asks on a connection of its own, which is never encrypted, whatever the other one is.
func satisfies(host string, jobspec Jobspec) ([]string, error) {
	payload, err := json.Marshal(jobspec)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.Dial(host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	request := &memory.SatisfyRequest{Payload: string(payload), Matcher: "match"}
	answer := &memory.SatisfyResponse{}
	err = connection.Invoke(context.Background(), memoryGraph+"Satisfy", request, answer)
	return append([]string{}, answer.Clusters...), err
}

func submitTo(
	connection *grpc.ClientConn,
	jobspec Jobspec,
	clusters []*pb.SubmitJobRequest_Cluster,
) error {
	text, err := yaml.Marshal(jobspec)
	if err != nil {
		return err
	}
	name := "app"
	if jobspec.Name != "" {
		name = jobspec.Name
	}
	ctx, cancel := context.WithTimeout(context.Background(), wire.Patience)
	defer cancel()
	answer := &pb.SubmitJobResponse{}
	err = connection.Invoke(ctx, scheduler+"SubmitJob", &pb.SubmitJobRequest{
		Name:     name,
		Clusters: clusters,
		Jobspec:  string(text),
		Sent:     timestamppb.Now(),
	}, answer)
	if err != nil {
		return err
	}
	return wire.Returned(answer)
}
