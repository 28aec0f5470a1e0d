"""Watches through grpcio and prints each message when it has come, in hex.

grpc_watch.py HOST REQUEST: the request is a WatchRequest in hex.
"""

import sys

import grpc


def main(host, request):
    with grpc.insecure_channel(host) as channel:
        watch = channel.unary_stream("/busbar.v1.Busbar/Watch")
        try:
            for message in watch(bytes.fromhex(request)):
                print("MESSAGE", message.hex(), flush=True)
        except grpc.RpcError as error:
            print("ENDED", error.code().name, flush=True)


main(*sys.argv[1:])
