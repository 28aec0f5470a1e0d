package main

import (
	"context"
	"fmt"
	"time"

	"go-schedule/wire"
	"google.golang.org/grpc"
)

// connection is one life under one name. What it was told to run outlives it, untold.
type connection struct {
	settings
	ctx     context.Context
	channel *grpc.ClientConn
	id      string
	replies chan *wire.WorkerRsp
}

// serve returns why the connection is over.
func serve(given settings) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	channel, err := grpc.Dial(given.server, grpc.WithInsecure())
	if err != nil {
		return err
	}
	defer channel.Close()
	stream, err := channel.NewStream(ctx, wire.Both, wire.WorkerConnect)
	if err != nil {
		return err
	}
	replies := make(chan *wire.WorkerRsp, 1)
	c := &connection{given, ctx, channel, uuid(), replies}
	ended := make(chan error, 2)
	requests := make(chan *wire.MgmtReq)
	go c.send(stream, ended)
	go c.receive(stream, requests, ended)
	c.reply("", c.id)
	log("info", "Connected as %s", c.id)
	for _, id := range c.misdeeds.stranger {
		c.tellAsStranger(id)
	}
	return c.listen(requests, ended)
}

// listen ends when nothing came for too long, whatever this side said meanwhile.
func (c *connection) listen(requests <-chan *wire.MgmtReq, ended <-chan error) error {
	silence := time.NewTimer(c.silence)
	defer silence.Stop()
	for {
		select {
		case request := <-requests:
			if err := c.handle(request); err != nil {
				return err
			}
			silence.Reset(c.silence)
		case err := <-ended:
			return err
		case <-silence.C:
			return fmt.Errorf("timer for rx of %d expired", c.silence)
		}
	}
}

func (c *connection) handle(request *wire.MgmtReq) error {
	switch request.Method {
	case "ping":
		if !c.misdeeds.noPong {
			go c.reply(request.Id, "pong")
		}
	case "exec":
		go c.exec(request)
	default:
		return fmt.Errorf("There is no such method as %s", request.Method)
	}
	return nil
}

func (c *connection) receive(stream grpc.ClientStream, requests chan<- *wire.MgmtReq, ended chan<- error) {
	for {
		request := new(wire.MgmtReq)
		if err := stream.RecvMsg(request); err != nil {
			ended <- err
			return
		}
		select {
		case requests <- request:
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *connection) send(stream grpc.ClientStream, ended chan<- error) {
	for {
		select {
		case reply := <-c.replies:
			if err := stream.SendMsg(reply); err != nil {
				ended <- err
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// reply waits for its turn as long as silence may last, and is lost then.
func (c *connection) reply(id string, text string) {
	select {
	case c.replies <- &wire.WorkerRsp{Id: id, Reply: text}:
	case <-time.After(c.silence):
		log("warning", "Timeouted to send rsp %s", id)
	case <-c.ctx.Done():
	}
}
