"""Calls one method through the stubs of a release that has nothing else.

stubs.py HOST METHOD JSON: prints "RETURNED" with the fields that these stubs know as JSON, or
"FAILED" with the code and text of the server. A list of requests goes to a stream.
"""

import json
import sys

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict

try:
    from rainbow.protos import rainbow_pb2 as messages
    from rainbow.protos import rainbow_pb2_grpc as services
except ImportError:
    from rainbow.protos import api_pb2 as messages
    from rainbow.protos import api_pb2_grpc as services


def plain(message):
    return MessageToDict(message, preserving_proto_field_name=True)


def main(host, method, given):
    service = messages.DESCRIPTOR.services_by_name["RainbowScheduler"]
    kind = getattr(messages, service.methods_by_name[method].input_type.name)
    with grpc.insecure_channel(host) as channel:
        call = getattr(services.RainbowSchedulerStub(channel), method)
        try:
            if isinstance(given, list):
                requests = [ParseDict(each, kind()) for each in given]
                answer = [plain(each) for each in call(iter(requests))]
            else:
                answer = plain(call(ParseDict(given, kind()), timeout=20))
        except grpc.RpcError as error:
            print("FAILED " + json.dumps({"code": error.code().name, "text": error.details()}))
            return
    print("RETURNED " + json.dumps(answer))


main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
