"""Makes the calls that it reads as JSON lines, through grpcio. See ../README.md."""

import json
import queue
import sys
import threading

import grpc

lock = threading.Lock()


def tell(**line):
    with lock:
        print(json.dumps(line), flush=True)


def metadata_of(task):
    for name, value in task.get("metadata", {}).items():
        yield name, bytes.fromhex(value) if name.endswith("-bin") else value


def as_texts(metadata):
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in metadata or ()
    }


def messages_of(task):
    return [
        bytes.fromhex(message) + bytes(task.get("zeros", 0))
        for message in task["messages"]
    ]


def options_of(task):
    timeout = task.get("timeoutMs")
    return {
        "timeout": None if timeout is None else timeout / 1000,
        "metadata": tuple(metadata_of(task)),
        "compression": grpc.Compression.Gzip if task.get("gzip") else None,
    }


def end(task, call, code=None, text=None):
    tell(
        id=task["id"],
        code=(code or call.code()).value[0],
        text=text or call.details() or "",
        headers=as_texts(call.initial_metadata()),
        trailers=as_texts(call.trailing_metadata()),
    )


def unary(channel, task):
    [message] = messages_of(task)
    method = channel.unary_unary(task["path"])
    try:
        answer, call = method.with_call(message, **options_of(task))
        tell(id=task["id"], message=answer.hex())
    except grpc.RpcError as error:
        call = error
    end(task, call)


def stream(channel, task):
    messages = messages_of(task)
    if task["kind"] == "server":
        sent = None
        call = channel.unary_stream(task["path"])(messages[0], **options_of(task))
    else:
        sent = queue.Queue()
        call = channel.stream_stream(task["path"])(iter(sent.get, None), **options_of(task))
        sent.put(messages[0])
    count = 0
    try:
        for answer in call:
            tell(id=task["id"], message=answer.hex())
            count += 1
            if sent is not None:
                sent.put(messages[count] if count < len(messages) else None)
            if count == task.get("cancelAfter"):
                call.cancel()
    except grpc.RpcError:
        pass
    finally:
        if sent is not None:
            sent.put(None)
    end(task, call)


def health(channel, task):
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    tell(id=task["id"], code=0, answer=[status])


def services(channel, task):
    from google.protobuf.descriptor_pool import DescriptorPool
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
        ProtoReflectionDescriptorDatabase,
    )

    database = ProtoReflectionDescriptorDatabase(channel)
    pool = DescriptorPool(database)
    methods = [
        method.full_name
        for name in database.get_services()
        for method in pool.FindServiceByName(name).methods
    ]
    tell(id=task["id"], code=0, answer=methods)


KINDS = {
    "unary": unary,
    "server": stream,
    "bidi": stream,
    "health": health,
    "services": services,
}


def main():
    settings = json.loads(sys.argv[1])
    options = [("grpc.enable_http_proxy", 0)]
    if "keepaliveMs" in settings:
        options += [
            ("grpc.keepalive_time_ms", settings["keepaliveMs"]),
            ("grpc.keepalive_timeout_ms", 5000),
            ("grpc.http2.max_pings_without_data", 0),
        ]
    channel = grpc.insecure_channel(settings["address"], options=options)
    for line in sys.stdin:
        task = json.loads(line)
        run = KINDS[task["kind"]]
        threading.Thread(target=run, args=(channel, task), daemon=True).start()


main()
