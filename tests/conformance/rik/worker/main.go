// A worker like riklet: one order after the other, each status by a call of its own, which it waits for.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"rik/wire"
)

var (
	address = flag.String("address", "", "where to register, with a user part if there is one")
	host    = flag.String("host", "node", "what it calls itself; of several, with a number behind it")
	count   = flag.Int("count", 1, "so many of them, each with a connection of its own")
	cpus    = flag.Int("cpus", 4, "that its metrics tell")
	beatMs  = flag.Int("beat", 15_000, "milliseconds between heartbeats")
	quiet   = flag.Bool("quiet", false, "print no orders")
	stream  = flag.Bool("one-stream", false, "send all statuses by one call")
	silent  = flag.String("silent", "", "answer no orders of this kind: create, destroy")
	fails   = flag.String("fails", "", "instances whose name begins so fail")
	bad     = flag.String("bad", "", "instances whose definition has this text fail")
	dies    = flag.String("dies", "", "end at an instance whose name begins so")
	unread  = flag.Bool("unread", false, "read no orders at all")
	noBeat  = flag.Bool("no-beat", false, "send no heartbeat")
	odd     = flag.Bool("odd", false, "send what no worker should before the first heartbeat")
)

var printing sync.Mutex

func say(event map[string]any) {
	printing.Lock()
	defer printing.Unlock()
	line, _ := json.Marshal(event)
	fmt.Println(string(line))
}

type worker struct {
	name string
	conn *grpc.ClientConn
	out  grpc.ClientStream
	lock sync.Mutex
}

const updates = "/worker.Worker/SendStatusUpdates"

var clientStream = &grpc.StreamDesc{ClientStreams: true}
var serverStream = &grpc.StreamDesc{ServerStreams: true}

func (w *worker) send(message *wire.Bytes) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if *stream {
		if w.out == nil {
			opened, err := w.conn.NewStream(context.Background(), clientStream, updates)
			if err != nil {
				return err
			}
			w.out = opened
		}
		return w.out.SendMsg(message)
	}
	one, err := w.conn.NewStream(context.Background(), clientStream, updates)
	if err != nil {
		return err
	}
	if err = one.SendMsg(message); err != nil {
		return err
	}
	if err = one.CloseSend(); err != nil {
		return err
	}
	return one.RecvMsg(&wire.Bytes{})
}

func (w *worker) metrics() string {
	return fmt.Sprintf(`{"cpu":{"total":%d,"free":0.0},"memory":{"total":8589934592,"free":4294967296},`+
		`"disks":[{"disk_name":"/dev/vda","total":68719476736,"free":34359738368}]}`, *cpus)
}

func (w *worker) beat() {
	for {
		if err := w.send(wire.Beat(w.name, w.metrics(), wire.Running)); err != nil {
			return
		}
		time.Sleep(time.Duration(*beatMs) * time.Millisecond)
	}
}

func (w *worker) run() error {
	orders, err := w.conn.NewStream(context.Background(), serverStream, "/worker.Worker/Register")
	if err != nil {
		return err
	}
	if err = orders.SendMsg(wire.Registration(w.name)); err != nil {
		return err
	}
	if err = orders.CloseSend(); err != nil {
		return err
	}
	// As riklet: nothing before the headers.
	if _, err = orders.Header(); err != nil {
		return err
	}
	say(map[string]any{"event": "registered", "worker": w.name})
	if *odd {
		_ = w.send(wire.NoStatus(w.name))
		_ = w.send(wire.Instance("nobody", "nothing", wire.Running))
		_ = w.send(wire.Instance(w.name, "unknown", wire.Terminated))
	}
	if !*noBeat {
		go w.beat()
	}
	if *unread {
		<-orders.Context().Done()
		return orders.RecvMsg(&wire.Bytes{})
	}
	for {
		var order wire.Bytes
		if err = orders.RecvMsg(&order); err != nil {
			return err
		}
		if err = w.obey(order); err != nil {
			return err
		}
	}
}

func (w *worker) obey(order wire.Bytes) error {
	fields, err := wire.Read(order)
	if err != nil {
		return err
	}
	id, action := fields.Text(1), fields.Number(3)
	if !*quiet {
		say(map[string]any{"event": "order", "worker": w.name, "id": id, "action": action, "definition": fields.Text(2)})
	}
	if *dies != "" && strings.HasPrefix(id, *dies) {
		os.Exit(3)
	}
	answers := []uint64{wire.Creating, wire.Running}
	if action == 1 {
		answers = []uint64{wire.Terminated}
	} else if (*fails != "" && strings.HasPrefix(id, *fails)) || (*bad != "" && strings.Contains(fields.Text(2), *bad)) {
		answers = []uint64{wire.Creating, wire.Failed}
	}
	if (*silent == "create" && action == 0) || (*silent == "destroy" && action == 1) {
		return nil
	}
	for _, answer := range answers {
		if err = w.send(wire.Instance(w.name, id, answer)); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	flag.Parse()
	var all sync.WaitGroup
	for at := 0; at < *count; at++ {
		name := *host
		if *count > 1 {
			name = fmt.Sprintf("%s-%d", *host, at)
		}
		conn, err := wire.Dial(*address)
		if err != nil {
			panic(err)
		}
		all.Add(1)
		go func() {
			defer all.Done()
			err := (&worker{name: name, conn: conn}).run()
			say(map[string]any{"event": "ended", "worker": name, "code": status.Code(err).String(), "message": status.Convert(err).Message()})
		}()
	}
	all.Wait()
}
