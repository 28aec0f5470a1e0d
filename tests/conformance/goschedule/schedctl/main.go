// A schedctl as go-schedule's is seen from outside: one call, one table.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/golang/protobuf/proto"
	"go-schedule/wire"
	"google.golang.org/grpc"
)

const deadline = 10 * time.Second

func main() {
	server := flag.String("server", "127.0.0.1:1234", "`address` of the server")
	flag.Parse()
	if err := do(*server, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		fmt.Fprintln(os.Stderr, "usage: schedctl [-server A] workers ls | tasks ls | tasks schedule -f FILE")
		os.Exit(1)
	}
}

func do(server string, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("There is not enought arguments")
	}
	dummy := &wire.DummyReq{Id: "dummy"}
	switch target, cmd := args[0], args[1]; {
	case target == "workers" && cmd == "ls":
		nodes := new(wire.WorkerNodeList)
		if err := call(server, wire.GetWorkerList, dummy, nodes); err != nil {
			return err
		}
		return printWorkers(nodes)
	case target == "tasks" && cmd == "ls":
		tasks := new(wire.TaskList)
		if err := call(server, wire.GetTaskList, dummy, tasks); err != nil {
			return err
		}
		return printTasks(tasks)
	case target == "tasks" && cmd == "schedule":
		return schedule(server, args[2:])
	case target == "call": // Not go-schedule's: any method, for what there is not.
		return call(server, cmd, dummy, new(wire.Empty))
	default:
		return fmt.Errorf("Wrong cmd paramater (%s)", cmd)
	}
}

func schedule(server string, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("There is not enought arguments for tasks schedule cmd")
	}
	if args[0] != "-f" && args[0] != "--file" {
		return fmt.Errorf("There is no pointer to tasks file (-f, --file)")
	}
	asked, err := readTasks(args[1])
	if err != nil {
		return err
	}
	scheduled := new(wire.TaskList)
	if err := call(server, wire.Schedule, asked, scheduled); err != nil {
		return err
	}
	return printTasks(scheduled)
}

// call dials anew each time. What it receives may not be larger than grpc-go's default, 4 MiB.
func call(server string, method string, request proto.Message, answer proto.Message) error {
	channel, err := grpc.Dial(server, grpc.WithInsecure())
	if err != nil {
		return err
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := channel.Invoke(ctx, method, request, answer); err != nil {
		return fmt.Errorf("Connection problems: %v\n", err)
	}
	return nil
}
