"""Calls one method of rainbow's own client as its examples do, and tells what it returned.

client.py CONFIG METHOD JSON: prints what the client prints, and as the last line "RETURNED" with
JSON, or "FAILED" with the code and text of the server.
"""

import dataclasses
import json
import sys

import grpc
import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from rainbow.client import RainbowClient


def plain(value):
    if isinstance(value, Message):
        return MessageToDict(value, preserving_proto_field_name=True)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value]


def jobspec_of(path):
    try:
        import jobspec.core as js
    except ImportError:
        import rainbow.jobspec as js
    with open(path) as file:
        return js.Jobspec(yaml.safe_load(file))


def main(config, method, arguments):
    # The older ones take the host from here alone; all of them ask the graph where the config says.
    with open(config) as file:
        host = yaml.safe_load(file)["graphdatabase"]["options"]["host"]
    client = RainbowClient(host=host, config_file=config)
    if "jobspec" in arguments:
        arguments["jobspec"] = jobspec_of(arguments["jobspec"])
    try:
        result = getattr(client, method)(**arguments)
    except grpc.RpcError as error:
        print("FAILED " + json.dumps({"code": error.code().name, "text": error.details()}))
        return
    print("RETURNED " + json.dumps(plain(result)))


main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
