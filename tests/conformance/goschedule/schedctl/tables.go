package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"go-schedule/wire"
)

func printWorkers(list *wire.WorkerNodeList) error {
	table := newTable("id\taddress\tstate")
	for _, node := range list.Nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\n", node.Id, node.Address, node.State)
	}
	return table.Flush()
}

func printTasks(list *wire.TaskList) error {
	table := newTable("id\tstate\tworker\tstdout\tstderr")
	for _, task := range list.Tasks {
		stdout, stderr := beginning(task.Stdout), beginning(task.Stderr)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", task.Id, task.State, task.WorkerId, stdout, stderr)
	}
	return table.Flush()
}

func newTable(header string) *tabwriter.Writer {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, header)
	return table
}

// beginning is 20 bytes, wherever these cut.
func beginning(text string) string {
	if len(text) > 20 {
		return text[:20]
	}
	return text
}
