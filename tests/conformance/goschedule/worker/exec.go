package main

import (
	"bytes"
	"context"
	"os/exec"
	"sync/atomic"

	"go-schedule/wire"
)

// As many at once as it is asked for.
func (c *connection) exec(request *wire.MgmtReq) {
	log("info", "exec %s", request.Id)
	if !c.misdeeds.lateAck {
		c.reply(request.Id, "scheduled")
	}
	task := run(request)
	task.WorkerId = c.id
	c.report(task)
	if c.misdeeds.lateAck {
		c.reply(request.Id, "scheduled")
	}
}

// run says "done" of everything, also of what could not be started.
func run(request *wire.MgmtReq) *wire.Task {
	task := &wire.Task{Id: request.Id, State: "done"}
	if len(request.Params) == 0 {
		return task
	}
	task.Cmd, task.Parameters = request.Params[0], request.Params[1:]
	var stdout, stderr bytes.Buffer
	command := exec.Command(task.Cmd, task.Parameters...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		log("warning", "cmd.Run() failed with %v", err)
	}
	task.Stdout, task.Stderr = stdout.String(), stderr.String()
	return task
}

var ends int64

func (c *connection) report(task *wire.Task) {
	end := atomic.AddInt64(&ends, 1)
	if drop := c.misdeeds.dropReport; drop > 0 && end%drop == 0 {
		log("info", "dropped the report of %s", task.Id)
		return
	}
	if c.misdeeds.duplicateReports {
		_ = c.setTaskState(task)
		_ = c.setTaskState(task)
	}
	// A report that does not get through, or that is not UTF-8, is forgotten without a word.
	_ = c.setTaskState(task)
}

func (c *connection) tellAsStranger(id string) {
	forged := &wire.Task{Id: id, Cmd: "true", State: "done", Stdout: c.misdeeds.forged, WorkerId: c.id}
	log("info", "told %s as a stranger: %v", id, c.setTaskState(forged))
}

func (c *connection) setTaskState(task *wire.Task) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.silence)
	defer cancel()
	return c.channel.Invoke(ctx, wire.SetTaskState, task, new(wire.Empty))
}
